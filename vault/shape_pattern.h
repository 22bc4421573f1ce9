/* shape_pattern.h - a pattern of the user: PCRE2 with JIT, kept from running away.
 *
 * Reach     a match has at most SHAPE_REACH bytes: the text is searched in pieces that overlap by so much, so
 *           no start of a match costs more than a piece. `^` and `$` are the ends of the text.
 * Limits    PCRE2's match limit. A piece in which it is passed counts as searched; after
 *           SHAPE_GIVE_UP of them the rest of the text does too, and a warning says so once.
 * Owns      the compiled code and its match data.
 * Blocks    never. */
#ifndef MI_VAULT_SHAPE_PATTERN_H
#define MI_VAULT_SHAPE_PATTERN_H

#include "vault/shape.h"

#define SHAPE_REACH 2048
#define SHAPE_GIVE_UP 16
#define SHAPE_PATTERN_MAX 4096 /* bytes of a pattern */

struct shape_pattern;

/* 0, MI_ENOMEM, or MI_EINVAL with a sentence in `error`. */
MI_MUST int shape_pattern_open(struct shape_pattern **ret, const char *name, const char *regex,
                               struct buf *error);
void shape_pattern_close(struct shape_pattern *p); /* NULL is fine */
/* The first hit at `from` or behind it. */
bool shape_pattern_next(struct shape_pattern *p, struct slice text, size_t from,
                        struct shape_hit *ret);

#endif
