#include "vault/store/operation_rows.h"

#include "vault/store/connect.h"
#include "vault/store/db.h"
#include "vault/store/failure.h"
#include "vault/store/schema.h"

#define NAME(name, ...) ", o." #name
#define PARAMETER(...) ",?"

enum { READ, PUT };
static const char *const sql[] = {
    [READ] = "SELECT o.id & 68719476735, c.t_us, c.direction, c.method, c.target" OPERATION_FIELDS(
        NAME) " FROM operations o JOIN calls c ON c.id = o.id WHERE o.id BETWEEN"
              " ifnull((SELECT id FROM operations WHERE id BETWEEN ?1 AND ?2"
              " ORDER BY id DESC LIMIT 1 OFFSET ?3), ?1) AND ?2 ORDER BY o.id",
    [PUT] = "INSERT OR REPLACE INTO operations (id" OPERATION_FIELDS(
        FIELD_NAME) ") VALUES (?" OPERATION_FIELDS(PARAMETER) ")",
};
_Static_assert(SCHEMA_SEQ_BITS == 36, "the statement says 68719476735");

void operation_rows_close(struct operation_rows *r)
{
    for (size_t i = 0; i < MI_COUNT(r->q); i++)
        sqlite3_finalize(r->q[i]);
    *r = (struct operation_rows){0};
}

static sqlite3_stmt *operation_rows_get_statement(struct operation_rows *r, sqlite3 *db, size_t i)
{
    if (r->q[i] == NULL &&
        sqlite3_prepare_v3(db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &r->q[i], NULL) != SQLITE_OK)
        (void)failure_keep(db);
    return r->q[i];
}

int operation_rows_read(struct operation_rows *r, sqlite3 *db, int64_t session_id,
                        struct operations *to)
{
    enum { FIRST = 5 };
    int rc;
    sqlite3_stmt *q = operation_rows_get_statement(r, db, READ);
    if (q == NULL)
        return MI_ESTORE;
    sqlite3_bind_int64(q, 1, schema_message_id(session_id, 0));
    sqlite3_bind_int64(q, 2, schema_message_id(session_id, SCHEMA_SEQ_MAX));
    sqlite3_bind_int64(q, 3, OPERATIONS_MAX - 1);
    while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
        struct operation op = {
            .seq = sqlite3_column_int64(q, 0),
            .t_us = connect_time(q, 1),
            .direction = value_find_by_word(&row_directions, connect_column(q, 2)),
        };
        for (size_t i = 0; i < fields_of_operation.n; i++)
            field_set(&fields_of_operation.list[i], &op, db_get_cell(q, FIRST + (int)i));
        operations_add_stored_row(to, &op, connect_column(q, 3), connect_column(q, 4));
    }
    int st = rc == SQLITE_DONE ? 0 : failure_keep(db);
    sqlite3_reset(q);
    return st;
}

int operation_rows_write(struct operation_rows *r, sqlite3 *db, int64_t session_id,
                         struct operations *from)
{
    int st = 0;
    sqlite3_stmt *q = from->changed ? operation_rows_get_statement(r, db, PUT) : NULL;
    if (from->changed && q == NULL)
        return MI_ESTORE;
    for (struct operation *op = from->kept; from->changed && op < from->kept + OPERATIONS_MAX;
         op++) {
        if (!op->is_new)
            continue;
        sqlite3_bind_int64(q, 1, schema_message_id(session_id, (uint64_t)op->seq));
        for (size_t i = 0; i < fields_of_operation.n; i++) {
            struct cell c = field_get(&fields_of_operation.list[i], op);
            db_bind(q, (int)i + 2, &c, 1);
        }
        if (sqlite3_step(q) != SQLITE_DONE)
            st = failure_keep(db);
        sqlite3_reset(q);
        if (st < 0)
            return st;
        op->is_new = false;
    }
    from->changed = false;
    return 0;
}
