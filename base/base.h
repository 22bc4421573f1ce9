/* base.h - status codes, slices and attributes that every file uses.
 *
 * Status    0 is success, negative is one of enum mi_status. Results are written only on success.
 * Slices    a pointer and a length, borrowed, not NUL-terminated. {NULL, 0} means "missing"; an
 *           empty slice has a pointer. */
#ifndef MI_BASE_BASE_H
#define MI_BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MI_MUST __attribute__((warn_unused_result))
#define MI_FORMAT(fmt, first) __attribute__((format(printf, fmt, first)))
#define MI_UNUSED __attribute__((unused))
#define MI_COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum mi_status {
    MI_OK = 0,
    MI_ENOMEM = -1, /* an allocation failed */
    MI_EIO = -2,    /* a system call failed; see errno */
    MI_EFULL = -3,  /* a bounded table or queue is full */
    MI_EPROTO = -4, /* the peer's bytes violate the protocol */
    MI_ESTORE = -5, /* the store could not save something */
    MI_EINVAL = -6, /* an argument, option or file is invalid */
    MI_ENOENT = -7, /* an object does not exist, or there are no more objects */
    MI_EBUSY = -8,  /* another process holds a lock */
};

struct slice {
    const char *p; /* borrowed, not NUL-terminated; NULL: missing */
    size_t n;      /* bytes */
};

static inline struct slice slice_of(const char *s)
{
    return (struct slice){s, strlen(s)};
}

static inline bool slice_is(struct slice s, const char *text)
{
    size_t n = strlen(text);
    return s.n == n && memcmp(s.p, text, n) == 0;
}

static inline bool slice_eq(struct slice a, struct slice b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool slice_begins(struct slice s, const char *text)
{
    size_t n = strlen(text);
    return s.n >= n && memcmp(s.p, text, n) == 0;
}

/* Takes the first line off the text, and returns it without its '\n'. */
static inline struct slice slice_take_line(struct slice *rest)
{
    const char *end = rest->n > 0 ? memchr(rest->p, '\n', rest->n) : NULL;
    struct slice line = {rest->p, end != NULL ? (size_t)(end - rest->p) : rest->n};
    size_t n = line.n + (end != NULL);
    *rest = (struct slice){rest->p + n, rest->n - n};
    return line;
}

/* Returns the last occurrence of a character, or NULL. */
static inline const char *slice_find_last(struct slice s, char c)
{
    for (size_t i = s.n; i > 0; i--)
        if (s.p[i - 1] == c)
            return s.p + i - 1;
    return NULL;
}

static inline size_t size_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Compares by bytes, like strcmp(). A text sorts before a longer text that begins with it. */
static inline int slice_cmp(struct slice a, struct slice b)
{
    size_t n = size_min(a.n, b.n);
    int order = n > 0 ? memcmp(a.p, b.p, n) : 0;
    return order != 0 ? order : (a.n > b.n) - (a.n < b.n);
}

#endif
