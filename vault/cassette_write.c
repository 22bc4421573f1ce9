/* cassette_write.c - a session as the lines of a cassette. */
#include "vault/cassette_inner.h"

#include "base/room.h"
#include "base/text.h"

#include <stdlib.h>

#define FLUSH_BYTES ((size_t)256 << 10)

struct cassette_writer {
    cassette_sink_fn sink;
    void *ctx;
    struct buf out;     /* owned; lines that the sink has not got yet */
    struct buf body;    /* owned; the body as it stands in the line */
    struct buf scratch; /* owned */
    struct pairing pairing;
    int64_t *seqs; /* owned; of the messages written, as the session counts them */
    size_t n, cap;
    int64_t last_batch;
};

int cassette_write_open(struct cassette_writer **ret, cassette_sink_fn sink, void *ctx)
{
    struct cassette_writer *w = calloc(1, sizeof *w);
    if (w == NULL)
        return MI_ENOMEM;
    w->sink = sink;
    w->ctx = ctx;
    *ret = w;
    return 0;
}

void cassette_write_close(struct cassette_writer *w)
{
    if (w == NULL)
        return;
    buf_close(&w->out);
    buf_close(&w->body);
    buf_close(&w->scratch);
    pairing_close(&w->pairing);
    free(w->seqs);
    free(w);
}

static int flush(struct cassette_writer *w, size_t more_than)
{
    if (w->out.failed)
        return MI_ENOMEM;
    if (w->out.n <= more_than)
        return 0;
    bool taken = w->sink(w->ctx, buf_slice(&w->out));
    buf_clear(&w->out);
    return taken ? 0 : MI_EIO;
}

static void add_text(struct buf *b, const char *name, struct slice text)
{
    if (text.p == NULL)
        return;
    buf_printf(b, ",\"%s\":", name);
    text_json(b, text);
}

static void add_number(struct buf *b, const char *name, int64_t n)
{
    buf_printf(b, ",\"%s\":%lld", name, (long long)n);
}

/* ---- header and end ---- */

int cassette_write_session(struct cassette_writer *w, const struct query_session *s)
{
    struct buf *b = &w->out;
    buf_printf(b, "{\"format\":\"" CASSETTE_FORMAT "\",\"version\":%d", CASSETTE_VERSION);
    add_text(b, "name", s->name);
    add_text(b, "client_name", s->client_name);
    add_text(b, "client_version", s->client_version);
    add_text(b, "server_name", s->server_name);
    add_text(b, "server_version", s->server_version);
    add_text(b, "protocol_version", s->protocol_version);
    if (s->started_at_us != 0)
        add_number(b, "started_at_us", s->started_at_us);
    if (s->ended_at_us != 0)
        add_number(b, "ended_at_us", s->ended_at_us);
    add_text(b, "end_reason", s->end_reason);
    if (s->has_exit_status)
        add_number(b, "exit_status", s->exit_status);
    add_text(b, "record_level", s->record_level);
    if (s->redact_rules.p != NULL) {
        buf_adds(b, ",\"redact_rules\":");
        text_json_again(b, s->redact_rules);
    }
    buf_adds(b, "}\n");
    return flush(w, FLUSH_BYTES);
}

int cassette_write_end(struct cassette_writer *w)
{
    buf_printf(&w->out, "{\"end\":true,\"messages\":%zu}\n", w->n);
    return flush(w, 0);
}

/* ---- a message ---- */

/* The place that a message of the session has in the file: 1, 2, 3…; 0: it is not there. */
static int64_t place_of(const struct cassette_writer *w, int64_t seq)
{
    size_t from = 0, to = w->n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (w->seqs[mid] < seq)
            from = mid + 1;
        else
            to = mid;
    }
    return seq > 0 && from < w->n && w->seqs[from] == seq ? (int64_t)from + 1 : 0;
}

static int keep_seq(struct cassette_writer *w, int64_t seq)
{
    if (!ROOM(w->seqs, w->n, w->cap))
        return MI_ENOMEM;
    w->seqs[w->n++] = seq;
    return 0;
}

/* The body in w->body as a reader will have it. *ret_is_msg: as JSON, else as a string. */
static void shape_body(struct cassette_writer *w, const struct query_message *m, bool *ret_is_msg)
{
    struct json_scan scan;
    buf_clear(&w->body);
    *ret_is_msg = false;
    if (!slice_is(m->kind, "stderr") && json_scan(m->body, NULL, NULL, &scan) == 0) {
        /* one level deeper it must still be JSON that can be read: the line is an object */
        buf_adds(&w->body, "[");
        text_json_again(&w->body, scan.root);
        buf_adds(&w->body, "]");
        *ret_is_msg = json_scan(buf_slice(&w->body), NULL, NULL, &scan) == 0;
    }
    if (*ret_is_msg)
        return;
    buf_clear(&w->body);
    text_utf8(&w->body, m->body);
}

static struct slice shaped(const struct cassette_writer *w, bool is_msg)
{
    struct slice s = buf_slice(&w->body);
    return is_msg && s.n >= 2 ? (struct slice){s.p + 1, s.n - 2} : s;
}

