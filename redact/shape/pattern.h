/* pattern.h - searches long texts for a user's regular expression, in bounded time.
 *
 * Reach     a match has at most SHAPE_REACH bytes: the text is searched in pieces that overlap by
 *           that much. `^` and `$` match at the ends of the text only.
 * Limits    those of base/pattern.h. A piece that exceeds a limit is skipped; after SHAPE_GIVE_UP
 *           such pieces the rest of the text is not searched, and a warning is logged once per
 *           pattern.
 * Owns      the name and the compiled pattern.
 * Blocks    never. */
#ifndef MI_REDACT_SHAPE_PATTERN_H
#define MI_REDACT_SHAPE_PATTERN_H

#include "redact/shape/find.h"

#define SHAPE_REACH 2048 /* bytes */
#define SHAPE_GIVE_UP 16 /* pieces */

struct shape_pattern;

/* Returns 0, MI_ENOMEM, or MI_EINVAL with a message in `error`. */
MI_MUST int shape_pattern_open(struct shape_pattern **ret, const char *name, const char *regex,
                               struct buf *error);
void shape_pattern_close(struct shape_pattern *p); /* accepts NULL */
/* Finds the first hit at or after `from`. */
bool shape_pattern_find_next_hit(struct shape_pattern *p, struct slice text, size_t from,
                                 struct shape_hit *ret);

#endif
