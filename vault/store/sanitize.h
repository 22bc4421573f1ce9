/* sanitize.h - sanitizes rows and other texts before they are stored.
 *
 * Every stored text passes through the sanitizer with the active rules
 * (redact_get_current_sanitizer()). This module sanitizes bodies, methods, targets, noise and
 * stderr lines, the server's command and details of events; writer_session.c sanitizes the other
 * texts of a session. Ids are not changed, because answers are matched by them.
 *
 * Owns      scratch buffers, reused; a result is valid until the next call of the same function.
 * Errors    MI_ENOMEM: then the text must not be stored.
 * Blocks    never. Pure. */
#ifndef MI_VAULT_STORE_SANITIZE_H
#define MI_VAULT_STORE_SANITIZE_H

#include "journal/entry.h"
#include "redact/sanitizer.h"

#define STORED_NAME_MAX 4096 /* longest stored id, method or target, in bytes */

/* A name in which the sanitizer has found nothing. It is remembered because the same few names
 * occur again and again. */
struct clean_name {
    /* rules with which the name was searched for secrets; NULL: there is no name yet */
    const struct redact *rules;
    size_t n;
    char p[64];
};

struct row_sanitizer {
    enum record_level level;
    struct clean_name method, target;      /* the method and the target that were sanitized last */
    struct buf scratch, clean, body, text; /* owned */
};

struct sanitized_row {
    /* Texts to store: valid UTF-8, without NUL; {NULL, 0}: absent. The revision is also absent if
     * the sanitizer changes it, because the changed text is not a revision. */
    struct slice rpc_id, method, target, body, revision;
    uint64_t redactions; /* number of redactions, including row.redactions */
};

/* Whether a name contains nothing that the sanitizer replaces. The name must not be {NULL, 0}. If
 * the result is true and the name fits into *last, stores the name there. */
bool sanitize_name_contains_no_secret(struct clean_name *last, const struct redact *r,
                                      struct slice name);

void sanitize_close(struct row_sanitizer *k);
MI_MUST int sanitize_row(struct row_sanitizer *k, const struct row *r, struct sanitized_row *ret);
/* Sanitizes JSON: the detail of an event, or a command. {NULL, 0} stays {NULL, 0}. */
MI_MUST int sanitize_json(struct row_sanitizer *k, struct slice json, struct slice *ret);

#endif
