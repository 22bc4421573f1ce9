/* sessions.c - lists sessions, and finds the session that a reference names. */
#include "journal/uid.h"
#include "vault/query/connection.h"
#include "vault/query/page.h"
#include "vault/query/store.h"
#include "vault/store/schema.h"

#include <ctype.h>
#include <stdlib.h>

/* Number of sessions in the first page (as many as a list shows), and in the largest page. Each
 * page is four times as large as the previous one, because each page costs a store at least one
 * call. */
#define PAGE_SESSIONS 64
#define PAGE_SESSIONS_MAX 1024

static int read_sessions(struct query *q, const struct where *w, int64_t limit, query_session_fn fn,
                         void *ctx)
{
    int64_t to = INT64_MAX;
    int64_t left = limit > 0 ? limit : INT64_MAX, rows = PAGE_SESSIONS;
    while (left > 0) {
        struct page_row *page = NULL;
        int st = page_read_sessions(q, w, INT64_MIN, to, left < rows ? left : rows, &page);
        rows = rows < PAGE_SESSIONS_MAX ? 4 * rows : rows;
        if (st < 0)
            return st;
        if (page == NULL)
            break;
        bool more = true;
        for (struct page_row *h = page; more && h != NULL; h = h->next) {
            more = fn(ctx, &h->session) && h->session.id > INT64_MIN;
            to = more ? h->session.id - 1 : to;
            left--;
        }
        page_free(page);
        if (!more)
            break;
    }
    return 0;
}

int query_sessions(struct query *q, int64_t limit, query_session_fn fn, void *ctx)
{
    return read_sessions(q, NULL, limit, fn, ctx);
}

int query_matching_sessions(struct query *q, const struct filter *f, enum filter_time time,
                            int64_t limit, query_session_fn fn, void *ctx)
{
    struct where w = {.by_uid = q->remote != NULL,
                      .has_cwd = q->remote != NULL || q->d.version >= SCHEMA_CALLS};
    where_add_session_conditions(&w, f, time);
    int st = w.sql.failed ? MI_ENOMEM : read_sessions(q, &w, limit, fn, ctx);
    where_clause_close(&w);
    return st;
}

bool query_session_is_older(const struct query *q, const struct query_session *s, int64_t id,
                            bool *passed)
{
    bool older = *passed || (q->remote == NULL && s->id < id);
    *passed = older || s->id == id;
    return older;
}

bool query_session_is_newer(const struct query *q, int64_t a, int64_t b)
{
    return q->remote != NULL ? remote_session_is_newer(q->remote, a, b) : a > b;
}

static bool parse_session_id(const char *ref, int64_t *ret)
{
    int64_t id = 0;
    if (ref[0] == '0' || ref[0] == '\0')
        return false;
    for (; *ref != '\0'; ref++) {
        if (!isdigit((unsigned char)*ref) || id > SCHEMA_SESSION_MAX / 10 - 1)
            return false;
        id = id * 10 + (*ref - '0');
    }
    *ret = id;
    return true;
}

static bool session_reference_is_last(const char *ref)
{
    return strcmp(ref, "last") == 0;
}

static int find_session_by_uid(struct query *q, const char *ref, int64_t *ret)
{
    char prefix[UID_LEN + 1];
    size_t n = 0;
    for (; n < UID_LEN && isalnum((unsigned char)ref[n]); n++)
        prefix[n] = (char)toupper((unsigned char)ref[n]);
    prefix[n] = '\0';
    if (ref[n] != '\0' || n == 0)
        return MI_ENOENT;
    sqlite3_stmt *st;
    int status = query_prepare(q, Q_BY_UID, &st);
    if (status < 0)
        return status;
    sqlite3_bind_text(st, 1, prefix, -1, SQLITE_TRANSIENT);
    int64_t id = 0;
    int found = 0, rc;
    while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
        id = sqlite3_column_int64(st, 0);
        if (++found == 2)
            buf_printf(
                &q->error,
                "the UIDs of several sessions begin with %s, the last is %s; give more characters",
                prefix, (const char *)sqlite3_column_text(st, 1));
    }
    status = query_finish_statement(q, st, rc);
    if (status < 0)
        return status;
    if (found == 1)
        *ret = id;
    return found == 0 ? MI_ENOENT : found == 1 ? 0 : MI_EINVAL;
}

static int find_session_by_name(struct query *q, enum query_statement i, const char *name,
                                int64_t *ret)
{
    sqlite3_stmt *st;
    int status = query_prepare(q, i, &st);
    if (status < 0)
        return status;
    sqlite3_bind_text(st, 1, name, -1, SQLITE_TRANSIENT);
    int rc = sqlite3_step(st);
    *ret = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
    return query_finish_statement(q, st, rc);
}

/* Finds the newest session of a server that has a message; if no session of the server has a
 * message, its newest session. *ret: id of the session; 0: the server has no session. */
static int find_newest_session_of_server(struct query *q, const char *name, int64_t *ret)
{
    int st = find_session_by_name(q, Q_NEWEST_USED_OF, name, ret);
    return st == 0 && *ret == 0 ? find_session_by_name(q, Q_NEWEST_OF, name, ret) : st;
}

static int load_session_by_id(struct query *q, int64_t id, struct query_session *ret)
{
    struct page_row *found = NULL;
    int st = page_read_sessions(q, NULL, id, id, 1, &found);
    if (st < 0 || found == NULL)
        return st < 0 ? st : MI_ENOENT;
    page_free(q->session);
    q->session = found;
    *ret = found->session;
    return 0;
}

int query_session_by_id(struct query *q, int64_t id, struct query_session *ret)
{
    buf_clear(&q->error);
    int st = load_session_by_id(q, id, ret);
    if (st == MI_ENOENT)
        buf_printf(&q->error, "no session %lld in %s", (long long)id, q->path);
    return st;
}

int query_reference_is_server_name(struct query *q, const char *ref, bool *ret)
{
    int64_t id = 0;
    *ret = false;
    if (parse_session_id(ref, &id) || session_reference_is_last(ref))
        return 0;
    int st = find_newest_session_of_server(q, ref, &id);
    *ret = st == 0 && id != 0;
    return st;
}

int query_session(struct query *q, const char *ref, struct query_session *ret)
{
    int64_t id = 0;
    int st = 0;
    buf_clear(&q->error);
    if (ref == NULL || session_reference_is_last(ref)) {
        /* find the newest session with a message, or, if no session has a message, the newest
         * session */
        st = query_read_number(q, Q_NEWEST_USED, 0, &id);
        st = st == 0 && id == 0 ? query_read_number(q, Q_NEWEST, 0, &id) : st;
    } else if (parse_session_id(ref, &id)) {
        st = q->remote != NULL ? query_find_session_by_number(q, id, &id) : 0;
    } else {
        st = find_newest_session_of_server(q, ref, &id);
    }
    if (st == 0)
        st = load_session_by_id(q, id, ret);
    if (st == MI_ENOENT && ref != NULL && !session_reference_is_last(ref)) {
        st = find_session_by_uid(q, ref, &id);
        if (st == 0)
            st = load_session_by_id(q, id, ret);
    }
    if (st == MI_ENOENT && ref != NULL && !session_reference_is_last(ref))
        buf_printf(&q->error, "no session '%s' in %s; see: mcp-interposer sessions", ref, q->path);
    else if (st == MI_ENOENT)
        buf_printf(&q->error, q->remote != NULL ? QUERY_NOTHING_IN_STORE : QUERY_NOTHING_YET,
                   q->path);
    return st;
}
