/* shape_pattern.h - a pattern of the user, kept from running away in a long text.
 *
 * Reach     a match has at most SHAPE_REACH bytes: the text is searched in pieces that overlap by so much, so
 *           no start of a match costs more than a piece. `^` and `$` are the ends of the text.
 * Limits    those of base/pattern.h. A piece in which one is passed counts as searched; after
 *           SHAPE_GIVE_UP of them the rest of the text does too, and a warning says so once.
 * Owns      its name and the compiled pattern.
 * Blocks    never. */
#ifndef MI_VAULT_SHAPE_PATTERN_H
#define MI_VAULT_SHAPE_PATTERN_H

#include "vault/shape.h"

#define SHAPE_REACH 2048
#define SHAPE_GIVE_UP 16

struct shape_pattern;

/* 0, MI_ENOMEM, or MI_EINVAL with a sentence in `error`. */
MI_MUST int shape_pattern_open(struct shape_pattern **ret, const char *name, const char *regex,
                               struct buf *error);
void shape_pattern_close(struct shape_pattern *p); /* NULL is fine */
/* The first hit at `from` or behind it. */
bool shape_pattern_next(struct shape_pattern *p, struct slice text, size_t from,
                        struct shape_hit *ret);

#endif
