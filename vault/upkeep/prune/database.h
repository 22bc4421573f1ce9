/* database.h - the database connection of a prune run, and its statements.
 *
 * Errors    those of vault/store/db.h; the sentence is in p->d.error.
 * Blocks    up to PRUNE_WAIT_MS for a locked database. */
#ifndef MI_VAULT_UPKEEP_PRUNE_DATABASE_H
#define MI_VAULT_UPKEEP_PRUNE_DATABASE_H

#include "journal/uid.h"
#include "vault/upkeep/prune/state.h"

enum prune_query {
    P_PAGES,
    P_UNUSED_PAGES,
    P_PAGE_SIZE,
    P_DATA_VERSION,
    /* The following statements read what the plan needs. */
    P_SESSIONS,
    P_SENT,
    P_UID,
    P_HAS_UID,
    P_SIZE_MESSAGES, /* statement: rows of session ?1, as prune_add_session_size() counts them */
    P_SIZE_MESSAGES_BEFORE_EVIDENCE,
    P_SIZE_EVENTS,
    P_SIZE_REPLACED,
    P_SIZE_SESSIONS,
    P_SIZE_CALLS,
    P_SIZE_OPERATIONS,
    /* The following statements remove rows of a session. ?1: id of the session; ?2, only for the
     * two NEXT statements: number of messages. */
    /* statement: removes the calls of the messages that P_REMOVE_NEXT_MESSAGES removes */
    P_REMOVE_NEXT_CALLS,
    P_REMOVE_NEXT_MESSAGES,
    P_REMOVE_EVENTS,
    P_REMOVE_REPLACED,
    P_REMOVE_SHIPPED,
    P_REMOVE_CALLS,
    P_REMOVE_OPERATIONS,
    P_REMOVE_SESSION,
    P_REMOVE_ESCALATION, /* removes an escalation; ?1 is the name of its file */
    PRUNE_QUERIES
};

/* Connects to the database. Returns 0, MI_ENOENT (no database), MI_ESTORE or MI_ENOMEM. */
MI_MUST int prune_connect(struct prune *p);
/* Converts a status for the caller of a prune run: MI_ESTORE becomes MI_EFULL, without a sentence,
 * if another process held the lock. */
int prune_convert_lock_error(struct prune *p, int st);
/* Whether the session may be removed as far as a target is concerned. True if no target is set, or
 * if the target still had the whole session an hour after it was sent. (A failover may lose the
 * rows that the target received last; then a shipper changes the rows of `shipped`.) */
MI_MUST int prune_session_was_sent(struct prune *p, int64_t id, bool *ret);
/* Reads the uid of a session; "" if the session has no row. */
MI_MUST int prune_read_session_uid(struct prune *p, int64_t id, char ret[UID_LEN + 1]);

#endif
