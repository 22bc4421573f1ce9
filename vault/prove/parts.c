#include "vault/prove/parts.h"

#include <stdarg.h>
#include <stdio.h>

int prove_set_error(struct prove *p, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    buf_clear(p->error);
    buf_adds(p->error, text);
    return MI_EINVAL;
}

sqlite3_stmt *prove_prepare_statement(struct prove *p, const char *sql, int64_t a)
{
    sqlite3_stmt *s;
    return db_begin_query_text(&p->q->d, sql, &s, DB_WITH(db_int(a))) == 0 ? s : NULL;
}

int prove_finish_statement(struct prove *p, sqlite3_stmt *s, int rc)
{
    return s != NULL ? db_finish_statement(&p->q->d, s, rc) : MI_ESTORE;
}
