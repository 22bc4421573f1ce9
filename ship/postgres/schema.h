/* schema.h - the SQL of the central store, as text (begin.sql, schema.sql, calls.sql,
 * functions.sql, views.sql, operations.sql, reading.sql). */
#ifndef MI_SHIP_POSTGRES_SCHEMA_H
#define MI_SHIP_POSTGRES_SCHEMA_H

#include "base/buf.h"

/* text of begin.sql; the SQL of a router begins with this text, too */
extern const char begin_sql[];
extern const size_t begin_sql_n;
extern const char schema_sql[];
extern const size_t schema_sql_n;
extern const char calls_sql[];
extern const size_t calls_sql_n;
extern const char functions_sql[];
extern const size_t functions_sql_n;
extern const char views_sql[];
extern const size_t views_sql_n;
extern const char operations_sql[];
extern const size_t operations_sql_n;
extern const char reading_sql[];
extern const size_t reading_sql_n;

/* Appends all texts above, in order. The caller runs them in one transaction. */
void schema_write_sql(struct buf *b);
/* SQL that adds the calls of sessions that an older version has stored, in many short transactions.
 * Run it separately, after the SQL of schema_write_sql(). Until then, the calls of these sessions
 * are read from the messages. */
#define SCHEMA_FILL "CALL mcp_interposer.fill_all_calls()"

#endif
