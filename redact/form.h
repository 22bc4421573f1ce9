/* form.h - finds secrets in answers to forms: values that are secret because the server asked for a
 * secret.
 *
 * A server asks a person with elicitation/create, or with inputRequests in a result (2026-07-28).
 * It must not ask for a secret in a form. If it does, the value of that field in the answer is
 * replaced by `[redacted:form]` before it is recorded.
 *
 * Secret    a field of text or numbers without choices whose name, title or description plainly
 *           asks for a secret, with the words of key.h and those of key_asked (docs/sanitizer.md),
 *           or whose format is `password`.
 * Answers   are found by the id of the request, or by the key of inputRequests. If several forms
 *           have the same id or key, the secret fields of all are kept, because the first form may
 *           be answered last. In an answer to a form that is unknown or forgotten, all fields are
 *           replaced.
 * Limits    the last FORMS_MAX forms are known. If a form has more than FORM_FIELDS secret fields,
 *           all its fields count as secrets. Forms after the first FORM_BYTES of forms in a message
 *           are not read, and all their fields count as secrets.
 * Use       forms_read_rpc() for each message that was forwarded, and forms_hide_secrets() before
 *           what the client sends is recorded.
 * Blocks    never. Pure. */
#ifndef MI_REDACT_FORM_H
#define MI_REDACT_FORM_H

#include "redact/sanitizer.h"
#include "wire/rpc.h"

#define FORMS_MAX 64
#define FORM_FIELDS 16
/* maximum bytes that are read of the forms in a message; reading them takes a few milliseconds */
#define FORM_BYTES ((size_t)128 << 10)

struct asked_form {
    /* hash of the request's id or of the key in inputRequests; 0: the slot is free */
    uint64_t owner;
    /* hash of the id of the task that the client created as its answer to the form (2025-11-25); 0:
     * none */
    uint64_t task;
    uint64_t field[FORM_FIELDS]; /* hashes of the names of the secret fields */
    unsigned n;
    bool all; /* all fields are secrets */
};

/* Initialize with zeros. */
struct forms {
    struct asked_form form[FORMS_MAX];
    /* number of forms noted so far; the next form is stored in form[next % FORMS_MAX] */
    unsigned next;
};

/* Notes the forms in a message of the server, and the ids under which they will be answered.
 * Returns whether a form asks for a secret. If r is NULL, forms of the server are not read. */
bool forms_read_rpc(struct forms *f, const struct redact *r, const struct rpc *m, bool from_client);
/* Whether a known form asks for a secret. */
bool forms_have_secrets(const struct forms *f);
/* Hides secrets in a message or batch of the client. If the message has secret answers to forms,
 * `out` gets the message with *ret_n values replaced; otherwise *ret_n is 0. Text that is not JSON
 * may be such an answer: if a known form asks for a secret, the whole text is replaced. Returns 0
 * or MI_ENOMEM. */
MI_MUST int forms_hide_secrets(const struct forms *f, struct slice message, struct buf *out,
                               size_t *ret_n);

#endif
