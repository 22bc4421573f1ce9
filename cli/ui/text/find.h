/* find.h - finds a text in a longer text, regardless of the case of ASCII letters.
 *
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_TEXT_FIND_H
#define MI_CLI_UI_TEXT_FIND_H

#include "base/base.h"

#define FIND_NONE SIZE_MAX

/* Returns the offset of the first match at or after `from`, or FIND_NONE. An empty needle has no
 * match. */
size_t find_next_match(struct slice text, size_t from, struct slice needle);
/* Returns the offset of the last match that begins before `before`, or FIND_NONE. */
size_t find_last_match(struct slice text, size_t before, struct slice needle);

#endif
