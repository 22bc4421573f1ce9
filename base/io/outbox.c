#include "base/io/outbox.h"

#include <stdlib.h>
#include <sys/uio.h>

#define IOV_MOST 64

void outbox_open(struct outbox *o)
{
    *o = (struct outbox){0};
}

static struct segment *get_segment_at_index(const struct outbox *o, size_t i)
{
    return &o->ring[(o->head + i) & (o->cap - 1)];
}

static void outbox_drop_first_segment(struct outbox *o)
{
    chunk_release(get_segment_at_index(o, 0)->chunk);
    o->head = (o->head + 1) & (o->cap - 1);
    o->count--;
}

void outbox_discard_after_error(struct outbox *o)
{
    while (o->count > 0)
        outbox_drop_first_segment(o);
    o->lost += o->staged - o->written;
    o->written = o->released = o->staged;
    o->broken = true;
}

void outbox_reset(struct outbox *o)
{
    o->broken = false;
}

void outbox_add_bytes_of_other_queue(struct outbox *o, uint64_t n)
{
    o->staged += n;
    o->released += n;
    o->written += n;
}

void outbox_close(struct outbox *o)
{
    outbox_discard_after_error(o);
    free(o->ring);
    *o = (struct outbox){.broken = true};
}

static int outbox_grow(struct outbox *o)
{
    size_t cap = o->cap == 0 ? 16 : o->cap * 2;
    struct segment *ring = malloc(cap * sizeof *ring);
    if (ring == NULL)
        return MI_ENOMEM;
    for (size_t i = 0; i < o->count; i++)
        ring[i] = *get_segment_at_index(o, i);
    free(o->ring);
    o->ring = ring;
    o->cap = cap;
    o->head = 0;
    return 0;
}

/* Tries to grow when the queue is half full, so that a failed attempt can be repeated. */
bool outbox_reserve(struct outbox *o)
{
    bool grown = o->broken || o->count < o->cap / 2 || outbox_grow(o) == 0;
    return grown || o->count < o->cap;
}

int outbox_add(struct outbox *o, struct chunk *c, const char *p, size_t n)
{
    if (o->broken || n == 0)
        return 0;
    if (o->count > 0) {
        struct segment *last = get_segment_at_index(o, o->count - 1);
        if (last->chunk == c && last->p + last->n == p) {
            last->n += n;
            o->staged += n;
            return 0;
        }
    }
    if (!outbox_reserve(o))
        return MI_ENOMEM;
    *get_segment_at_index(o, o->count++) = (struct segment){chunk_add_reference(c), p, n};
    o->staged += n;
    return 0;
}

int outbox_add_copy(struct outbox *o, struct slice s)
{
    struct chunk *c = chunk_new(s.n);
    if (c == NULL)
        return MI_ENOMEM;
    memcpy(c->data, s.p, s.n);
    int st = outbox_add(o, c, c->data, s.n);
    chunk_release(c);
    return st;
}

void outbox_release_staged_bytes(struct outbox *o)
{
    o->released = o->staged;
}

bool outbox_next_staged_piece(const struct outbox *o, size_t *at, struct slice *ret)
{
    uint64_t end = o->written; /* end of segment i, in total bytes since outbox_open() */
    for (size_t i = 0; i < o->count; i++) {
        const struct segment *s = get_segment_at_index(o, i);
        end += s->n;
        if (i < *at || end <= o->released)
            continue;
        size_t n = end - s->n < o->released ? (size_t)(end - o->released) : s->n;
        *ret = (struct slice){s->p + (s->n - n), n};
        *at = i + 1;
        return true;
    }
    return false;
}

void outbox_discard_staged_bytes(struct outbox *o)
{
    while (o->staged > o->released) {
        struct segment *last = get_segment_at_index(o, o->count - 1);
        size_t extra = size_min(last->n, (size_t)(o->staged - o->released));
        last->n -= extra;
        o->staged -= extra;
        if (last->n == 0) {
            chunk_release(last->chunk);
            o->count--;
        }
    }
}

static size_t outbox_fill_iovec(const struct outbox *o, struct iovec *v)
{
    uint64_t left = o->released - o->written;
    size_t n = 0;
    for (; n < o->count && n < IOV_MOST && left > 0; n++) {
        const struct segment *s = get_segment_at_index(o, n);
        size_t len = s->n < left ? s->n : (size_t)left;
        v[n] = (struct iovec){.iov_base = (void *)(uintptr_t)s->p, .iov_len = len};
        left -= len;
    }
    return n;
}

static void outbox_remove_written_bytes(struct outbox *o, size_t n)
{
    o->written += n;
    while (n > 0) {
        struct segment *s = get_segment_at_index(o, 0);
        if (n >= s->n) {
            n -= s->n;
            outbox_drop_first_segment(o);
            continue;
        }
        s->p += n;
        s->n -= n;
        return;
    }
}

int outbox_flush(struct outbox *o, const struct stream *to)
{
    while (o->written < o->released) {
        struct iovec v[IOV_MOST];
        ssize_t n = stream_write(to, v, (int)outbox_fill_iovec(o, v));
        if (n < 0)
            return (int)n;
        if (n == 0)
            return 1;
        outbox_remove_written_bytes(o, (size_t)n);
    }
    return 0;
}
