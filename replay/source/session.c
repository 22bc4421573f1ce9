#include "replay/source/session.h"

#include <stdio.h>
#include <stdlib.h>

/* Number of rows in the first page. It is small so that the mock server answers the first request
 * soon. */
#define FIRST_PAGE 48
#define PROBE_ROWS 64
#define NEAR 16    /* bodies whose positions differ by at most this number count as read in order */
#define IN_ORDER 8 /* after this many bodies were read in order, the next bodies are read ahead */
#define PROBE_SESSIONS 8
/* maximum time from the start of a probe to the start of its session */
#define PROBE_BEFORE_US (60 * (int64_t)1000000)

static int source_session_fail(struct source *s, int st)
{
    if (st != MI_ENOMEM) {
        buf_clear(&s->error);
        buf_adds(&s->error, query_error(s->q));
    }
    return st;
}

/* ---- pages ---- */

struct page {
    struct source *s;
    struct part *part;
    size_t rows;
    bool failed, full;
};

static bool message_is_discover_request(const struct query_message *m)
{
    return (m->method.p != NULL && slice_is(m->method, "server/discover")) ||
           (m->request_method.p != NULL && slice_is(m->request_method, "server/discover"));
}

static bool source_session_on_row(void *ctx, const struct query_message *m)
{
    struct page *p = ctx;
    p->part->next_seq = m->seq + 1;
    p->rows++;
    if (!p->part->discover_only || message_is_discover_request(m))
        p->failed = !source_add_row(p->s, m, p->part->place);
    p->full = p->rows >= QUERY_PAGE_ROWS || p->s->text.n >= QUERY_PAGE_BYTES;
    return !p->failed && !p->full;
}

int source_read_next_page(struct source *s)
{
    s->next = s->rows_n = 0;
    buf_clear(&s->text);
    while (s->rows_n == 0 && s->at_part < s->parts) {
        struct page p = {.s = s, .part = &s->part[s->at_part]};
        int64_t from = p.part->next_seq;
        int64_t to = from == 1 ? FIRST_PAGE : INT64_MAX;
        int st =
            query_timeline(s->q, p.part->session_id, from, to, source_session_on_row, NULL, &p);
        if (st < 0)
            return source_session_fail(s, st);
        if (p.failed)
            return MI_ENOMEM;
        if (from == 1 && !p.full)
            p.part->next_seq = FIRST_PAGE + 1;
        else if (p.rows == 0)
            s->at_part++;
    }
    return s->rows_n > 0 ? 0 : MI_ENOENT;
}

struct one {
    struct source *s;
    struct slice uid;
    struct buf *b;
    int status;
};

static bool source_copy_body_of_row(void *ctx, const struct query_message *m)
{
    struct one *o = ctx;
    if (m->is_large) {
        o->status = query_body(o->s->q, o->uid, m, (size_t)m->body_length, o->b);
    } else if (m->body.p != NULL) {
        buf_slice_add(o->b, m->body);
        o->status = o->b->failed ? MI_ENOMEM : 0;
    }
    return false;
}

static struct part *source_get_session_of_position(struct source *s, uint64_t place)
{
    return &s->part[s->parts == 2 && place >= s->part[1].place ? 1 : 0];
}

/* Reads a page of bodies, if all messages were returned and the caller now reads bodies in
 * order. */
static int read_ahead_bodies(struct source *s, uint64_t place)
{
    struct page p = {.s = s, .part = source_get_session_of_position(s, place)};
    if (s->in_order < IN_ORDER || s->at_part < s->parts || s->next < s->rows_n)
        return 0;
    s->rows_n = 0;
    buf_clear(&s->text);
    int st = query_timeline(s->q, p.part->session_id, (int64_t)source_seq_in_session(place),
                            INT64_MAX, source_session_on_row, NULL, &p);
    s->next = s->rows_n;
    return st < 0 ? source_session_fail(s, st) : p.failed ? MI_ENOMEM : 0;
}

int source_read_session_body(struct source *s, uint64_t place, struct buf *b)
{
    const struct part *part = source_get_session_of_position(s, place);
    const struct source_row *r = source_find_row_at(s, place);
    bool near = place > s->last_body && place - s->last_body <= NEAR;
    s->in_order = near ? s->in_order + 1 : 0;
    s->last_body = place;
    if (r == NULL) {
        int ahead = read_ahead_bodies(s, place);
        if (ahead < 0)
            return ahead;
        r = source_find_row_at(s, place);
    }
    if (r != NULL && r->has_body) {
        buf_add(b, s->text.p + r->body_at, r->body_n);
        return b->failed ? MI_ENOMEM : 0;
    }
    struct one o = {.s = s, .uid = slice_of(part->uid), .b = b, .status = MI_ENOENT};
    int64_t seq = (int64_t)source_seq_in_session(place);
    buf_clear(&s->error);
    int st = query_timeline(s->q, part->session_id, seq, seq, source_copy_body_of_row, NULL, &o);
    if (st < 0)
        return source_session_fail(s, st);
    if (o.status == MI_EIO)
        return source_session_fail(s, MI_EIO);
    if (o.status == MI_ENOENT)
        buf_printf(&s->error, "message seq=%lld is missing from the vault", (long long)seq);
    return o.status;
}

/* ---- finding the session and its probe ---- */

struct request_counts {
    size_t requests, discovers;
};

static bool source_count_if_request(void *ctx, const struct query_message *m)
{
    struct request_counts *l = ctx;
    if (m->direction != ROW_C2S || m->kind != KIND_REQUEST || m->origin != ROW_PEER)
        return true;
    l->requests++;
    l->discovers += message_is_discover_request(m);
    /* Stop at a request other than server/discover: then the session is not just a probe. */
    return l->requests == l->discovers;
}

