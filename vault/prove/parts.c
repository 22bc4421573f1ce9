#include "vault/prove/parts.h"

#include <stdarg.h>
#include <stdio.h>

int prove_refuse(struct prove *p, const char *fmt, ...)
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

sqlite3_stmt *prove_prepare(struct prove *p, const char *sql, int64_t a)
{
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(p->q->db, sql, -1, &s, NULL) == SQLITE_OK)
        sqlite3_bind_int64(s, 1, a);
    return s;
}

int prove_finish(struct prove *p, sqlite3_stmt *s, int rc)
{
    int st = s != NULL && (rc == SQLITE_ROW || rc == SQLITE_DONE) ? 0 : query_fail(p->q);
    sqlite3_finalize(s);
    return st;
}
