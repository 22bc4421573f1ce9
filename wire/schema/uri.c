#include "wire/schema/uri.h"

/* The parts of a URI with their punctuation: "http:", "//host", "/path", "?query". */
struct uri {
    struct slice scheme, authority, path, query;
};

/* Cuts the first n bytes off *rest, and returns them. */
static struct slice schema_uri_split_head(struct slice *rest, size_t n)
{
    struct slice head = {rest->p, n};
    *rest = (struct slice){rest->p + n, rest->n - n};
    return head;
}

/* Returns the number of bytes that precede the first character of the set. */
static size_t uri_count_bytes_before_char(struct slice s, const char *set)
{
    size_t n = 0;
    while (n < s.n && strchr(set, s.p[n]) == NULL)
        n++;
    return n;
}

static struct uri uri_split(struct slice s)
{
    struct uri u = {0};
    if (s.n == 0)
        return u;
    size_t n = uri_count_bytes_before_char(s, ":/?");
    if (n > 0 && n < s.n && s.p[n] == ':')
        u.scheme = schema_uri_split_head(&s, n + 1);
    if (s.n >= 2 && memcmp(s.p, "//", 2) == 0)
        u.authority = schema_uri_split_head(
            &s, 2 + uri_count_bytes_before_char((struct slice){s.p + 2, s.n - 2}, "/?"));
    const char *query = s.n > 0 ? memchr(s.p, '?', s.n) : NULL;
    u.path = schema_uri_split_head(&s, query != NULL ? (size_t)(query - s.p) : s.n);
    u.query = s;
    return u;
}

/* Removes the segments "." and ".." from the path that begins at `from`. */
static void remove_dot_segments(struct buf *b, size_t from)
{
    size_t out = from, in = from;
    if (b->failed || b->n == from)
        return;
    if (b->p[in] == '/')
        out = in = from = from + 1;
    while (in < b->n) {
        const char *slash = memchr(b->p + in, '/', b->n - in);
        size_t n = slash != NULL ? (size_t)(slash - b->p) - in : b->n - in;
        size_t whole = n + (slash != NULL);
        if (n == 2 && memcmp(b->p + in, "..", 2) == 0) {
            if (out > from)
                out--; /* remove the slash at the end of the previous segment */
            while (out > from && b->p[out - 1] != '/')
                out--;
        } else if (n != 1 || b->p[in] != '.') {
            memmove(b->p + out, b->p + in, whole);
            out += whole;
        }
        in += whole;
    }
    b->n = out;
}

void uri_resolve(struct buf *b, struct slice base, struct slice ref)
{
    struct uri r = uri_split(ref), above = uri_split(base);
    bool whole = r.scheme.n > 0, host = whole || r.authority.n > 0;
    buf_slice_add(b, whole ? r.scheme : above.scheme);
    buf_slice_add(b, host ? r.authority : above.authority);
    size_t from = b->n;
    if (!host && r.path.n == 0) {
        buf_slice_add(b, above.path);
        buf_slice_add(b, r.query.n > 0 ? r.query : above.query);
        return;
    }
    if (!host && *r.path.p != '/') {
        const char *slash = above.path.n > 0 ? slice_find_last(above.path, '/') : NULL;
        if (slash != NULL)
            buf_add(b, above.path.p, (size_t)(slash - above.path.p) + 1);
        else if (above.authority.n > 0)
            buf_addc(b, '/');
    }
    buf_slice_add(b, r.path);
    /* the path of a base URI has no segments "." and "..", so only those of `ref` are removed */
    if (r.path.n > 0 && memchr(r.path.p, '.', r.path.n) != NULL)
        remove_dot_segments(b, from);
    buf_slice_add(b, r.query);
}
