/* write.c - writes a session as a cassette. */
#include "vault/cassette/cassette_file.h"

#include "base/grow.h"
#include "base/json_out.h"
#include "base/search.h"
#include "base/text.h"
#include "vault/cassette/message_line.h"
#include "vault/cassette/pairing.h"

#include <stdlib.h>

#define FLUSH_BYTES ((size_t)256 << 10)

struct cassette_writer {
    cassette_sink_fn sink;
    void *ctx;
    struct buf out;     /* owned; lines that were not passed to the sink yet */
    struct buf body;    /* owned; scratch of prepare_body() */
    struct buf scratch; /* owned */
    struct pairing pairing;
    int64_t *seqs; /* owned; for each message in the file: its seq in the vault */
    size_t n, cap;
    int64_t last_batch; /* number of the last message that is a JSON-RPC batch; 0: none */
    int64_t last_t_us;  /* time of the last message written */
    int version;        /* version of the format that is written */
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

static int cassette_write_flush(struct cassette_writer *w, size_t more_than)
{
    if (w->out.failed)
        return MI_ENOMEM;
    if (w->out.n <= more_than)
        return 0;
    bool taken = w->sink(w->ctx, buf_slice(&w->out));
    buf_clear(&w->out);
    return taken ? 0 : MI_EIO;
}

/* ---- header and end ---- */

/* Returns the first version of the format that can contain the session. */
static int find_oldest_format_for_session(const struct query_session *s)
{
    int version = s->has_revisions ? CASSETTE_REVISIONS : 1;
    for (size_t i = 0; i < fields_of_session.n; i++) {
        const struct record_field *f = &fields_of_session.list[i];
        if (f->cassette > version && field_get(f, s).type != CELL_NULL)
            version = f->cassette;
    }
    return version;
}

int cassette_write_session(struct cassette_writer *w, const struct query_session *s)
{
    struct json_out j = json_out_to(&w->out);
    w->version = find_oldest_format_for_session(s);
    json_out_object(&j, NULL);
    json_out_str(&j, "format", CASSETTE_FORMAT);
    json_out_int(&j, "version", w->version);
    for (const struct record_field *f = fields_of_session.list;
         f < fields_of_session.list + fields_of_session.n; f++) {
        struct cell c = field_get(f, s);
        bool unknown = c.type == CELL_NULL || (f->type == VALUE_TIME && c.number == 0);
        if (f->cassette == 0 || unknown)
            continue;
        if (f->type == VALUE_JSON)
            json_out_add_visible_json(&j, f->name, c.text);
        else if (c.type == CELL_TEXT)
            json_out_text(&j, f->name, c.text);
        else
            json_out_int(&j, f->name, c.number);
    }
    json_out_end(&j);
    json_out_line(&j);
    return cassette_write_flush(w, FLUSH_BYTES);
}

int cassette_write_end(struct cassette_writer *w)
{
    struct json_out j = json_out_to(&w->out);
    json_out_object(&j, NULL);
    json_out_bool(&j, "end", true);
    json_out_uint(&j, "messages", w->n);
    json_out_end(&j);
    json_out_line(&j);
    return cassette_write_flush(w, 0);
}

/* ---- a message ---- */

/* Returns the number of a message in the file: 1, 2, 3…; 0 if it is not in the file. */
static int64_t cassette_find_message_number(const struct cassette_writer *w, int64_t seq)
{
    size_t at = search_int64(w->seqs, w->n, sizeof *w->seqs, 0, seq);
    return seq > 0 && at < w->n && w->seqs[at] == seq ? (int64_t)at + 1 : 0;
}

/* Sets w->body to the body for the line. If *ret_is_msg is true, w->body is JSON within [ and ],
 * and the caller removes these brackets. Otherwise w->body is text. */
static void prepare_body(struct cassette_writer *w, const struct query_message *m, bool *ret_is_msg)
{
    struct json_scan scan;
    buf_clear(&w->body);
    *ret_is_msg = false;
    if (m->kind != KIND_STDERR && json_scan(m->body, NULL, NULL, &scan) == 0) {
        /* In a line of the cassette, the body is one level deeper. Other parsers must be able to
         * read the line, so scan the body at that depth. */
        buf_adds(&w->body, "[");
        text_append_visible_json(&w->body, scan.root);
        buf_adds(&w->body, "]");
        *ret_is_msg = json_scan(buf_slice(&w->body), NULL, NULL, &scan) == 0 && !scan.deep;
    }
    if (*ret_is_msg)
        return;
    buf_clear(&w->body);
    text_append_valid_utf8(&w->body, m->body);
}

int cassette_write_message(struct cassette_writer *w, const struct query_message *m)
{
    struct cassette_derived d;
    struct query_message line = *m;
    bool is_msg = false;
    if (m->body.p != NULL) {
        prepare_body(w, m, &is_msg);
        struct slice s = buf_slice(&w->body);
        line.body = is_msg && s.n >= 2 ? (struct slice){s.p + 1, s.n - 2} : s;
    }
    if (w->body.failed ||
        cassette_derive_message_values(line.body, m->kind == KIND_STDERR, &w->scratch, &d) < 0)
        return MI_ENOMEM;
    bool from_client = m->direction == ROW_C2S;
    int64_t re = cassette_find_message_number(w, m->request_seq);
    int64_t derived_re = 0, oldest_re = 0;
    int64_t number = (int64_t)w->n + 1;
    cassette_derive_from_row(m, &d);
    if (pairing_find_request(&w->pairing, PAIRING_NEWEST, from_client, &d.rpc, &derived_re) < 0 ||
        pairing_find_request(&w->pairing, PAIRING_OLDEST, from_client, &d.rpc, &oldest_re) < 0)
        return MI_ENOMEM;
    if (m->body.p == NULL)
        /* the kind cannot be derived from the body, so the line must contain it */
        d.kind = KIND_UNKNOWN;
    /* `re` is also written if several requests with this id are pending, because readers may choose
     * different requests. */
    bool says_re = re != derived_re || re != oldest_re;
    line.request_seq = says_re ? re : -1;
    /* Times may be out of order: a call that had to wait is recorded with the time of its
     * arrival. */
    if (line.t_us < w->last_t_us)
        line.t_us = w->last_t_us;
    w->last_t_us = line.t_us;
    line.batch_seq = m->batch_seq > 0 && w->last_batch > 0 &&
                     cassette_find_message_number(w, m->batch_seq) == w->last_batch;
    struct json_out j = json_out_to(&w->out);
    message_line_write(&j, w->version, &line, &d, is_msg);
    json_out_line(&j);
    if (m->kind == KIND_BATCH)
        w->last_batch = number;
    if (!GROW(w->seqs, w->n, w->cap))
        return MI_ENOMEM;
    w->seqs[w->n++] = m->seq;
    if (pairing_add_message(&w->pairing, from_client, &d.rpc, number, m->t_us, m->method, m->target,
                            m->action, re) < 0)
        return MI_ENOMEM;
    return cassette_write_flush(w, FLUSH_BYTES);
}

/* ---- a whole session ---- */

struct writing {
    struct query *q;
    const struct query_session *s;
    struct cassette_writer *w;
    struct buf large; /* owned */
    unsigned flags;
    int status;
};

static bool cassette_write_on_message(void *ctx, const struct query_message *m)
{
    struct writing *wr = ctx;
    struct query_message copy = *m;
    if ((wr->flags & CASSETTE_NO_STDERR) != 0 && m->kind == KIND_STDERR)
        return true;
    if (m->is_large) {
        buf_clear(&wr->large);
        wr->status = query_body(wr->q, wr->s->uid, m, SIZE_MAX, &wr->large);
        copy.body = buf_slice(&wr->large);
    }
    if (wr->status == 0)
        wr->status = cassette_write_message(wr->w, &copy);
    return wr->status == 0;
}

static int write_whole_session(struct writing *wr, const struct query_session *s)
{
    struct query_session copy = *s;
    int64_t last_seq, last_t_us;
    int st = query_last_message(wr->q, s->id, &last_seq, &last_t_us);
    if (st == 0)
        st = query_messages_have_revisions(wr->q, s->id, &copy.has_revisions);
    if (st < 0)
        return st;
    /* no end was recorded: use the time of the last message, as import.c does */
    if (copy.ended_at_us == 0)
        copy.ended_at_us = s->started_at_us + last_t_us;
    if (copy.ended_at_us < s->started_at_us)
        copy.ended_at_us = s->started_at_us; /* the wall clock was set back during the session */
    st = cassette_write_session(wr->w, &copy);
    if (st == 0)
        st = query_timeline(wr->q, s->id, 0, last_seq, cassette_write_on_message, NULL, wr);
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
        st = write_whole_session(&wr, s);
    cassette_write_close(wr.w);
    buf_close(&wr.large);
    if (st == 0)
        return 0;
    buf_clear(error);
    buf_adds(error, st == MI_ENOMEM ? "out of memory" : query_error(q));
    return st;
}
