/* pointer.h - JSON Pointers (RFC 6901) as `--ignore` takes them, and as reports print them.
 *
 * Rules     `/arguments/path`, with ~0 for ~ and ~1 for /. A token `*` stands for any one level. The root
 *           is the params of a request. What is at or below an ignored place does not count.
 * Owns      the tokens, resolved; pointers_close() frees them.
 * Limits    POINTERS_MAX pointers of POINTER_DEPTH_MAX tokens.
 * Blocks    never. Pure. */
#ifndef MI_REPLAY_POINTER_H
#define MI_REPLAY_POINTER_H

#include "base/buf.h"

#define POINTERS_MAX 64
#define POINTER_DEPTH_MAX 32

struct pointer {
    char *text; /* owned; where the tokens lie */
    struct slice token[POINTER_DEPTH_MAX];
    size_t n;
};

struct pointers {
    struct pointer *list; /* owned */
    size_t n;
};

typedef uint64_t pointer_set; /* which of them still match on the way down */

/* 0; MI_EINVAL with a sentence in error; MI_EFULL; MI_ENOMEM. */
MI_MUST int pointers_add(struct pointers *p, const char *text, struct buf *error);
void pointers_close(struct pointers *p);

/* At the root: all of them. One level down, by the key or index: those that go on there. */
pointer_set pointers_root(const struct pointers *p);
pointer_set pointers_down(const struct pointers *p, pointer_set from, size_t depth,
                          struct slice token);
/* Does one of the set end at this depth (0: the root)? */
bool pointers_end(const struct pointers *p, pointer_set set, size_t depth);

/* Appends "/token", escaped. */
void pointer_print(struct buf *b, struct slice token);

#endif
