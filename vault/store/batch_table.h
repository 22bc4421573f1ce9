/* batch_table.h - rows in memory as a virtual table of SQLite, so that one INSERT ... SELECT stores
 * all of them.
 *
 * Write NAME() after FROM, like the call of a function. The statement fails if the database has a
 * table or a view of this name.
 *
 * Owns      nothing: the rows are borrowed as long as the connection is open.
 * Blocks    never. */
#ifndef MI_VAULT_STORE_BATCH_TABLE_H
#define MI_VAULT_STORE_BATCH_TABLE_H

#include "model/cell.h"

#include <sqlite3.h>

struct batch_table {
    const char *name;
    const char *declaration; /* statement CREATE TABLE that declares the columns */
    size_t (*count)(const void *rows);
    /* The callback passes the value of a column to the sqlite3_result_… function of `to`. If the
     * callback passes nothing, the value is NULL. */
    void (*column)(const void *rows, size_t row, sqlite3_context *to, int column);
};

/* Registers the table with a connection. `table` and `rows` are borrowed. Returns an SQLite
 * code. */
MI_MUST int batch_table_connect(const struct batch_table *table, const void *rows, sqlite3 *db);

/* Helpers for `column`: they set the result to a text, a number or a cell. The result stays NULL if
 * the text is {NULL, 0}, or if `has` is false. */
static inline void batch_set_result_text(sqlite3_context *to, struct slice s)
{
    if (s.p != NULL)
        sqlite3_result_text64(to, s.p, s.n, SQLITE_STATIC, SQLITE_UTF8);
}

static inline void batch_set_result_number(sqlite3_context *to, bool has, int64_t n)
{
    if (has)
        sqlite3_result_int64(to, n);
}

static inline void batch_set_result_cell(sqlite3_context *to, struct cell v)
{
    if (v.type == CELL_INT)
        sqlite3_result_int64(to, v.number);
    else
        batch_set_result_text(to, v.text);
}

#endif
