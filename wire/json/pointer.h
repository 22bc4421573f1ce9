/* pointer.h - writes and reads JSON Pointers (RFC 6901), and matches them while descending into a
 * value.
 *
 * Rules     `/arguments/path`, with ~0 for ~ and ~1 for /. As a pattern, the token `*` matches any
 *           member or element.
 * Owns      struct pointers owns the tokens, unescaped; pointers_close() frees them.
 * Limits    POINTERS_MAX pointers of POINTER_DEPTH_MAX tokens.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_JSON_POINTER_H
#define MI_WIRE_JSON_POINTER_H

#include "base/buf.h"

#define POINTERS_MAX 64
#define POINTER_DEPTH_MAX 32

/* ---- writing ---- */

void pointer_add(struct buf *b, struct slice token); /* "/token", escaped */
void pointer_add_index(struct buf *b, size_t index); /* "/12" */

/* ---- reading ---- */

/* Moves the next token, still escaped, from *rest to *ret_token. Returns false if *rest does not
 * begin with a slash. */
bool pointer_read_next_token(struct slice *rest, struct slice *ret_token);
/* Appends the unescaped token. Returns false if some ~ is not followed by 0 or 1; such a ~ is
 * copied unchanged. */
bool pointer_unescape(struct buf *b, struct slice token);

/* ---- matching ---- */

struct pointer {
    char *text; /* owned; contains the tokens */
    struct slice token[POINTER_DEPTH_MAX];
    size_t n;
};

struct pointers {
    struct pointer *list; /* owned */
    size_t n;
};

/* a set of pointers, as one bit for each pointer that matches so far */
typedef uint64_t pointer_set;

/* Adds the pointer `below` followed by `text`; `below` may be "". Returns 0, MI_EINVAL or MI_EFULL
 * with a message in error, or MI_ENOMEM. */
MI_MUST int pointers_add(struct pointers *p, const char *below, struct slice text,
                         struct buf *error);
void pointers_close(struct pointers *p);

/* These functions return the pointers that match a position. At the root, all pointers match. One
 * level below, a pointer of the set `from` matches if its token at index `depth` names the member
 * or element. */
pointer_set pointers_select_at_root(const struct pointers *p);
pointer_set pointers_select_below_member(const struct pointers *p, pointer_set from, size_t depth,
                                         struct slice member);
pointer_set pointers_select_below_index(const struct pointers *p, pointer_set from, size_t depth,
                                        size_t index);
/* Whether at least one pointer of `set` has exactly `depth` tokens (0: the pointer is the root). */
bool pointers_any_ends_at_depth(const struct pointers *p, pointer_set set, size_t depth);

#endif
