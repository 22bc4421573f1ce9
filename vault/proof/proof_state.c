#include "vault/proof/proof_state.h"

#include <stdarg.h>
#include <stdio.h>

int proof_set_error(struct proof *p, const char *fmt, ...)
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

sqlite3_stmt *proof_prepare_statement(struct proof *p, const char *sql, int64_t a)
{
    sqlite3_stmt *s;
    return db_begin_query_text(&p->q->d, sql, &s, DB_WITH(db_int(a))) == 0 ? s : NULL;
}

int proof_finish_statement(struct proof *p, sqlite3_stmt *s, int rc)
{
    return s != NULL ? db_finish_statement(&p->q->d, s, rc) : MI_ESTORE;
}
