/* query_sessions.c - sessions: all of them, one that is named, and how the calls of one went. */
#include "vault/query_inner.h"

#include "vault/uid.h"

#include <ctype.h>
#include <stdlib.h>

#define SESSION_MAX (INT64_MAX >> SCHEMA_SEQ_BITS)
#define PAGE_SESSIONS 64

/* ---- sessions ---- */

static size_t shared_with(struct slice uid, struct slice other)
{
    size_t n = 0;
    while (n < uid.n && n < other.n && uid.p[n] == other.p[n])
        n++;
    return n;
}

void query_session_texts(struct query_session *s, struct slice *ret[QUERY_SESSION_TEXTS])
{
    struct slice *const texts[QUERY_SESSION_TEXTS] = {
        &s->uid,
        &s->name,
        &s->command,
        &s->client_name,
        &s->client_version,
        &s->server_name,
        &s->server_version,
        &s->protocol_version,
        &s->end_reason,
        &s->host,
        &s->record_level,
        &s->interposer_version,
        &s->redact_rules,
    };
    memcpy(ret, texts, sizeof texts);
}

static struct held *hold_session(sqlite3_stmt *st, size_t *ret_bytes)
{
    struct held *h = query_hold(st, 5, ret_bytes);
    if (h == NULL)
        return NULL;
    struct query_session *s = &h->session;
    char *at = h->text;
    *s = (struct query_session){
        .id = sqlite3_column_int64(st, 0),
        .started_at_us = sqlite3_column_int64(st, 1),
        .ended_at_us = sqlite3_column_int64(st, 2),
        .has_exit_status = sqlite3_column_type(st, 3) != SQLITE_NULL,
        .exit_status = sqlite3_column_int64(st, 3),
        .pid = sqlite3_column_int64(st, 4),
    };
    struct slice *text[QUERY_SESSION_TEXTS];
    query_session_texts(s, text);
    for (size_t i = 0; i < QUERY_SESSION_TEXTS; i++)
        *text[i] = query_take(st, 5 + (int)i, &at);
    size_t before = shared_with(s->uid, query_take(st, 5 + QUERY_SESSION_TEXTS, &at));
    size_t after = shared_with(s->uid, query_take(st, 6 + QUERY_SESSION_TEXTS, &at));
    s->uid_unique = size_min(s->uid.n, 1 + (before > after ? before : after));
    return h;
}

/* Sessions with from <= id <= to, newest first, at most `limit`. *ret is a list to be dropped. */
static int load_sessions(struct query *q, int64_t from, int64_t to, int64_t limit,
                         struct held **ret)
{
    sqlite3_stmt *st;
    int status = query_prepare(q, Q_SESSIONS, &st);
    if (status < 0)
        return status;
    sqlite3_bind_int64(st, 1, from);
    sqlite3_bind_int64(st, 2, to);
    sqlite3_bind_int64(st, 3, limit);
    return query_page(q, st, hold_session, SIZE_MAX, ret);
}

int query_sessions(struct query *q, int64_t limit, query_session_fn fn, void *ctx)
{
    int64_t to = INT64_MAX;
    int64_t left = limit > 0 ? limit : INT64_MAX;
    while (left > 0) {
        struct held *page = NULL;
        int st =
            load_sessions(q, INT64_MIN, to, left < PAGE_SESSIONS ? left : PAGE_SESSIONS, &page);
        if (st < 0)
            return st;
        if (page == NULL)
            break;
        bool more = true;
        for (struct held *h = page; more && h != NULL; h = h->next) {
            more = fn(ctx, &h->session);
            to = h->session.id - 1;
            left--;
        }
        query_drop(page);
        if (!more)
            break;
    }
    return 0;
}

static bool is_id(const char *ref, int64_t *ret)
{
    int64_t id = 0;
    if (ref[0] == '0' || ref[0] == '\0')
        return false;
    for (; *ref != '\0'; ref++) {
        if (!isdigit((unsigned char)*ref) || id > SESSION_MAX / 10 - 1)
            return false;
        id = id * 10 + (*ref - '0');
    }
    *ret = id;
    return true;
}

static int find_uid(struct query *q, const char *ref, int64_t *ret)
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
            buf_printf(&q->error,
                       "several sessions begin with %s, the last of them is %s; write more of it",
                       prefix, (const char *)sqlite3_column_text(st, 1));
    }
    status = query_done(q, st, rc);
    if (status < 0)
        return status;
    if (found == 1)
        *ret = id;
    return found == 0 ? MI_ENOENT : found == 1 ? 0 : MI_EINVAL;
}

