/* form.h - forms: answers that are secrets because of what a server has asked for, whatever their names are.
 *
 * A server asks a person with elicitation/create, or with inputRequests in a result (2026-07-28). It must not ask for a secret in a
 * form. If it does, the value of that field in the answer is replaced by `[redacted:form]` before it is recorded.
 *
 * Secret    a field of text or numbers without choices whose name, title or description plainly asks for one, with the
 *           words of key.h and those of key_asked (docs/sanitizer.md), or with the format `password`.
 * Answers   are found by the id of the request, or by the key of inputRequests. One that was asked with several times keeps the
 *           secret fields of all: the first may be answered last. An answer to a form that is not known, or no longer, is replaced
 *           in all of its fields: nobody knows what is in it.
 * Limits    the last FORMS_MAX forms; of one with more than FORM_FIELDS secret fields all are taken for secrets, and so are those
 *           of forms behind the first FORM_BYTES of them in a message, which are not read.
 * Use       forms_message() for each message that was forwarded, and forms_answer() before what the client sends is recorded.
 * Blocks    never. Pure. */
#ifndef MI_REDACT_FORM_H
#define MI_REDACT_FORM_H

#include "redact/sanitizer.h"
#include "wire/rpc.h"

#define FORMS_MAX 64
#define FORM_FIELDS 16
#define FORM_BYTES ((size_t)128 << 10) /* at most a few milliseconds of work */

struct asked_form {
    uint64_t owner; /* hash of the id, or of the key; 0: free */
    uint64_t task;  /* hash of the id of the task that is its answer (2025-11-25); 0: none */
    uint64_t field[FORM_FIELDS];
    unsigned n;
    bool all; /* all fields are secrets */
};

/* Initialize with zeros. */
struct forms {
    struct asked_form form[FORMS_MAX];
    unsigned next;
};

/* What a message has to do with forms: asks with one, or says where its answer will be. Returns whether it asks for a secret. r NULL:
 * what the server asks for is not read. */
bool forms_message(struct forms *f, const struct redact *r, const struct rpc *m, bool from_client);
/* Does a known form ask for a secret? */
bool forms_hide_any(const struct forms *f);
/* A message of the client, or a batch. If it answers forms, and an answer is a secret, *ret_n values were replaced, and `out` has the
 * message; else *ret_n is 0. What is not JSON may be such an answer: if a known form asks for a secret, nothing of it is left.
 * 0 or MI_ENOMEM. */
MI_MUST int forms_answer(const struct forms *f, struct slice message, struct buf *out,
                         size_t *ret_n);

#endif
