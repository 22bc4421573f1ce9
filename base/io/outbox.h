/* outbox.h - the output queue for one peer: bytes are staged, then released, then written.
 *
 * Bytes are staged while the messages of a loop turn are read, released when they have been
 * recorded, and then written. Nothing is copied: a segment points into the chunk that the line was
 * read into.
 *
 * Owns      a reference to each chunk in the queue, until its bytes are written.
 * Units     staged, released and written are total bytes since outbox_open(). A message is written
 *           once `written` has reached the value that `staged` had just after the message was
 *           added.
 * Errors    MI_ENOMEM: nothing was staged. After outbox_discard_after_error() all bytes are dropped
 *           silently. The queue grows when it is half full, so that a short lack of memory does no
 *           harm.
 * Blocks    never: outbox_flush() stops at EAGAIN. */
#ifndef MI_BASE_IO_OUTBOX_H
#define MI_BASE_IO_OUTBOX_H

#include "base/chunk.h"
#include "base/io/stream.h"

struct segment {
    struct chunk *chunk; /* the segment owns a reference to this chunk */
    const char *p;
    size_t n;
};

struct outbox {
    struct segment *ring; /* ring buffer of segments; owned; cap is a power of two */
    size_t head, count, cap;
    uint64_t staged, released, written; /* total bytes; written <= released <= staged */
    /* bytes that `written` counts although outbox_discard_after_error() has dropped them */
    uint64_t lost;
    bool broken; /* outbox_discard_after_error() was called */
};

void outbox_open(struct outbox *o);
void outbox_close(struct outbox *o);
/* Makes room for the next outbox_add(). Returns true if that call will succeed. */
bool outbox_reserve(struct outbox *o);
MI_MUST int outbox_add(struct outbox *o, struct chunk *c, const char *p, size_t n);
MI_MUST int outbox_add_copy(struct outbox *o, struct slice s); /* copies s into a new chunk */
void outbox_release_staged_bytes(struct outbox *o);
/* Iterates over the staged bytes that are not released, oldest first, in pieces that never split
 * the bytes of one outbox_add(). *at starts at 0. Returns false when there are no more. Pieces are
 * valid until the outbox changes. */
bool outbox_next_staged_piece(const struct outbox *o, size_t *at, struct slice *ret);
/* Drops the staged bytes that were not released. */
void outbox_discard_staged_bytes(struct outbox *o);
/* Writes released bytes. Returns 0 if all are written, 1 if the peer accepts no more now, MI_EIO if
 * the peer has closed. */
MI_MUST int outbox_flush(struct outbox *o, const struct stream *to);
/* Drops all bytes in the queue, and all bytes that are added before outbox_reset(). */
void outbox_discard_after_error(struct outbox *o);
/* Prepares the outbox for a new peer, after outbox_discard_after_error(). */
void outbox_reset(struct outbox *o);
/* Counts n bytes as written. Must be called if n bytes of another queue are written to the same
 * peer before the bytes of this queue. */
void outbox_add_bytes_of_other_queue(struct outbox *o, uint64_t n);

/* Returns the number of bytes that the peer has accepted. */
static inline uint64_t outbox_count_accepted_bytes(const struct outbox *o)
{
    return o->written - o->lost;
}

/* Returns the number of bytes that are not written yet. */
static inline size_t outbox_count_bytes(const struct outbox *o)
{
    return (size_t)(o->staged - o->written);
}

#endif
