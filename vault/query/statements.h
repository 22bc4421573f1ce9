/* statements.h - the SQL statements that read a vault, prepared when they are first used.
 *
 * Owns      the connection owns the prepared statements.
 * Errors    MI_ESTORE, with a sentence in query_error(). */
#ifndef MI_VAULT_QUERY_STATEMENTS_H
#define MI_VAULT_QUERY_STATEMENTS_H

#include "vault/query/reader.h"

#include <sqlite3.h>

enum query_statement {
    Q_SESSIONS,
    Q_BY_UID,
    Q_NEWEST,
    Q_NEWEST_USED,
    Q_NEWEST_OF,
    Q_NEWEST_USED_OF,
    Q_LAST,
    Q_FIRST,
    Q_CALL_MAY_LINK,
    Q_CALL_MESSAGES,
    Q_CALL_MESSAGES_LINKED,
    Q_DERIVED,
    Q_DERIVE_AGAIN,
    Q_DERIVE_AGAIN_OPERATIONS,
    Q_HAS_OPERATIONS,
    Q_HAS_DERIVED_OPERATIONS,
    Q_DERIVE_BEGIN,
    Q_DERIVE_END,
    Q_DERIVE_DONE,
    Q_SCHEMA,
    Q_SIGNS,
    Q_SENT,
    Q_MESSAGES,
    Q_MATCHING,
    Q_MATCHING_ENDS,
    Q_IS_WHOLE,
    Q_EVENTS,
    Q_BODIES,
    Q_FACTS,
    Q_FACTS_BACK,
    Q_ROWS,
    Q_ROWS_BACK,
    Q_VERSION,
    Q_END,
    Q_LAST_EVENT,
    Q_EVENTS_BACK,
    Q_SEAL,
    Q_REVISIONS,
    Q_COUNT
};

extern const char *const query_sql[Q_COUNT];

/* Calls query_reopen_if_outdated(), and prepares a statement. The first step of the statement
 * begins a transaction, unless another statement is running. *ret is valid until the next
 * transaction. */
MI_MUST int query_prepare(struct query *q, enum query_statement i, sqlite3_stmt **ret);
/* Like query_prepare(), but inserts a condition at QUERY_WHERE in the text and binds the values of
 * the condition. w may be NULL. */
#define QUERY_WHERE " /*where*/"
MI_MUST int query_prepare_where(struct query *q, enum query_statement i, const struct where *w,
                                sqlite3_stmt **ret);
/* Resets the statement, which ends the transaction. rc is the result of its last step. */
MI_MUST int query_finish_statement(struct query *q, sqlite3_stmt *st, int rc);

/* Runs a statement that has at most one row. *ret: the first column of the row; 0 if there is no
 * row. `id` is bound to ?1 if the statement has a parameter. */
MI_MUST int query_read_number(struct query *q, enum query_statement i, int64_t id, int64_t *ret);
/* A range of rows of a session: the first column, a seq or an id, is from `from` to `to`. */
struct query_range {
    int64_t session_id, from, to;
    bool backwards; /* true: the statement returns the newest rows first */
};
/* Whether the first column of the current row is in the range `r`. If so, reduces `r` to the values
 * that may follow, so that reading a damaged file ends. Always true for a store, because
 * ship/postgres/reader.c checks its rows. */
MI_MUST bool query_check_row_order(const struct query *q, struct query_range *r, sqlite3_stmt *st);
/* Runs a statement over a range of messages, in parts of QUERY_PART messages. Each part is a
 * transaction of its own; ?1 and ?2 are its first and last id. The condition `w` may be NULL. The
 * callback returns 0 to continue, 1 to stop, or an error. */
typedef int (*query_row_fn)(void *ctx, sqlite3_stmt *st);
MI_MUST int query_scan_rows(struct query *q, enum query_statement i, const struct where *w,
                            const struct query_range *in, query_row_fn fn, void *ctx);

/* Sets the fields of a record from the columns of the current row, starting at column i. Returns
 * the column after the fields. Texts are borrowed until the next step. QUERY_WITHOUT_BODY does not
 * read the body, which may be long. */
enum query_body { QUERY_WITHOUT_BODY, QUERY_WITH_BODY };
int query_read_record_fields(const struct record_fields *s, sqlite3_stmt *st, int i,
                             enum query_body body, void *record);
/* Reads the current row of Q_MESSAGES, Q_ROWS or Q_ROWS_BACK. Texts are borrowed until the next
 * step. */
void query_read_message_row(sqlite3_stmt *st, enum query_body body, struct query_message *ret);

#endif
