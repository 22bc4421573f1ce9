/* buf.h - a byte buffer that grows.
 *
 * Owns      its bytes; buf_close() frees them and leaves an empty buffer.
 * Errors    sticky: if an allocation fails, or `max` is exceeded, `failed` is set, and this call
 *           and all later ones append nothing. The caller checks `failed` once, at the end.
 * Lifetime  the result of buf_slice() is valid until the next append.
 * Blocks    never. */
#ifndef MI_BASE_BUF_H
#define MI_BASE_BUF_H

#include "base/base.h"

#include <stdarg.h>

struct buf {
    char *p;     /* the bytes; owned; NULL while cap is 0 */
    size_t n;    /* bytes used */
    size_t cap;  /* bytes allocated */
    size_t max;  /* maximum of `n`; 0: no limit */
    bool failed; /* an append was dropped: the content is incomplete */
};

void buf_close(struct buf *b);
void buf_clear(struct buf *b); /* empties the buffer, keeps its memory, resets `failed` */
/* Makes room for n more bytes. Returns true if there is room; otherwise sets `failed`, and returns
 * false. */
MI_MUST bool buf_reserve(struct buf *b, size_t n);
void buf_add(struct buf *b, const void *p, size_t n);
void buf_addc(struct buf *b, char c);
void buf_adds(struct buf *b, const char *s);
void buf_slice_add(struct buf *b, struct slice s);
/* Append a number in decimal. */
void buf_int(struct buf *b, int64_t v);
void buf_add_uint(struct buf *b, uint64_t v);
void buf_printf(struct buf *b, const char *fmt, ...) MI_FORMAT(2, 3);
void buf_vprintf(struct buf *b, const char *fmt, va_list ap) MI_FORMAT(2, 0);
/* Returns the content, NUL-terminated; "" if the buffer is empty or has failed. Valid until the
 * next append. */
const char *buf_str(struct buf *b);

static inline struct slice buf_slice(const struct buf *b)
{
    return (struct slice){b->p != NULL ? b->p : "", b->n};
}

#endif
