#include "vault/store/batch_table.h"

#include <stdlib.h>

/* Data of the module for one connection; freed with the connection. */
struct source {
    const struct batch_table *table; /* borrowed */
    const void *rows;                /* borrowed */
};

struct instance {
    sqlite3_vtab base;
    struct source source;
};

struct cursor {
    sqlite3_vtab_cursor base;
    struct source source;
    size_t at, n;
};

static int connect_table(sqlite3 *db, void *source, int n, const char *const *args,
                         sqlite3_vtab **ret, char **error)
{
    (void)n, (void)args, (void)error;
    const struct source *s = source;
    int rc = sqlite3_declare_vtab(db, s->table->declaration);
    if (rc != SQLITE_OK)
        return rc;
    struct instance *t = calloc(1, sizeof *t);
    if (t == NULL)
        return SQLITE_NOMEM;
    t->source = *s;
    *ret = &t->base;
    return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *t)
{
    free(t);
    return SQLITE_OK;
}

static int batch_table_best_index(sqlite3_vtab *t, sqlite3_index_info *info)
{
    (void)t, (void)info; /* the only way to read the table is to read all rows */
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *t, sqlite3_vtab_cursor **ret)
{
    struct cursor *c = calloc(1, sizeof *c);
    if (c == NULL)
        return SQLITE_NOMEM;
    c->source = ((struct instance *)t)->source;
    *ret = &c->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *c)
{
    free(c);
    return SQLITE_OK;
}

static int batch_table_move_to_first_row(sqlite3_vtab_cursor *cursor, int number, const char *text,
                                         int n, sqlite3_value **arg)
{
    (void)number, (void)text, (void)n, (void)arg;
    struct cursor *c = (struct cursor *)cursor;
    c->at = 0;
    c->n = c->source.table->count(c->source.rows);
    return SQLITE_OK;
}

static int batch_table_next(sqlite3_vtab_cursor *cursor)
{
    ((struct cursor *)cursor)->at++;
    return SQLITE_OK;
}

static int batch_table_is_at_end(sqlite3_vtab_cursor *cursor)
{
    const struct cursor *c = (const struct cursor *)cursor;
    return c->at >= c->n;
}

static int batch_table_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret)
{
    *ret = (sqlite3_int64)((struct cursor *)cursor)->at;
    return SQLITE_OK;
}

static int batch_table_return_column(sqlite3_vtab_cursor *cursor, sqlite3_context *to, int i)
{
    const struct cursor *c = (const struct cursor *)cursor;
    c->source.table->column(c->source.rows, c->at, to, i);
    return SQLITE_OK;
}

/* The module has no xCreate, so the table exists in every database, but only under the module's
 * name. */
static const sqlite3_module module = {
    .iVersion = 1,
    .xConnect = connect_table,
    .xBestIndex = batch_table_best_index,
    .xDisconnect = disconnect_table,
    .xDestroy = disconnect_table,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = batch_table_move_to_first_row,
    .xNext = batch_table_next,
    .xEof = batch_table_is_at_end,
    .xColumn = batch_table_return_column,
    .xRowid = batch_table_rowid,
};

int batch_table_connect(const struct batch_table *table, const void *rows, sqlite3 *db)
{
    struct source *s = malloc(sizeof *s);
    if (s == NULL)
        return SQLITE_NOMEM;
    *s = (struct source){table, rows};
    return sqlite3_create_module_v2(db, table->name, &module, s, free);
}
