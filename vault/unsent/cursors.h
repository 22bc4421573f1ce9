/* cursors.h - what other stores have of this vault, as far as the vault knows: the tables `shipped` and `ship_targets`
 * (docs/vault.md).
 *
 * They are for `prune`, `ship status` and `doctor`. A shipper begins with what the other store says; if that cannot be
 * asked, as a collector of OpenTelemetry, with these.
 *
 * Owns      nothing.
 * Errors    MI_ESTORE, with a sentence in unsent_error().
 * Blocks    as vault/unsent/unsent.h. */
#ifndef MI_VAULT_UNSENT_CURSORS_H
#define MI_VAULT_UNSENT_CURSORS_H

#include "vault/unsent/unsent.h"

/* A session at a target. */
struct cursor {
    int64_t session_id;
    int64_t seq, event; /* everything up to them was sent */
    bool complete;      /* the session has ended, and all of it was sent */
};

/* One target. Texts are borrowed. */
struct target_state {
    struct slice url;
    int64_t tried_at_us, sent_at_us; /* of the last attempt, and of the last success; 0: never */
    int64_t leaves;                  /* of the log, that were sent */
    struct slice error;              /* of the last attempt; {NULL, 0}: none */
};

/* One transaction. */
MI_MUST int cursors_save(struct unsent *u, struct slice url, const struct cursor *c, size_t n,
                         int64_t now_us);
/* sent_at_us 0 and, after an error, fewer leaves leave what is known. */
MI_MUST int cursors_save_target(struct unsent *u, const struct target_state *t);

/* Removes the rows of a target: the vault no longer knows that it was sent there. One transaction. */
MI_MUST int cursors_forget(struct unsent *u, struct slice url);

/* The session after session `after` that is not complete at a target, and how far it was sent. MI_ENOENT: there is none.
 * For a target that cannot be asked what it has. */
MI_MUST int cursors_next(struct unsent *u, struct slice url, int64_t after, struct cursor *ret);

/* What is missing at a target. */
struct target_lag {
    int64_t
        sessions; /* of which something is missing: messages, events, or the end or a redaction */
    int64_t messages, events, bytes;
    int64_t oldest_at_us; /* of the oldest message that is missing; 0: none */
};
typedef int (*target_fn)(void *ctx, const struct target_state *t, const struct target_lag *lag);
/* Each target. Changes nothing in the vault; one that does not exist was sent to none. MI_ESTORE, with a sentence in
 * error, or what fn returned. */
MI_MUST int cursors_read(const char *vault, target_fn fn, void *ctx, struct buf *error);

#endif
