/* query_rows.c - the messages and events of a session, page by page, and its large bodies. */
#include "vault/query_inner.h"

#include "vault/dir.h"
#include "vault/uid.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- messages and events ---- */

static struct held *hold_message(sqlite3_stmt *st, size_t *ret_bytes)
{
    struct held *h = query_hold(st, 10, ret_bytes);
    if (h == NULL)
        return NULL;
    struct query_message *m = &h->message;
    char *at = h->text;
    *m = (struct query_message){
        .seq = sqlite3_column_int64(st, 0),
        .t_us = sqlite3_column_int64(st, 1),
        .is_large = sqlite3_column_type(st, 2) != SQLITE_NULL,
        .body_offset = sqlite3_column_int64(st, 2),
        .body_length = sqlite3_column_int64(st, 3),
        .size = sqlite3_column_int64(st, 4),
        .redactions = sqlite3_column_int64(st, 5),
        .request_seq = sqlite3_column_int64(st, 6),
        .batch_seq = sqlite3_column_int64(st, 7),
        .has_error_code = sqlite3_column_type(st, 8) != SQLITE_NULL,
        .error_code = sqlite3_column_int64(st, 8),
        .has_request = sqlite3_column_type(st, 9) != SQLITE_NULL,
        .request_t_us = sqlite3_column_int64(st, 9),
    };
    struct slice *const texts[] = {
        &m->direction, &m->origin,         &m->kind,           &m->action,
        &m->rpc_id,    &m->method,         &m->target,         &m->body,
        &m->finding,   &m->request_method, &m->request_target, &m->request_action,
    };
    for (size_t i = 0; i < MI_COUNT(texts); i++)
        *texts[i] = query_take(st, 10 + (int)i, &at);
    return h;
}

int query_load_messages(struct query *q, int64_t from, int64_t to, struct held **ret)
{
    sqlite3_stmt *st;
    int status = query_prepare(q, Q_MESSAGES, &st);
    if (status < 0)
        return status;
    sqlite3_bind_int64(st, 1, from);
    sqlite3_bind_int64(st, 2, to);
    sqlite3_bind_int64(st, 3, QUERY_PAGE_ROWS);
    return query_page(q, st, hold_message, QUERY_PAGE_BYTES, ret);
}

static struct held *hold_event(sqlite3_stmt *st, size_t *ret_bytes)
{
    struct held *h = query_hold(st, 2, ret_bytes);
    if (h == NULL)
        return NULL;
    char *at = h->text;
    h->event = (struct query_event){
        .id = sqlite3_column_int64(st, 0),
        .t_us = sqlite3_column_int64(st, 1),
    };
    h->event.kind = query_take(st, 2, &at);
    h->event.detail = query_take(st, 3, &at);
    return h;
}

/* A page of events with id > after. */
static int load_events(struct query *q, int64_t session_id, int64_t after, struct held **ret)
{
    sqlite3_stmt *st;
    int status = query_prepare(q, Q_EVENTS, &st);
    if (status < 0)
        return status;
    sqlite3_bind_int64(st, 1, session_id);
    sqlite3_bind_int64(st, 2, after);
    sqlite3_bind_int64(st, 3, QUERY_PAGE_ROWS);
    return query_page(q, st, hold_event, SIZE_MAX, ret);
}

/* Events that have not been handed out yet. */
struct event_walk {
    struct held *page, *next;  /* next lies in page */
    int64_t session_id, after; /* after: the id of the last one loaded */
    query_event_fn fn;         /* NULL: nobody wants them */
};

/* Hands out the events up to t_us. *ret_more: the reader wants to go on. */
static int walk_events(struct query *q, struct event_walk *w, int64_t t_us, void *ctx,
                       bool *ret_more)
{
    *ret_more = true;
    while (w->fn != NULL && *ret_more) {
        if (w->next == NULL) {
            query_drop(w->page);
            w->page = NULL;
            int st = load_events(q, w->session_id, w->after, &w->page);
            if (st < 0)
                return st;
            w->next = w->page;
            if (w->page == NULL) {
                w->fn = NULL;
                break;
            }
        }
        if (w->next->event.t_us > t_us)
            break;
        *ret_more = w->fn(ctx, &w->next->event);
        w->after = w->next->event.id;
        w->next = w->next->next;
    }
    return 0;
}

