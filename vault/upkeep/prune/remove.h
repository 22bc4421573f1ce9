/* remove.h - removes old sessions with their data, and old log files and escalations.
 *
 * What      there are two rules for sessions that have ended and are not among the newest
 *           `keep_last`. By age, a session is removed if it is older than `older_us`. By size, it
 *           is removed if the vault would still be larger than `max_bytes` without all older
 *           sessions. If neither rule is set, all sessions except the newest `keep_last` are
 *           removed. The newest session, and sessions that may still be written to, are never
 *           removed by these rules. With `session`, only that session is removed, even if it is the
 *           newest, and no log file or escalation; MI_EBUSY if the session is in the table
 *           `running`. The id of a removed session is not used again
 *           (ledger_find_last_session_id()). A log file or an escalation is removed if it was last
 *           written before `older_us` and before the oldest remaining session. If the vault is
 *           larger than `max_bytes`, log files of past days are removed before sessions, as long as
 *           log files take more than all other data.
 * How       in steps of a few milliseconds: one short transaction, or one file. While proxies run,
 *           call prune_run_step() only when prune_database_is_unchanged().
 *           If the steps stop early, a session without its first messages or a file in Bodies/
 *           without a session may remain; the next run removes both.
 * Disk      removing files frees space at once. The database keeps its size, and new messages use
 *           its free pages; it is shrunk at the end if no proxy runs.
 * Owns      a connection and the plan.
 * Blocks    on the disk, and up to PRUNE_WAIT_MS for a locked database. */
#ifndef MI_VAULT_UPKEEP_PRUNE_REMOVE_H
#define MI_VAULT_UPKEEP_PRUNE_REMOVE_H

#include "base/buf.h"

#define PRUNE_WAIT_MS 250
#define PRUNE_ROWS 200 /* maximum number of messages that one step removes */

/* The rules of removal. A rule with the value 0 is not set, but the newest session is kept even if
 * keep_last is 0. */
struct retention {
    int64_t older_us, keep_last, max_bytes;
    int64_t session; /* id of the only session to remove; 0: choose sessions by the rules */
    /* Borrowed; only sessions that were sent completely to this target, at least an hour ago, are
     * removed. NULL: all sessions may be removed. */
    const char *target;
};

struct prune_report {
    int64_t sessions, messages, bodies, logs, escalations;
    int64_t file_bytes; /* size of the removed files */
    /* number of sessions that are not removed, because `target` has not received them completely */
    int64_t unsent;
    int64_t free_bytes; /* bytes in free pages of the database, which new messages can use */
    /* Size of the vault without free pages of its database. bytes_before: before the removal; only
     * a plan has it. bytes_after: in a plan, the size after the removal; in a report, the size
     * after the last step, and 0 before that step. A plan has bytes_after and `messages` only if
     * max_bytes is set, or after prune_fill_in_plan_totals(). */
    int64_t bytes_before, bytes_after;
    bool shrunk; /* true: the database file was made smaller */
};

struct prune;

/* Makes the plan. Returns 0, MI_ENOMEM, MI_EFULL (the database is locked; `error` is cleared), or
 * MI_ENOENT (there is no vault), MI_EBUSY, MI_ESTORE or MI_EIO, for which `error` has a
 * sentence. */
MI_MUST int prune_open(struct prune **ret, const char *vault, const struct retention *r,
                       int64_t now_us, struct buf *error);
void prune_close(struct prune *p); /* the argument may be NULL */
/* Returns the totals of the plan. */
const struct prune_report *prune_get_plan_totals(const struct prune *p);
/* Returns the number of sessions that the plan removes. *ret_ids: their ids, oldest first. */
size_t prune_sessions(const struct prune *p, const int64_t **ret_ids);
/* Completes the totals of the plan by reading the rows of the sessions to remove. Returns 0,
 * MI_ESTORE, MI_EFULL or MI_ENOMEM, with the meaning that prune_open() gives them. */
MI_MUST int prune_fill_in_plan_totals(struct prune *p, struct buf *error);

/* Runs one step. Returns 0, or an error with the meaning that prune_open() gives it. MI_EFULL: call
 * prune_run_step() again later. MI_EBUSY: a session has changed and must be sent again, so make a
 * new plan. *ret_done: whether this was the last step. */
MI_MUST int prune_run_step(struct prune *p, bool *ret_done, struct buf *error);
/* Returns the numbers and sizes of the data that were removed so far. */
const struct prune_report *prune_get_report(const struct prune *p);
/* Whether no other connection has written to the database since the last call of this function. */
bool prune_database_is_unchanged(struct prune *p);

#endif
