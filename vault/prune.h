/* prune.h - remove old sessions with all that belongs to them, and old logs and escalations.
 *
 * What      a session is removed when it has ended, is not among the last `keep_last`, and is older than
 *           `older_us`, or the vault is larger than `max_bytes` and no older session is left to remove. Without
 *           these two every session but the last `keep_last` goes. The newest session always stays, so that no
 *           number is given twice. A session that may still be written to is never removed.
 *           A log file of a day, and an escalation that nobody has touched since, goes when it is older than
 *           `older_us` and than the oldest session that stays.
 * How       in steps of a few milliseconds each: one short transaction, or one file. With proxies about,
 *           prune_step() is called when there is a pause; prune_is_quiet() tells of one.
 *           A step that is not taken any more leaves nothing half done but a session without its first
 *           messages, which the next run removes, and a file in Bodies/ without a session, likewise.
 * Disk      the files' space is free at once. The database keeps its size, and new messages take the free
 *           pages; it is made smaller at the end when nobody else uses it.
 * Owns      a connection and the plan.
 * Blocks    on the disk, and up to PRUNE_WAIT_MS for a locked database. */
#ifndef MI_VAULT_PRUNE_H
#define MI_VAULT_PRUNE_H

#include "base/buf.h"

#define PRUNE_WAIT_MS 250
#define PRUNE_ROWS 200 /* messages of a step */

/* 0: no such rule; keep_last counts as 1. */
struct retention {
    int64_t older_us, keep_last, max_bytes;
};

struct prune_report {
    int64_t sessions, messages, bodies, logs, escalations;
    int64_t file_bytes; /* of the files that went */
    int64_t free_bytes; /* of the database, for new messages */
    bool shrunk;        /* it was made smaller */
};

struct prune;

/* Makes the plan. 0, MI_ENOENT (no vault), MI_ESTORE, MI_EIO or MI_ENOMEM, with a sentence in error. */
MI_MUST int prune_open(struct prune **ret, const char *vault, const struct retention *r,
                       int64_t now_us, struct buf *error);
void prune_close(struct prune *p); /* NULL is fine */
/* What the plan says: the sessions, and their messages, are counted here already. */
const struct prune_report *prune_plan(const struct prune *p);
size_t prune_sessions(const struct prune *p, const int64_t **ret_ids); /* oldest first */

/* One step. 0, or an error as above; MI_EFULL: the database is locked, call again. *ret_done: it was the
 * last one. */
MI_MUST int prune_step(struct prune *p, bool *ret_done, struct buf *error);
const struct prune_report *prune_done(const struct prune *p); /* what was removed so far */
/* Nobody has written to the database since the last call. */
bool prune_is_quiet(struct prune *p);

#endif
