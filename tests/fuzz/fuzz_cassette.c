/* Any file: it is read, or rejected with its name and line. A session that was read and written again reads
 * as the same session, and writing it once more gives the same bytes. */
#include "vault/cassette/cassette_file.h"

#include "tests/fuzz/fuzz.h"

struct copy {
    struct cassette_writer *w;
    struct buf out;
    int64_t seq, t_us;
    bool begun;
};

static bool take(void *ctx, struct slice lines)
{
    struct copy *c = ctx;
    buf_slice_add(&c->out, lines);
    return !c->out.failed;
}

static bool on_session(void *ctx, const struct query_session *s)
{
    struct copy *c = ctx;
    MUST(!c->begun && s->name.p != NULL && s->record_level.p != NULL);
    c->begun = true;
    return cassette_write_session(c->w, s) == 0;
}

static bool on_message(void *ctx, const struct query_message *m)
{
    struct copy *c = ctx;
    MUST(c->begun && m->seq == ++c->seq && m->t_us >= c->t_us && m->request_seq < m->seq &&
         m->batch_seq < m->seq && !m->is_large && m->size >= 0 && m->kind < KIND_UNKNOWN &&
         m->direction < ROW_DIRECTION_UNKNOWN && m->origin < ROW_ORIGIN_UNKNOWN &&
         m->action < ROW_ACTION_UNKNOWN);
    c->t_us = m->t_us;
    return cassette_write_message(c->w, m) == 0;
}

/* Reads text, and writes the session to c->out. */
static int copy_of(struct slice text, struct copy *c, struct buf *error)
{
    *c = (struct copy){0};
    MUST(cassette_write_open(&c->w, take, c) == 0);
    int st = cassette_read_text("f", text, on_session, on_message, c, error);
    if (st == 0)
        MUST(cassette_write_end(c->w) == 0);
    cassette_write_close(c->w);
    return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = {(const char *)data, size};
    struct buf error = {0};
    struct copy first, second, third;
    int st = copy_of(text, &first, &error);
    MUST(st == 0 || (st == MI_EINVAL && slice_begins(buf_slice(&error), "f:")));
    if (st == 0) {
        MUST(copy_of(buf_slice(&first.out), &second, &error) == 0 && second.seq == first.seq);
        MUST(copy_of(buf_slice(&second.out), &third, &error) == 0);
        MUST(slice_eq(buf_slice(&third.out), buf_slice(&second.out)));
        buf_close(&second.out);
        buf_close(&third.out);
    }
    buf_close(&first.out);
    buf_close(&error);
    return 0;
}
