/* intern.h - texts numbered in the order in which they first came: equal texts, equal numbers.
 *
 * Owns      copies of the texts; intern_close() frees them.
 * Errors    MI_ENOMEM: the text has no number, and those before keep theirs.
 * Lifetime  intern_text() is good until the next intern_add().
 * Blocks    never. */
#ifndef MI_BASE_INTERN_H
#define MI_BASE_INTERN_H

#include "base/buf.h"

struct intern {
    struct buf text; /* owned; all of them, one behind the other */
    size_t *from;    /* owned; n + 1 places in text: where each begins, and where the last ends */
    size_t n, from_cap; /* from_cap: places allocated */
    uint32_t *slot; /* owned; number + 1; 0: free. Its size is a power of 2, at most half full */
    size_t slots;
};

/* The number of a text. 0, or MI_ENOMEM. */
MI_MUST int intern_add(struct intern *t, struct slice text, uint32_t *ret);
struct slice intern_text(const struct intern *t, uint32_t number);
void intern_close(struct intern *t); /* and empty again */

#endif
