#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void buf_close(struct buf *b)
{
    free(b->p);
    size_t max = b->max;
    *b = (struct buf){.max = max};
}

void buf_clear(struct buf *b)
{
    b->n = 0;
    b->failed = false;
}

/* Reserves one byte more than n for the NUL of buf_str() and vsnprintf(). */
bool buf_reserve(struct buf *b, size_t n)
{
    size_t limit = b->max != 0 ? b->max : SIZE_MAX / 4;
    if (b->failed || b->n > limit || n > limit - b->n) {
        b->failed = true;
        return false;
    }
    if (b->cap - b->n > n)
        return true;
    size_t cap = b->cap < 64 ? 64 : b->cap;
    while (cap <= b->n + n)
        cap *= 2;
    char *p = realloc(b->p, cap);
    if (p == NULL) {
        b->failed = true;
        return false;
    }
    b->p = p;
    b->cap = cap;
    return true;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
    if (n == 0 || !buf_reserve(b, n))
        return;
    memcpy(b->p + b->n, p, n);
    b->n += n;
}

void buf_addc(struct buf *b, char c)
{
    if (!buf_reserve(b, 1))
        return;
    b->p[b->n++] = c;
}

void buf_adds(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_slice_add(struct buf *b, struct slice s)
{
    buf_add(b, s.p, s.n);
}

static void buf_add_decimal(struct buf *b, uint64_t u, bool minus)
{
    char d[24];
    size_t i = sizeof d;
    do {
        d[--i] = (char)('0' + u % 10);
        u /= 10;
    } while (u != 0);
    if (minus)
        d[--i] = '-';
    buf_add(b, d + i, sizeof d - i);
}

void buf_int(struct buf *b, int64_t v)
{
    buf_add_decimal(b, v < 0 ? (uint64_t)0 - (uint64_t)v : (uint64_t)v, v < 0);
}

void buf_add_uint(struct buf *b, uint64_t v)
{
    buf_add_decimal(b, v, false);
}

void buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    size_t room = b->failed ? 0 : b->cap - b->n;
    int need = vsnprintf(room > 0 ? b->p + b->n : NULL, room, fmt, ap);
    if (need < 0 || !buf_reserve(b, (size_t)need) ||
        ((size_t)need >= room && vsnprintf(b->p + b->n, (size_t)need + 1, fmt, again) != need))
        b->failed = true;
    else
        b->n += (size_t)need;
    va_end(again);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(b, fmt, ap);
    va_end(ap);
}

const char *buf_str(struct buf *b)
{
    if (b->n == 0 || !buf_reserve(b, 0))
        return "";
    b->p[b->n] = '\0';
    return b->p;
}
