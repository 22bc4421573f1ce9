/* outbox.h - what is to be written to one peer: staged, then released, then written.
 *
 * Bytes are staged while a turn is read, released when the turn is committed, and only released bytes
 * are written. Nothing is copied: a segment points into the chunk that the line was read into.
 *
 * Owns      a reference on each chunk in the queue, until its bytes are written.
 * Units     the three totals count bytes since outbox_open(); a message has been written when `written`
 *           has passed the value of `staged` just after it was staged.
 * Errors    MI_ENOMEM: nothing was staged. After outbox_break() everything is dropped silently.
 * Blocks    never: outbox_flush() stops at EAGAIN. */
#ifndef MI_BASE_OUTBOX_H
#define MI_BASE_OUTBOX_H

#include "base/chunk.h"
#include "base/stream.h"

struct segment {
    struct chunk *chunk; /* held */
    const char *p;
    size_t n;
};

struct outbox {
    struct segment *ring; /* owned; cap is a power of two */
    size_t head, count, cap;
    uint64_t staged, released, written; /* written <= released <= staged */
    uint64_t lost;                      /* of `written`: what outbox_break() dropped */
    const char *spent; /* start of the first segment's bytes that are written but not given back */
    bool broken;       /* the peer will take no more */
};

void outbox_open(struct outbox *o);
void outbox_close(struct outbox *o);
MI_MUST int outbox_add(struct outbox *o, struct chunk *c, const char *p, size_t n);
MI_MUST int outbox_add_copy(struct outbox *o, struct slice s); /* into a chunk of its own */
void outbox_release(struct outbox *o);
/* What is staged and not released, oldest first and in pieces that begin and end where an add did.
 * *at starts at 0. False: no more. Borrowed until the outbox changes. */
bool outbox_staged(const struct outbox *o, size_t *at, struct slice *ret);
void outbox_drop_staged(struct outbox *o); /* what has not been released is forgotten */
/* Writes what it can. 0: nothing released is left; 1: the peer takes no more now; MI_EIO: it is gone. */
MI_MUST int outbox_flush(struct outbox *o, const struct stream *to);
void outbox_break(struct outbox *o);
void outbox_mend(struct outbox *o); /* what is staged from now on is for another peer */

/* Bytes that the peer's pipe took. */
static inline uint64_t outbox_taken(const struct outbox *o)
{
    return o->written - o->lost;
}

static inline size_t outbox_bytes(const struct outbox *o)
{
    return (size_t)(o->staged - o->written);
}

#endif