/* What the message does not say by itself, in the order of docs/cassette.md. */
static void add_told(struct buf *b, const struct query_message *m, const struct cassette_derived *d,
                     int64_t re, int64_t derived_re, bool is_member, size_t body_n)
{
    if (!slice_eq(m->kind, d->kind))
        add_text(b, "kind", m->kind);
    if (!slice_is(m->origin, "peer"))
        add_text(b, "origin", m->origin);
    if (!slice_is(m->action, "forwarded"))
        add_text(b, "action", m->action);
    if (m->size >= 0 && m->size != (int64_t)body_n)
        add_number(b, "size", m->size);
    if (m->redactions != 0)
        add_number(b, "redactions", m->redactions);
    if (re != derived_re)
        add_number(b, "re", re);
    if (is_member)
        buf_adds(b, ",\"member\":true");
    add_text(b, "finding", m->finding);
    if (m->rpc_id.p != NULL && !slice_eq(m->rpc_id, d->rpc_id)) {
        buf_adds(b, ",\"id\":");
        text_json_again(b, m->rpc_id);
    }
    if (m->method.p != NULL && !slice_eq(m->method, d->method))
        add_text(b, "method", m->method);
    if (m->target.p != NULL && !slice_eq(m->target, d->target))
        add_text(b, "target", m->target);
    if (m->has_error_code && (!d->has_error_code || m->error_code != d->error_code))
        add_number(b, "code", m->error_code);
}

static void add_body(struct buf *b, struct slice body, bool is_msg)
{
    if (is_msg) {
        buf_adds(b, ",\"msg\":");
        buf_slice_add(b, body);
    } else {
        add_text(b, "text", body);
    }
    buf_adds(b, "}\n");
}

int cassette_write_message(struct cassette_writer *w, const struct query_message *m)
{
    struct cassette_derived d;
    struct slice body = {0};
    bool is_msg = false;
    if (m->body.p != NULL) {
        shape_body(w, m, &is_msg);
        body = shaped(w, is_msg);
    }
    if (w->body.failed || cassette_derive(body, slice_is(m->kind, "stderr"), &w->scratch, &d) < 0)
        return MI_ENOMEM;
    bool from_client = slice_is(m->direction, "c2s");
    int64_t re = place_of(w, m->request_seq);
    int64_t derived_re = 0;
    int64_t place = (int64_t)w->n + 1;
    cassette_stand_in(m, &d);
    if (pairing_look(&w->pairing, from_client, &d.rpc, &derived_re) < 0)
        return MI_ENOMEM;
    struct buf *b = &w->out;
    buf_printf(b, "{\"t\":%lld,\"dir\":\"%s\"", (long long)m->t_us, from_client ? "c2s" : "s2c");
    bool is_member =
        m->batch_seq > 0 && w->last_batch > 0 && place_of(w, m->batch_seq) == w->last_batch;
    if (m->body.p == NULL) {
        d.kind = (struct slice){0}; /* nothing says what it is: the line must */
        d.rpc_id = d.method = d.target = (struct slice){0};
    }
    add_told(b, m, &d, re, derived_re, is_member, body.n);
    if (m->body.p != NULL)
        add_body(b, body, is_msg);
    else
        buf_adds(b, "}\n");
    if (slice_is(m->kind, "batch"))
        w->last_batch = place;
    if (keep_seq(w, m->seq) < 0 || pairing_note(&w->pairing, from_client, &d.rpc, place, m->t_us,
                                                m->method, m->target, (struct slice){0}, re) < 0)
        return MI_ENOMEM;
    return flush(w, FLUSH_BYTES);
}

/* ---- all of a session ---- */

struct writing {
    struct query *q;
    const struct query_session *s;
    struct cassette_writer *w;
    struct buf large; /* owned */
    unsigned flags;
    int status;
};

static bool on_message(void *ctx, const struct query_message *m)
{
    struct writing *wr = ctx;
    struct query_message whole = *m;
    if ((wr->flags & CASSETTE_NO_STDERR) != 0 && slice_is(m->kind, "stderr"))
        return true;
    if (m->is_large) {
        buf_clear(&wr->large);
        wr->status = query_body(wr->q, wr->s->uid, m, SIZE_MAX, &wr->large);
        whole.body = buf_slice(&wr->large);
    }
    if (wr->status == 0)
        wr->status = cassette_write_message(wr->w, &whole);
    return wr->status == 0;
}

static int write_all(struct writing *wr, const struct query_session *s)
{
    struct query_session whole = *s;
    struct query_summary sum;
    int st = query_summary(wr->q, s->id, false, &sum);
    if (st < 0)
        return st;
    if (whole.ended_at_us == 0) /* as an import will have it */
        whole.ended_at_us = s->started_at_us + sum.last_t_us;
    if (whole.ended_at_us < s->started_at_us)
        whole.ended_at_us = s->started_at_us; /* the wall clock was set back */
    st = cassette_write_session(wr->w, &whole);
    if (st == 0)
        st = query_timeline(wr->q, s->id, 0, sum.last_seq, on_message, NULL, wr);
    if (st == 0)
        st = wr->status;
    return st == 0 ? cassette_write_end(wr->w) : st;
}

int cassette_write(struct query *q, const struct query_session *s, unsigned flags,
                   cassette_sink_fn sink, void *ctx, struct buf *error)
{
    struct writing wr = {.q = q, .s = s, .flags = flags};
    int st = cassette_write_open(&wr.w, sink, ctx);
    if (st == 0)
        st = write_all(&wr, s);
    cassette_write_close(wr.w);
    buf_close(&wr.large);
    if (st == 0)
        return 0;
    buf_clear(error);
    buf_adds(error, st == MI_ENOMEM ? "no memory" : query_error(q));
    return st;
}
