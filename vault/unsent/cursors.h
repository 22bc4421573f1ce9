/* cursors.h - records in the vault what was sent to other stores: the tables `shipped` and
 * `ship_targets` (docs/vault.md).
 *
 * `prune`, `ship status` and `doctor` read these tables. A shipper asks the other store where to
 * begin. If a store cannot answer, like an OpenTelemetry collector, the shipper begins after the
 * position that these tables have.
 *
 * Owns      nothing.
 * Errors    MI_ESTORE, with a sentence in unsent_error().
 * Blocks    as the functions of vault/unsent/unsent.h. */
#ifndef MI_VAULT_UNSENT_CURSORS_H
#define MI_VAULT_UNSENT_CURSORS_H

#include "vault/unsent/unsent.h"

/* How far a session was sent to a target. */
struct cursor {
    int64_t session_id;
    int64_t seq, event; /* seq of the last message and id of the last event that were sent */
    bool complete;      /* true: the session has ended, and all of it was sent */
};

/* The state of sending to one target. Texts are borrowed. */
struct target_state {
    struct slice url;
    int64_t tried_at_us; /* time of the last attempt to send */
    int64_t sent_at_us;  /* time of the last successful attempt; 0: no attempt has succeeded */
    int64_t leaves;      /* number of leaves of the log that were sent */
    struct slice error;  /* error of the last attempt; {NULL, 0}: the attempt succeeded */
};

/* Stores n cursors of a target in one transaction. */
MI_MUST int cursors_save(struct unsent *u, struct slice url, const struct cursor *c, size_t n,
                         int64_t now_us);
/* Stores the state of a target. If t->sent_at_us is 0, keeps the stored time of the last successful
 * attempt. If t->error is set, does not reduce the stored number of leaves. */
MI_MUST int cursors_save_target(struct unsent *u, const struct target_state *t);

/* Removes the rows of a target in one transaction, so that the vault no longer knows what was sent
 * there. */
MI_MUST int cursors_remove_target(struct unsent *u, struct slice url);

/* Finds the first session with an id greater than `after` that was not sent completely to a target,
 * and how far it was sent. Use it for a target that cannot report which records it has. MI_ENOENT:
 * there is no such session. */
MI_MUST int cursors_find_next_unsent_session(struct unsent *u, struct slice url, int64_t after,
                                             struct cursor *ret);

/* The data that were not sent to a target yet. */
struct target_lag {
    /* number of sessions of which messages, events, the end or a redaction were not sent */
    int64_t sessions;
    int64_t messages, events, bytes;
    int64_t oldest_at_us; /* time of the oldest message that was not sent; 0: there is none */
};
typedef int (*target_fn)(void *ctx, const struct target_state *t, const struct target_lag *lag);
/* Calls fn for each target. The vault is not changed; if it does not exist, there are no targets.
 * Returns 0, the result of fn, or MI_ESTORE with a sentence in `error`. */
MI_MUST int cursors_read(const char *vault, target_fn fn, void *ctx, struct buf *error);

#endif