int query_timeline(struct query *q, int64_t session_id, int64_t from, int64_t to,
                   query_message_fn on_message, query_event_fn on_event, void *ctx)
{
    struct event_walk w = {.session_id = session_id, .after = INT64_MIN, .fn = on_event};
    bool more = true;
    int st = 0;
    from = from < 0 ? 0 : from;
    to = to > SCHEMA_SEQ_MAX ? SCHEMA_SEQ_MAX : to;
    while (st == 0 && more && from <= to) {
        struct held *page = NULL;
        st = query_load_messages(q, schema_message_id(session_id, (uint64_t)from),
                                 schema_message_id(session_id, (uint64_t)to), &page);
        if (st < 0 || page == NULL)
            break;
        for (struct held *h = page; st == 0 && more && h != NULL; h = h->next) {
            st = walk_events(q, &w, h->message.t_us, ctx, &more);
            if (st == 0 && more)
                more = on_message(ctx, &h->message);
            from = h->message.seq + 1;
        }
        query_drop(page);
    }
    if (st == 0 && more)
        st = walk_events(q, &w, INT64_MAX, ctx, &more);
    query_drop(w.page);
    return st;
}

int query_more(struct query *q, int64_t session_id, int64_t *seq, int64_t *event,
               query_message_fn on_message, query_event_fn on_event, void *ctx)
{
    struct held *messages = NULL, *events = NULL;
    int st = query_load_messages(q, schema_message_id(session_id, (uint64_t)*seq + 1),
                                 schema_message_id(session_id, SCHEMA_SEQ_MAX), &messages);
    if (st == 0)
        st = load_events(q, session_id, *event, &events);
    const struct held *m = messages, *e = events;
    bool more = st == 0;
    while (more && (m != NULL || e != NULL)) {
        if (m == NULL || (e != NULL && e->event.t_us <= m->message.t_us)) {
            *event = e->event.id;
            more = on_event(ctx, &e->event);
            e = e->next;
        } else {
            *seq = m->message.seq;
            more = on_message(ctx, &m->message);
            m = m->next;
        }
    }
    query_drop(messages);
    query_drop(events);
    return st;
}

/* ---- large bodies ---- */

static bool is_uid(struct slice uid)
{
    if (uid.n != UID_LEN)
        return false;
    for (size_t i = 0; i < uid.n; i++)
        if (!isalnum((unsigned char)uid.p[i]))
            return false;
    return true;
}

static int fail_body(struct query *q, struct slice uid, const char *why)
{
    int e = errno;
    buf_clear(&q->error);
    buf_printf(&q->error, "%s/" VAULT_BODIES "/%.*s: %s", q->path, (int)size_min(uid.n, UID_LEN),
               uid.p, why);
    errno = e;
    return MI_EIO;
}

static int read_part(int fd, int64_t offset, size_t n, struct buf *b)
{
    if (!buf_room(b, n))
        return MI_ENOMEM;
    while (n > 0) {
        ssize_t got = pread(fd, b->p + b->n, n, offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            errno = got == 0 ? ENODATA : errno;
            return MI_EIO;
        }
        b->n += (size_t)got;
        offset += got;
        n -= (size_t)got;
    }
    return 0;
}

int query_body(struct query *q, struct slice uid, const struct query_message *m, size_t max,
               struct buf *b)
{
    if (!is_uid(uid)) /* it is about to be a file name */
        return fail_body(q, uid, "this is no name of a session");
    char name[UID_LEN + 1] = {0};
    memcpy(name, uid.p, UID_LEN);
    int dir = vault_dir_sub(q->dir_fd, VAULT_BODIES, false);
    int fd = dir >= 0 ? vault_dir_file(dir, name, O_RDONLY | O_NONBLOCK) : -1;
    int st = fd < 0 ? fail_body(q, uid, strerror(errno)) : 0;
    struct stat s;
    if (st == 0 && (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode)))
        st = fail_body(q, uid, "this is no plain file");
    else if (st == 0 && (m->body_offset < 0 || m->body_length < 0 || m->body_offset > s.st_size ||
                         m->body_length > s.st_size - m->body_offset))
        st = fail_body(q, uid, "the file is too short");
    if (st == 0)
        st = read_part(fd, m->body_offset, size_min(max, (size_t)m->body_length), b);
    if (st == MI_EIO && b->failed)
        st = MI_ENOMEM;
    if (fd >= 0)
        close(fd);
    if (dir >= 0)
        close(dir);
    return st;
}
