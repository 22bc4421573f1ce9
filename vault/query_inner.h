/* query_inner.h - what the files of the query module share: the connection and rows that are held.
 *
 * Only vault/query*.c and their test include this. */
#ifndef MI_VAULT_QUERY_INNER_H
#define MI_VAULT_QUERY_INNER_H

#include "vault/query.h"
#include "vault/schema.h"

enum query_statement {
    Q_SESSIONS,
    Q_BY_UID,
    Q_NEWEST,
    Q_NEWEST_USED,
    Q_LAST,
    Q_SUMMARY,
    Q_CALLS,
    Q_MESSAGES,
    Q_EVENTS,
    Q_BODIES,
    Q_FACTS,
    Q_VERSION,
    Q_END,
    Q_LAST_EVENT,
    Q_COUNT
};

extern const char *const query_sql[Q_COUNT];

struct query {
    sqlite3 *db;              /* owned */
    sqlite3_stmt *q[Q_COUNT]; /* owned; prepared when first used */
    int dir_fd;               /* owned; -1: none */
    char *path;               /* owned; of the vault, absolute, without symbolic links */
    struct held *session;     /* owned; what query_session() gave */
    struct buf error;         /* owned */
};

/* One row, copied: the statement can be reset before anybody looks at it. */
struct held {
    struct held *next;
    union {
        struct query_session session;
        struct query_message message;
        struct query_event event;
    };
    char text[];
};

/* The statement, prepared when it is first asked for. 0 or MI_ESTORE. */
MI_MUST int query_prepare(struct query *q, enum query_statement i, sqlite3_stmt **ret);
/* Ends the statement, and with it the transaction. rc is what the last step said. */
MI_MUST int query_done(struct query *q, sqlite3_stmt *st, int rc);

/* The number in the first column of a statement that has one row at most; 0: there is none. `id` is bound, where the
 * statement has a parameter. */
MI_MUST int query_number(struct query *q, enum query_statement i, int64_t id, int64_t *ret);
/* The newest message; 0 and 0: there is none. */
MI_MUST int query_last_message(struct query *q, int64_t session_id, int64_t *ret_seq,
                               int64_t *ret_t_us);

/* Text of a column, borrowed until the next step. {NULL, 0}: NULL. */
struct slice query_column(sqlite3_stmt *st, int i);
bool query_column_is(sqlite3_stmt *st, int i, const char *word);
bool query_column_has(sqlite3_stmt *st, int i, const char *word); /* somewhere in it */

/* A copy of the row. NULL: no memory. */
typedef struct held *(*query_hold_fn)(sqlite3_stmt *st, size_t *ret_bytes);
/* Runs a statement that has its parameters: its rows, until they have max_bytes. *ret is to be dropped. */
MI_MUST int query_page(struct query *q, sqlite3_stmt *st, query_hold_fn hold, size_t max_bytes,
                       struct held **ret);
/* A row with room for its text columns, which begin at `first`. NULL: no memory. */
struct held *query_hold(sqlite3_stmt *st, int first, size_t *ret_bytes);
/* Copies a text column to *at, which moves behind it. */
struct slice query_take(sqlite3_stmt *st, int i, char **at);
void query_drop(struct held *h); /* a list of rows */

/* A page of messages with from <= id <= to. */
MI_MUST int query_load_messages(struct query *q, int64_t from, int64_t to, struct held **ret);

#endif