static int find_session(struct query *q, const char *ref, int64_t *ret)
{
    if (ref == NULL) {
        int st = query_number(q, Q_NEWEST_USED, 0, ret);
        return st == 0 && *ret == 0 ? query_number(q, Q_NEWEST, 0, ret) : st;
    }
    struct held *found = NULL;
    int64_t id;
    if (is_id(ref, &id)) {
        int st = load_sessions(q, id, id, 1, &found);
        if (st < 0)
            return st;
        if (found != NULL) {
            query_drop(found);
            *ret = id;
            return 0;
        }
    }
    return find_uid(q, ref, ret);
}

int query_session(struct query *q, const char *ref, struct query_session *ret)
{
    int64_t id = 0;
    struct held *found = NULL;
    buf_clear(&q->error);
    int st = find_session(q, ref, &id);
    if (st == 0)
        st = load_sessions(q, id, id, 1, &found);
    if (st == 0 && found == NULL)
        st = MI_ENOENT;
    if (st == MI_ENOENT) {
        if (ref != NULL)
            buf_printf(&q->error, "there is no session '%s' in %s; see: mcp-interposer sessions",
                       ref, q->path);
        else
            buf_printf(&q->error, "there is no session in %s yet; name another vault with --vault",
                       q->path);
    }
    if (st != 0)
        return st;
    query_drop(q->session);
    q->session = found;
    *ret = found->session;
    return 0;
}

/* ---- summary ---- */

static bool take_bit(struct query_summary *s, int64_t seq)
{
    if (!query_summary_waits(s, seq))
        return false;
    s->waiting[seq / 64] &= ~((uint64_t)1 << seq % 64);
    return true;
}

/* One row in order of seq. A request waits until the first thing that closes it; what comes later, or for
 * a request that is not there, does not count. */
static void sum_up(struct query_summary *s, sqlite3_stmt *st)
{
    int64_t seq = sqlite3_column_int64(st, 0);
    if (query_column_is(st, 1, "request")) {
        s->calls++;
        if (query_column_is(st, 2, "refused"))
            s->refused++;
        else if (seq >= 0 && seq <= s->last_seq)
            s->waiting[seq / 64] |= (uint64_t)1 << seq % 64;
        return;
    }
    s->tools_changed = s->tools_changed || query_column_has(st, 4, "tool-changed");
    s->unfinished = s->unfinished || query_column_has(st, 4, "unfinished-line");
    if (!query_column_is(st, 2, "forwarded") || !take_bit(s, sqlite3_column_int64(st, 3)))
        return;
    if (query_column_is(st, 1, "notification"))
        s->cancelled++;
    else if (query_column_has(st, 4, "server-gone"))
        s->server_gone++;
    else if (query_column_has(st, 4, "timeout"))
        s->timeouts++;
    else if (query_column_is(st, 1, "error"))
        s->errors++;
    else if (query_column_has(st, 4, "tool-error"))
        s->tool_errors++;
    else
        s->ok++;
}

int query_summary(struct query *q, int64_t session_id, bool waiting, struct query_summary *ret)
{
    struct query_summary s = {0};
    sqlite3_stmt *st = NULL;
    int status = query_last_message(q, session_id, &s.last_seq, &s.last_t_us);
    if (status == 0)
        status = query_prepare(q, Q_SUMMARY, &st);
    if (status < 0)
        return status;
    s.waiting_n = (size_t)s.last_seq / 64 + 1;
    s.waiting = calloc(s.waiting_n, sizeof *s.waiting);
    if (s.waiting == NULL)
        return MI_ENOMEM;
    for (int64_t seq = 0; status == 0 && seq <= s.last_seq; seq += QUERY_PART) {
        int64_t to = seq + QUERY_PART - 1;
        to = to < s.last_seq ? to : s.last_seq;
        sqlite3_bind_int64(st, 1, schema_message_id(session_id, (uint64_t)seq));
        sqlite3_bind_int64(st, 2, schema_message_id(session_id, (uint64_t)to));
        int rc;
        while ((rc = sqlite3_step(st)) == SQLITE_ROW)
            sum_up(&s, st);
        status = query_done(q, st, rc);
    }
    s.open = s.calls - s.ok - s.tool_errors - s.errors - s.refused - s.cancelled - s.server_gone -
             s.timeouts;
    if (!waiting || status < 0)
        query_summary_close(&s);
    if (status < 0)
        return status;
    *ret = s;
    return 0;
}

void query_summary_close(struct query_summary *s)
{
    free(s->waiting);
    s->waiting = NULL;
}

bool query_summary_waits(const struct query_summary *s, int64_t seq)
{
    return s->waiting != NULL && seq > 0 && (size_t)seq / 64 < s->waiting_n &&
           (s->waiting[seq / 64] >> seq % 64 & 1) != 0;
}
