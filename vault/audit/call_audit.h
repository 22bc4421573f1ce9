/* call_audit.h - computes the calls of a session from its messages (model/calls.h) and compares
 * them with the table `calls` (docs/evidence.md, "Calls").
 *
 * Rules     each row is read once, in the order of ids, as soon as its call and all earlier calls
 *           have ended. So memory holds only calls from the first open call on.
 * Owns      the calls; call_audit_close() frees them.
 * Errors    those of snapshot.h.
 * Blocks    on the database. */
#ifndef MI_VAULT_AUDIT_CALL_AUDIT_H
#define MI_VAULT_AUDIT_CALL_AUDIT_H

#include "model/calls.h"
#include "vault/audit/snapshot.h"
#include "vault/audit/verdict.h"

struct call_audit {
    int64_t id;          /* id of the session */
    bool has_table;      /* true: the vault has the table `calls` */
    bool filled;         /* true: the session's rows in `calls` are complete */
    struct call_set set; /* owned */
    int64_t from;        /* the rows of calls with a lower seq were compared */
    int64_t read;        /* seq of the last message that was added */
    /* the first difference that was found; AUDIT_NOTHING: no difference */
    struct audit_wrong wrong;
};

/* Call this function in the transaction that reads the session's row. */
MI_MUST int call_audit_begin_session(struct call_audit *x, struct snapshot *s, int64_t session_id);
/* Adds a message. Call this function in the order of seq. */
MI_MUST int call_audit_add_message(struct call_audit *x, const struct call_message *m);
/* Compares the rows of all calls before the first open call. */
MI_MUST int call_audit_compare_finished_calls(struct call_audit *x, struct snapshot *s);
/* Compares all remaining rows. Call this function after the last message. messages: number of
 * messages of the session. */
MI_MUST int call_audit_compare_remaining_rows(struct call_audit *x, struct snapshot *s, bool ended,
                                              int64_t messages);
void call_audit_close(struct call_audit *x); /* the argument may be {0}; may be called twice */

#endif