static int count_requests(struct query *q, int64_t session_id, struct request_counts *ret)
{
    *ret = (struct request_counts){0};
    return query_timeline(q, session_id, 1, PROBE_ROWS, source_count_if_request, NULL, ret);
}

static bool source_on_server_message(void *ctx, const struct query_message *m)
{
    bool *spoke = ctx;
    *spoke = m->direction == ROW_S2C && m->origin == ROW_PEER;
    return !*spoke;
}

/* Whether the server sent a message. A session without such a message cannot be replayed. Returns
 * 1, 0 or an error. */
static int server_sent_anything(struct query *q, const struct query_session *s)
{
    bool spoke = false;
    if (!slice_is(s->end_reason, "server-failed"))
        return 1;
    int st = query_timeline(q, s->id, 1, PROBE_ROWS, source_on_server_message, NULL, &spoke);
    return st < 0 ? st : spoke;
}

struct search {
    struct query *q;
    const char *name; /* NULL: any */
    int64_t before;   /* 0: any */
    bool passed;      /* true: the query has returned the session with the id `before` */
    source_running_fn running;
    int64_t found; /* id of the session that was found; 0: none yet */
    int status;
};

static bool source_on_candidate_session(void *ctx, const struct query_session *s)
{
    struct search *f = ctx;
    struct request_counts l;
    if (f->before != 0 && !query_session_is_older(f->q, s, f->before, &f->passed))
        return true;
    if (f->name != NULL && (s->name.p == NULL || !slice_is(s->name, f->name)))
        return true;
    if (s->ended_at_us == 0 && (f->running == NULL || f->running(f->q, s)))
        return true;
    bool sent = false;
    f->status = count_requests(f->q, s->id, &l);
    int had = f->status >= 0 ? server_sent_anything(f->q, s) : f->status;
    f->status = had < 0 ? had : query_session_is_made_by_send(f->q, s->id, &sent);
    if (f->status < 0)
        return false;
    if (l.requests == l.discovers || had == 0 || sent)
        return true;
    f->found = s->id;
    return false;
}

int source_pick_session(struct query *q, const char *name, int64_t before,
                        source_running_fn running, struct query_session *ret, struct buf *error)
{
    struct search f = {.q = q, .name = name, .before = before, .running = running};
    int st = query_sessions(q, 0, source_on_candidate_session, &f);
    if (st == 0)
        st = f.status;
    if (st == 0 && f.found != 0)
        st = query_session_by_id(q, f.found, ret);
    if (st < 0) {
        if (st != MI_ENOMEM)
            buf_adds(error, query_error(q));
        return st;
    }
    if (f.found != 0)
        return 0;
    buf_printf(error, "no finished session to %s in %s", before != 0 ? "compare with" : "replay",
               query_vault(q));
    if (name != NULL)
        buf_printf(error, ", with the name '%s'", name);
    if (before != 0 && !query_is_store(q))
        buf_printf(error, ", before session %lld", (long long)before);
    buf_adds(error, "; see: mcp-interposer sessions");
    return MI_ENOENT;
}

static void add_session_to_read(struct source *s, const struct query_session *session,
                                uint64_t place, bool discover_only)
{
    struct part *part = &s->part[s->parts++];
    *part = (struct part){
        .session_id = session->id,
        .next_seq = 1,
        .place = place,
        .discover_only = discover_only,
    };
    if (session->uid.n < sizeof part->uid)
        memcpy(part->uid, session->uid.p, session->uid.n);
}

/* Adds the session's probe: an earlier session of the same command with only discover requests.
 * Checks several earlier sessions, because others may have started between the probe and the
 * session. */
static int add_probe_session(struct source *s, struct query_session of, struct slice command)
{
    struct request_counts l;
    struct query_session probe;
    if (query_is_store(s->q)) /* in a store, a lower id does not mean an earlier session */
        return 0;
    int st = count_requests(s->q, of.id, &l);
    /* the session itself contains a discover request, so no other session is its probe */
    if (st < 0 || l.discovers > 0)
        return st;
    for (int64_t id = of.id - 1; id > 0 && id >= of.id - PROBE_SESSIONS; id--) {
        st = query_session_by_id(s->q, id, &probe);
        if (st == MI_ENOENT)
            continue;
        if (st < 0)
            return st;
        if (probe.started_at_us < of.started_at_us - PROBE_BEFORE_US ||
            !slice_eq(probe.command, command))
            continue;
        st = count_requests(s->q, probe.id, &l);
        if (st < 0)
            return st;
        if (l.discovers > 0 && l.requests == l.discovers) {
            add_session_to_read(s, &probe, PLACE_PROBE, true);
            return 0;
        }
    }
    return 0;
}

int source_open_session(struct source **ret, struct query *q, const struct query_session *session,
                        struct buf *error)
{
    struct source *s = calloc(1, sizeof *s);
    if (s == NULL)
        return MI_ENOMEM;
    s->q = q;
    int st = source_copy_session_info(s, session, error);
    if (st == 0) {
        struct buf command = {0}; /* searching for the probe invalidates the session's text */
        struct query_session main_part = *session;
        buf_slice_add(&command, session->command);
        main_part.uid = s->info.uid;
        st = command.failed ? MI_ENOMEM : add_probe_session(s, main_part, buf_slice(&command));
        add_session_to_read(s, &main_part, PLACE_MAIN, false);
        buf_close(&command);
        if (st < 0 && st != MI_ENOMEM)
            buf_adds(error, query_error(q));
    }
    if (st < 0) {
        source_close(s);
        return st;
    }
    *ret = s;
    return 0;
}
