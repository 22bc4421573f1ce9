/* excerpt.h - cuts two values around the first byte that differs.
 *
 * Owns      nothing: the results are parts of the values.
 * Blocks    never. Pure. */
#ifndef MI_CLI_DIFF_EXCERPT_H
#define MI_CLI_DIFF_EXCERPT_H

#include "base/base.h"

#define EXCERPT_MAX 200 /* maximum number of bytes shown of each value */

struct excerpt {
    struct slice text[2]; /* at most EXCERPT_MAX bytes; {NULL, 0} if the value is missing */
    /* the number of bytes left out at the beginning of both values; no character or escape is
     * split */
    size_t at;
    bool cut[2]; /* the end of the value is left out */
};

/* The values are JSON text; {NULL, 0} if a value is missing. */
struct excerpt excerpt_cut_around_difference(struct slice a, struct slice b);

#endif
