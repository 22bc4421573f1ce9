/* row_batch.h - message rows that wait to be inserted, as a virtual table of SQLite.
 *
 * One INSERT ... SELECT from this table takes about two thirds of the time that a statement for each row takes, which binds
 * 20 values, starts, searches the B-tree for its place, and ends (`make bench-parts`).
 *
 * Owns      copies of the texts, in memory that is reserved once: pages that were never used are not allocated.
 * Limit     ROW_BATCH_ROWS rows; a batch with ROW_BATCH_BYTES of texts is full.
 * Errors    MI_ENOMEM; MI_EFULL: the row does not fit.
 * Blocks    never. */
#ifndef MI_VAULT_STORE_ROW_BATCH_H
#define MI_VAULT_STORE_ROW_BATCH_H

#include "evidence/record.h"

#include <sqlite3.h>

#define ROW_BATCH_ROWS 512
#define ROW_BATCH_BYTES ((size_t)512 << 10)
#define ROW_BATCH_ROW_MAX                                                                          \
    ((size_t)128 << 10) /* bytes of a row's texts that fit while the batch is not full */

/* For FROM (batch_table.h). The columns are those of the table `messages`. */
#define ROW_BATCH_TABLE "row_batch()"

#define ROW_BATCH_ORIGIN "peer"
#define ROW_BATCH_ACTION "forwarded"

enum batch_word { BATCH_DIRECTION, BATCH_ORIGIN, BATCH_KIND, BATCH_ACTION, BATCH_WORDS };
enum batch_text {
    BATCH_RPC_ID,
    BATCH_METHOD,
    BATCH_TARGET,
    BATCH_BODY,
    BATCH_FINDING,
    BATCH_REVISION,
    BATCH_TEXTS
};

/* Members have the names of the columns. */
struct batch_row {
    int64_t id, session_id, seq, t_us, size, redactions;
    int64_t request_seq, batch_seq;   /* 0: NULL */
    int64_t error_code;               /* if has_error_code; else NULL */
    int64_t body_offset, body_length; /* body_length 0: both are NULL */
    bool has_error_code;
    struct slice word[BATCH_WORDS]; /* static; of model/values.h */
    struct slice text[BATCH_TEXTS]; /* {NULL, 0}: NULL */
    bool covered;                   /* false: salt and commitment are NULL */
    struct salt salt;
    struct digest commitment;
};

struct row_batch {
    struct batch_row *row; /* owned; ROW_BATCH_ROWS */
    char *text;            /* owned; of all rows */
    size_t n, text_n;
    /* All rows are of one session, with ROW_BATCH_ORIGIN and ROW_BATCH_ACTION, without redactions, and NULL in the
     * columns that are NULL in most rows: batch_seq, error_code, body_offset, body_length, finding, revision. */
    bool usual;
};

MI_MUST int row_batch_open(struct row_batch *b);
void row_batch_close(struct row_batch *b); /* after the connection; safe to call twice */
/* Makes the table known to a connection. An SQLite code. */
MI_MUST int row_batch_connect(struct row_batch *b, sqlite3 *db);
/* The texts are copied. */
MI_MUST int row_batch_add(struct row_batch *b, const struct batch_row *r);
static inline bool row_batch_is_full(const struct row_batch *b)
{
    return b->n == ROW_BATCH_ROWS || b->text_n >= ROW_BATCH_BYTES;
}
void row_batch_clear(struct row_batch *b);

#endif
