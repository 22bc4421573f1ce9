/* query_scan.c - all messages of a session in one statement, without copying: for a reader that looks at many
 * and keeps few. */
#include "vault/query_inner.h"

static struct slice column(sqlite3_stmt *st, int i)
{
    const char *p = (const char *)sqlite3_column_text(st, i);
    return (struct slice){p, p != NULL ? (size_t)sqlite3_column_bytes(st, i) : 0};
}

static int scan(struct query *q, enum query_statement i, int64_t session_id, int64_t after,
                int64_t max, const char *kind, struct query_message (*take)(sqlite3_stmt *),
                query_message_fn fn, void *ctx)
{
    sqlite3_stmt *st;
    int status = query_prepare(q, i, &st);
    if (status < 0)
        return status;
    sqlite3_bind_int64(st, 1, schema_message_id(session_id, (uint64_t)after + 1));
    sqlite3_bind_int64(st, 2, schema_message_id(session_id, QUERY_SEQ_MAX));
    sqlite3_bind_int64(st, 3, max);
    if (kind != NULL)
        sqlite3_bind_text(st, 4, kind, -1, SQLITE_STATIC);
    int rc = SQLITE_DONE;
    for (bool more = true; more && (rc = sqlite3_step(st)) == SQLITE_ROW;) {
        struct query_message m = take(st);
        more = fn(ctx, &m);
    }
    int ended = query_done(q, st, rc);
    sqlite3_clear_bindings(st);
    return ended;
}

static struct query_message take_body(sqlite3_stmt *st)
{
    return (struct query_message){
        .seq = sqlite3_column_int64(st, 0),
        .kind = column(st, 1),
        .body = column(st, 2),
        .is_large = sqlite3_column_type(st, 3) != SQLITE_NULL,
        .body_offset = sqlite3_column_int64(st, 3),
        .body_length = sqlite3_column_int64(st, 4),
    };
}

static struct query_message take_facts(sqlite3_stmt *st)
{
    return (struct query_message){
        .seq = sqlite3_column_int64(st, 0),
        .t_us = sqlite3_column_int64(st, 1),
        .kind = column(st, 2),
        .origin = column(st, 3),
        .action = column(st, 4),
        .method = column(st, 5),
        .target = column(st, 6),
        .finding = column(st, 7),
        .request_method = column(st, 8),
        .request_target = column(st, 9),
        .request_action = column(st, 10),
    };
}

int query_bodies(struct query *q, int64_t session_id, int64_t after, int64_t max,
                 query_message_fn fn, void *ctx)
{
    return scan(q, Q_BODIES, session_id, after, max, NULL, take_body, fn, ctx);
}

int query_facts(struct query *q, int64_t session_id, const char *kind, query_message_fn fn,
                void *ctx)
{
    return scan(q, Q_FACTS, session_id, 0, INT64_MAX, kind, take_facts, fn, ctx);
}
