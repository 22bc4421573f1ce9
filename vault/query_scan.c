/* query_scan.c - all messages of a session, a part in a transaction, without copying: for a reader that looks at many
 * and keeps few. */
#include "vault/query_inner.h"

struct scan {
    enum query_statement statement;
    struct query_message (*take)(sqlite3_stmt *);
    const char *kind;
    query_message_fn fn;
    void *ctx;
    int64_t left; /* messages that may still be handed out */
    bool ended;   /* the reader has had enough */
};

static int scan_part(struct query *q, struct scan *s, int64_t from, int64_t to)
{
    sqlite3_stmt *st;
    int status = query_prepare(q, s->statement, &st);
    if (status < 0)
        return status;
    sqlite3_bind_int64(st, 1, from);
    sqlite3_bind_int64(st, 2, to);
    sqlite3_bind_int64(st, 3, s->left);
    if (s->kind != NULL)
        sqlite3_bind_text(st, 4, s->kind, -1, SQLITE_STATIC);
    int rc = SQLITE_DONE;
    while (!s->ended && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        struct query_message m = s->take(st);
        s->left--;
        s->ended = !s->fn(s->ctx, &m);
    }
    int ended = query_done(q, st, rc);
    sqlite3_clear_bindings(st);
    return ended;
}

/* Each part is a transaction of its own. */
static int scan(struct query *q, struct scan *s, int64_t session_id, int64_t after)
{
    int64_t last = 0, event;
    int status = query_last(q, session_id, &last, &event);
    for (int64_t seq = after + 1; status == 0 && !s->ended && s->left > 0 && seq <= last;
         seq += QUERY_PART) {
        int64_t to = seq + QUERY_PART - 1;
        status = scan_part(q, s, schema_message_id(session_id, (uint64_t)seq),
                           schema_message_id(session_id, (uint64_t)(to < last ? to : last)));
    }
    return status;
}

static struct query_message take_body(sqlite3_stmt *st)
{
    return (struct query_message){
        .seq = sqlite3_column_int64(st, 0),
        .kind = query_column(st, 1),
        .body = query_column(st, 2),
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
        .kind = query_column(st, 2),
        .origin = query_column(st, 3),
        .action = query_column(st, 4),
        .method = query_column(st, 5),
        .target = query_column(st, 6),
        .finding = query_column(st, 7),
        .request_method = query_column(st, 8),
        .request_target = query_column(st, 9),
        .request_action = query_column(st, 10),
    };
}

int query_bodies(struct query *q, int64_t session_id, int64_t after, int64_t max,
                 query_message_fn fn, void *ctx)
{
    struct scan s = {.statement = Q_BODIES, .take = take_body, .fn = fn, .ctx = ctx, .left = max};
    return scan(q, &s, session_id, after);
}

int query_facts(struct query *q, int64_t session_id, const char *kind, query_message_fn fn,
                void *ctx)
{
    struct scan s = {
        .statement = Q_FACTS,
        .take = take_facts,
        .kind = kind,
        .fn = fn,
        .ctx = ctx,
        .left = INT64_MAX,
    };
    return scan(q, &s, session_id, 0);
}
