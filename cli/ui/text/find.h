/* find.h - finds a text in a longer one, regardless of the case of ASCII letters.
 *
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_TEXT_FIND_H
#define MI_CLI_UI_TEXT_FIND_H

#include "base/base.h"

#define FIND_NONE SIZE_MAX

/* The first place from `from` on; FIND_NONE. An empty needle is found nowhere. */
size_t find_next(struct slice text, size_t from, struct slice needle);
/* The last place that begins before `before`; FIND_NONE. */
size_t find_last(struct slice text, size_t before, struct slice needle);

#endif
