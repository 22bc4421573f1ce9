/* nearest.h - "did you mean": the name that is closest to a misspelt one.
 *
 * Blocks    never. Pure. */
#ifndef MI_BASE_NEAREST_H
#define MI_BASE_NEAREST_H

#include "base/base.h"

#define NEAREST_MAX 32 /* longer words are not compared */

struct nearest {
    const char *word; /* what was written */
    const char *best; /* NULL: nothing is near */
    size_t distance;  /* of best */
};

struct nearest nearest_to(const char *word);
/* Looks at one candidate; keeps it when it is nearer than those before and near enough. */
void nearest_try(struct nearest *n, const char *candidate);

#endif
