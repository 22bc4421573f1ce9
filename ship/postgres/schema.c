#include "ship/postgres/schema.h"

void schema_write_sql(struct buf *b)
{
    buf_add(b, begin_sql, begin_sql_n);
    buf_add(b, schema_sql, schema_sql_n);
    buf_add(b, calls_sql, calls_sql_n);
    buf_add(b, functions_sql, functions_sql_n);
    buf_add(b, views_sql, views_sql_n);
    buf_add(b, operations_sql, operations_sql_n);
    buf_add(b, reading_sql, reading_sql_n);
}
