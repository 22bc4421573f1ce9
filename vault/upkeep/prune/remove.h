/* remove.h - removes old sessions with their data, and old log files and escalations.
 *
 * What      a session is removed if it has ended, is not among the newest `keep_last`, and is older than `older_us`
 *           or the vault would still be larger than `max_bytes` without all older sessions. Without these two rules,
 *           all sessions except the newest `keep_last` are removed. The newest session is never removed by these rules, nor
 *           one that may still be written to.
 *           With `session`, only that one is removed, the newest too, and no log file or escalation; MI_EBUSY if it is in
 *           the table `running`. Its id is not used again (ledger_last_id()).
 *           A log file or an escalation is removed if it was last written before `older_us` and before the oldest
 *           remaining session. If the vault is larger than `max_bytes`, log files of past days are removed before
 *           sessions as long as they take more than all else.
 * How       in steps of a few milliseconds: one short transaction, or one file. While proxies run, call prune_step()
 *           only when prune_is_quiet().
 *           If the steps stop early, a session without its first messages or a file in Bodies/ without a session
 *           may remain; the next run removes both.
 * Disk      removing files frees space at once. The database keeps its size, and new messages use its free pages; it
 *           is shrunk at the end if no proxy runs.
 * Owns      a connection and the plan.
 * Blocks    on the disk, and up to PRUNE_WAIT_MS for a locked database. */
#ifndef MI_VAULT_UPKEEP_PRUNE_REMOVE_H
#define MI_VAULT_UPKEEP_PRUNE_REMOVE_H

#include "base/buf.h"

#define PRUNE_WAIT_MS 250
#define PRUNE_ROWS 200 /* messages of a step */

/* 0: rule not set; keep_last is then 1. */
struct retention {
    int64_t older_us, keep_last, max_bytes;
    int64_t session; /* removes this one, whatever the rules say; 0: none */
    const char *
        target; /* borrowed: removes only sessions all of which had been sent there an hour ago; NULL: all */
};

struct prune_report {
    int64_t sessions, messages, bodies, logs, escalations;
    int64_t file_bytes; /* of the removed files */
    int64_t unsent;     /* sessions that are kept because of `target` */
    int64_t free_bytes; /* free in the database, for new messages */
    /* The vault without what is free in its database. bytes_after: of a plan what it leaves, else what there is after the
     * last step. Of a plan this and `messages` are known with max_bytes, or after prune_measure(). */
    int64_t bytes_before, bytes_after;
    bool shrunk; /* the database was made smaller */
};

struct prune;

/* Makes the plan. 0; MI_EFULL, without a sentence: the database is locked; MI_ENOENT (no vault), MI_EBUSY, MI_ESTORE or MI_EIO,
 * with a sentence in error; MI_ENOMEM. */
MI_MUST int prune_open(struct prune **ret, const char *vault, const struct retention *r,
                       int64_t now_us, struct buf *error);
void prune_close(struct prune *p); /* NULL is fine */
/* The totals of the plan. */
const struct prune_report *prune_plan(const struct prune *p);
size_t prune_sessions(const struct prune *p, const int64_t **ret_ids); /* oldest first */
/* Completes the totals of the plan: reads the rows of its sessions. 0, MI_ESTORE, MI_EFULL or MI_ENOMEM, as below. */
MI_MUST int prune_measure(struct prune *p, struct buf *error);

/* One step. 0, or an error as above. MI_EFULL: call it again later. MI_EBUSY: a session was changed and must be sent again; make
 * another plan. *ret_done: it was the last step. */
MI_MUST int prune_step(struct prune *p, bool *ret_done, struct buf *error);
const struct prune_report *prune_done(const struct prune *p); /* what was removed so far */
/* Whether no other connection has written to the database since the last call. */
bool prune_is_quiet(struct prune *p);

#endif
