/* call_batch.h - rows of the tables `calls` (model/calls.h) and `operations` (model/operations.h),
 * which follow from the messages that a transaction stores.
 *
 * A call that begins and ends within one batch is inserted once. A call that is still open at the
 * end of the batch is inserted as `open`; the batch that ends the call writes it again. For this,
 * the newest open calls are kept in memory. Other calls, and ids of the proxy's own requests, are
 * read from the table.
 *
 * Only sessions with `calls` = 1 have rows: their rows are complete. Other sessions get rows later
 * (vault/store/call_fill.h).
 *
 * Owns      its statements, on the caller's connection: call call_batch_close() before the
 *           connection is closed.
 * Errors    MI_ESTORE (see failure_text()) or MI_ENOMEM; the transaction has failed then.
 * Lifetime  a session is remembered until call_batch_forget_session(): call that when a transaction
 *           was rolled back. Texts of messages are borrowed until call_batch_flush(), bodies only
 *           for call_batch_add_message().
 * Blocks    on the database. */
#ifndef MI_VAULT_STORE_CALL_BATCH_H
#define MI_VAULT_STORE_CALL_BATCH_H

#include "model/calls.h"
#include "model/operations.h"
#include "vault/store/operation_rows.h"

#include <sqlite3.h>

#define CALL_BATCH_MAX 1024 /* maximum number of messages in a batch */
#define CALL_KEPT_MAX 256   /* maximum number of open calls in the array call_batch.kept */
/* Maximum number of bytes of method and target together, for an open call in call_batch.kept. A
 * call with longer texts is read from the table `calls`. */
#define CALL_KEPT_TEXT 96

/* A call that an earlier batch has stored as open. */
struct kept_call {
    struct call call;          /* state of the call, with texts in `text` */
    char text[CALL_KEPT_TEXT]; /* method and target of the call, without a NUL */
};

enum call_statement { CALL_PUT, CALL_GET, CALL_END, CALL_OWN, CALL_SESSION, CALL_STATEMENTS };

struct call_batch {
    sqlite3_stmt *q[CALL_STATEMENTS]; /* owned; statements, each prepared at its first use */
    /* id of the remembered session; 0: no session is remembered */
    int64_t session_id;
    bool on; /* true: the table `calls` has rows of this session */
    /* true: member `calls` has the requests that the proxy sent before this batch */
    bool knows_own;
    /* true: member `operations` has the operations that were stored before this batch */
    bool knows_operations;
    struct call_set calls;  /* the calls that begin in the current batch */
    struct kept_call *kept; /* owned; the newest open calls, sorted by seq */
    size_t kept_n;
    /* calls of earlier batches that the current batch has ended, as indexes in call_batch.kept */
    uint16_t ended[CALL_KEPT_MAX];
    size_t ended_n;
    /* Owned; array of CALL_BATCH_MAX elements: messages that may end calls of earlier batches, if
     * these calls are not in call_batch.kept. A message with a link is not stored here: the row of
     * its call is updated at once. */
    struct call_message *late;
    size_t late_n;
    size_t n; /* number of messages in the batch */
    /* owned; operations of the session; NULL: no message of the session belongs to an operation
     * yet */
    struct operations *operations;
    struct operation_rows operation_rows;
};

/* opens an empty batch; returns 0 or MI_ENOMEM */
MI_MUST int call_batch_open(struct call_batch *b);
/* Registers the batch with the connection as a virtual table. Call it before other uses of the
 * batch with this connection. Returns an SQLite code. */
MI_MUST int call_batch_connect(struct call_batch *b, sqlite3 *db);
void call_batch_close(struct call_batch *b); /* the argument may be {0}; safe to call twice */
/* Remembers a session. The batch must be empty if it has remembered another session until now. */
MI_MUST int call_batch_switch_to_session(struct call_batch *b, sqlite3 *db, int64_t session_id);
/* Remembers a session whose rows are written again from its first message on. Texts of its messages
 * are copied. */
void call_batch_start_session(struct call_batch *b, int64_t session_id);
/* Like call_batch_start_session(), for a session that already has the rows of earlier messages. */
void call_batch_continue_session(struct call_batch *b, int64_t session_id);
void call_batch_forget_session(struct call_batch *b);
/* Adds a message of the remembered session. Call it in the order of seq. */
MI_MUST int call_batch_add_message(struct call_batch *b, sqlite3 *db, const struct call_message *m);
static inline bool call_batch_is_full(const struct call_batch *b)
{
    return b->n >= CALL_BATCH_MAX;
}
/* Writes the changed calls and operations. Call it within a transaction. */
MI_MUST int call_batch_flush(struct call_batch *b, sqlite3 *db);

/* Selects whether messages of session ?1 may be linked to earlier requests, as the messages of a
 * task are. Only two kinds of sessions have such links: those of revision 2026-07-28 or later, and
 * those of 2025-11-25 that have a request for a task. The statement may read the whole session: run
 * it only once per session. */
#define CALL_MAY_LINK                                                                              \
    "SELECT ifnull(protocol_version >= '2026' OR protocol_version >= '2025-11-25' AND EXISTS"      \
    " (SELECT 1 FROM messages WHERE id BETWEEN ?1 << 36 AND (?1 << 36) + 68719476735"              \
    " AND method >= 'tasks/' AND method < 'tasks0'), 0) FROM sessions WHERE id = ?1"
/* Selects the values that model/calls.h needs of the messages with ids from ?1 to ?2, in the order
 * of seq. call_message_read_from_row() reads a row; its texts are borrowed until the next step.
 * may_link: "1" or "0", from CALL_MAY_LINK. Bodies in files are not read. */
#define CALL_MESSAGES(may_link)                                                                    \
    "SELECT id & 68719476735, t_us, size, request_seq, error_code, direction, origin, kind,"       \
    " action, CASE WHEN kind = 'request' THEN method END,"                                         \
    " CASE WHEN kind = 'request' THEN target END,"                                                 \
    " CASE WHEN origin = 'interposer' OR action = 'swallowed' THEN rpc_id END,"                    \
    " CASE WHEN kind = 'result' OR origin = 'interposer' OR action = 'swallowed' THEN finding "    \
    "END,"                                                                                         \
    " CASE WHEN kind <> 'error' AND " may_link " AND (instr(body, '\"taskId\"') OR"                \
    " instr(body, '\"requestState\"') OR instr(body, '\"inputRe')) THEN body END,"                 \
    " CASE WHEN kind IN ('result', 'error') AND action = 'forwarded' AND request_seq > 0"          \
    " THEN body END"                                                                               \
    " FROM messages WHERE id BETWEEN ?1 AND ?2"                                                    \
    " AND (kind IN ('request', 'result', 'error') OR kind = 'notification'"                        \
    " AND (request_seq IS NOT NULL OR method IN ('notifications/tasks',"                           \
    " 'notifications/tasks/status'))) ORDER BY id"
struct call_message call_message_read_from_row(sqlite3_stmt *st);

#endif
