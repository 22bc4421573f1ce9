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
    Q_SUMMARY,
    Q_CALLS,
    Q_MESSAGES,
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
    Q_COUNT
};

extern const char *const query_sql[Q_COUNT];

/* Begins a transaction, unless another statement is running: first of all query_refresh(). *ret is valid until the next
 * transaction. */
MI_MUST int query_prepare(struct query *q, enum query_statement i, sqlite3_stmt **ret);
/* Resets the statement, which ends the transaction. rc is the result of its last step. */
MI_MUST int query_done(struct query *q, sqlite3_stmt *st, int rc);

/* The first column of a statement with at most one row; 0 without a row. `id` is bound if the statement has a
 * parameter. */
MI_MUST int query_number(struct query *q, enum query_statement i, int64_t id, int64_t *ret);
/* Rows of a session whose first column is between two numbers: the seq of messages, or an id. */
struct query_range {
    int64_t session_id, from, to;
    bool backwards; /* newest first; the statement has this order as well */
};
/* Whether the current row is the next one of the range, from which it is then taken: so a reading ends, whatever is in
 * the file. What a store sends is checked where it arrives (vault/remote/pages.c). */
MI_MUST bool query_in_order(const struct query *q, struct query_range *r, sqlite3_stmt *st);
/* A row is not in order: the database is damaged. MI_ESTORE, with a sentence in query_error(). */
int query_damaged(struct query *q);
/* Runs a statement over these messages, in parts of QUERY_PART messages, each in a transaction of its own. ?1 and ?2
 * are the range, ?3 is `third` if the statement has it ({NULL, 0}: NULL). The callback returns 0 to continue, 1 to
 * stop, or an error. */
typedef int (*query_row_fn)(void *ctx, sqlite3_stmt *st);
MI_MUST int query_scan(struct query *q, enum query_statement i, struct slice third,
                       const struct query_range *in, query_row_fn fn, void *ctx);

/* The number and word columns of Q_MESSAGES, Q_ROWS and Q_ROWS_BACK; the text columns begin with MESSAGE_TEXTS. */
#define MESSAGE_TEXTS 15
struct query_message query_message_row(sqlite3_stmt *st);
/* Where the text columns belong, in order. */
#define MESSAGE_TEXTS_N 7
#define MESSAGE_BODY 3 /* the body among them */
void query_message_texts(struct query_message *m, struct slice *ret[MESSAGE_TEXTS_N]);

#endif
