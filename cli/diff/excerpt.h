/* excerpt.h - two values that differ, each cut around the first place that differs.
 *
 * Owns      nothing: the results are parts of the values.
 * Blocks    never. Pure. */
#ifndef MI_CLI_DIFF_EXCERPT_H
#define MI_CLI_DIFF_EXCERPT_H

#include "base/base.h"

#define EXCERPT_MAX 200 /* bytes kept of each value */

struct excerpt {
    struct slice text[2]; /* at most EXCERPT_MAX bytes; {NULL, 0}: missing */
    size_t at;   /* bytes left out before both; neither a character nor an escape is split */
    bool cut[2]; /* something is left out after it */
};

/* The values are JSON text; {NULL, 0}: missing. */
struct excerpt excerpt_of(struct slice a, struct slice b);

#endif
