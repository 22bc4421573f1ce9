/* row_batch.h - message rows that wait to be inserted, as a virtual table of SQLite.
 *
 * One INSERT ... SELECT from this table takes about two thirds of the time of one statement for
 * each row, because each statement binds 20 values and searches the B-tree (`make bench-parts`).
 *
 * Owns      copies of the texts, in memory that is reserved once: pages that were never used are
 *           not allocated.
 * Limit     ROW_BATCH_ROWS rows; a batch with ROW_BATCH_BYTES of texts is full.
 * Errors    MI_ENOMEM; MI_EFULL: the row does not fit.
 * Blocks    never. */
#ifndef MI_VAULT_STORE_ROW_BATCH_H
#define MI_VAULT_STORE_ROW_BATCH_H

#include "evidence/record.h"
#include "model/fields.h"

#include <sqlite3.h>

#define ROW_BATCH_ROWS 1024
#define ROW_BATCH_BYTES ((size_t)512 << 10)
/* Maximum number of bytes of texts in one row. A batch that is not full has room for such a row. */
#define ROW_BATCH_ROW_MAX ((size_t)128 << 10)

/* Name of the table in SQL, to write after FROM (batch_table.h). Its columns are those of the table
 * `messages`. */
#define ROW_BATCH_TABLE "row_batch()"

#define ROW_BATCH_ORIGIN "peer"
#define ROW_BATCH_ACTION "forwarded"

/* A member for each field of a message: a number, or a text, where {NULL, 0} stands for NULL. The
 * texts of fields with a fixed set of words are static. */
#define BATCH_MEMBER(name, type, null, ...)                                                        \
    FIELD_EITHER(FIELD_NUMBER_##type, int64_t, struct slice) name;                                 \
    FIELD_FLAG_##null
/* The next three macros expand to a condition: the number `name` in *row is not NULL. For each
 * number of a message, the column NULL of MESSAGE_FIELDS in model/records.h (NOT_NULL, ZERO or
 * UNLESS(flag)) selects one of these macros. */
#define BATCH_HAS_NOT_NULL(name) true
#define BATCH_HAS_ZERO(name) row->name != 0
#define BATCH_HAS_UNLESS(flag) row->flag BATCH_NOTHING
#define BATCH_NOTHING(name)

struct batch_row {
    int64_t id, session_id;
    MESSAGE_FIELDS(BATCH_MEMBER)
    bool covered; /* true: the record has a salt and a commitment; false: they are NULL */
    struct salt salt;
    struct digest commitment;
};

struct row_batch {
    struct batch_row *row; /* owned; array of ROW_BATCH_ROWS rows */
    char *text;            /* owned; texts of all rows */
    size_t n, text_n;
    /* true: all rows are of one session, have ROW_BATCH_ORIGIN, ROW_BATCH_ACTION and no redactions,
     * and NULL in the RARE columns (model/records.h) */
    bool usual;
};

MI_MUST int row_batch_open(struct row_batch *b);
/* call it after closing the connection; safe to call twice */
void row_batch_close(struct row_batch *b);
/* Registers the virtual table with a connection. Returns an SQLite code. */
MI_MUST int row_batch_connect(struct row_batch *b, sqlite3 *db);
/* Adds a row. Its texts are copied. */
MI_MUST int row_batch_add_row(struct row_batch *b, const struct batch_row *r);
static inline bool row_batch_is_full(const struct row_batch *b)
{
    return b->n == ROW_BATCH_ROWS || b->text_n >= ROW_BATCH_BYTES;
}
void row_batch_clear(struct row_batch *b);

#endif
