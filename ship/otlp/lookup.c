#include "ship/otlp/lookup.h"

/* number of bytes of a buffer that stay allocated after a large body was read */
#define BODY_KEPT ((size_t)1 << 20)

int lookup_set_error_if_failed(struct exporter *x, int st)
{
    if (st == 0 || st == MI_ENOMEM)
        return st;
    buf_clear(&x->error);
    buf_adds(&x->error, query_error(x->q));
    return MI_ESTORE;
}

struct slice lookup_read_body(struct exporter *x, const struct query_session *s,
                              const struct query_message *m, struct buf *b)
{
    if (!m->is_large)
        return m->body;
    if (b->cap > BODY_KEPT)
        buf_close(b);
    buf_clear(b);
    return query_body(x->q, s->uid, m, SIZE_MAX, b) == 0 ? buf_slice(b) : (struct slice){0};
}

int lookup_find_request(struct exporter *x, const struct query_session *s, int64_t seq,
                        query_message_fn fn, void *ctx)
{
    return lookup_set_error_if_failed(
        x, query_message_rows(x->q, s->id, seq, seq, QUERY_FORWARD, true, fn, ctx));
}
