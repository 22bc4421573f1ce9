/* buf.h - bytes that grow.
 *
 * Owns      its bytes; buf_close() frees them and leaves an empty buffer.
 * Errors    sticky: after a failed allocation, or past `max`, every add is a no-op and `failed` is
 *           true. A builder adds as it likes and looks once, at the end.
 * Lifetime  buf_slice() is borrowed until the next add.
 * Blocks    never. */
#ifndef MI_BASE_BUF_H
#define MI_BASE_BUF_H

#include "base/base.h"

struct buf {
    char *p;     /* owned; NULL while cap is 0 */
    size_t n;    /* bytes used */
    size_t cap;  /* bytes allocated */
    size_t max;  /* most bytes it may ever hold; 0: no limit of its own */
    bool failed; /* an add was dropped: the content is not whole */
};

void buf_close(struct buf *b);
void buf_clear(struct buf *b); /* empty again, memory kept, failed reset */
/* Makes n more bytes addable without a further look. */
MI_MUST bool buf_room(struct buf *b, size_t n);
void buf_add(struct buf *b, const void *p, size_t n);
void buf_addc(struct buf *b, char c);
void buf_adds(struct buf *b, const char *s);
void buf_slice_add(struct buf *b, struct slice s);
void buf_int(struct buf *b, int64_t v); /* decimal */
void buf_printf(struct buf *b, const char *fmt, ...) MI_FORMAT(2, 3);
const char *buf_str(struct buf *b); /* NUL-ended view; "" when failed or empty */

static inline struct slice buf_slice(const struct buf *b)
{
    return (struct slice){b->p != NULL ? b->p : "", b->n};
}

#endif
