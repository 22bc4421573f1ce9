/* intern.h - numbers texts from 0 in the order of their first occurrence; equal texts have equal
 * numbers.
 *
 * Owns      copies of the texts; intern_close() frees them.
 * Errors    MI_ENOMEM: the text gets no number; earlier numbers are unchanged.
 * Lifetime  the result of intern_get_text() is valid until the next intern_add().
 * Blocks    never. */
#ifndef MI_BASE_INTERN_H
#define MI_BASE_INTERN_H

#include "base/buf.h"

struct intern {
    struct buf text; /* owned; all texts, concatenated */
    /* owned; n + 1 offsets in text.p: the start of each text, and the end of the last text */
    size_t *from;
    size_t n, from_cap; /* number of texts; number of offsets for which memory is allocated */
    /* owned; the hash table: a slot is 0 if it is free, otherwise the number of a text + 1; at most
     * half of the slots are used */
    uint32_t *slot;
    size_t slots; /* size of the hash table: a power of 2 */
};

/* Adds the text if it is new. *ret is its number. Returns 0 or MI_ENOMEM. */
MI_MUST int intern_add(struct intern *t, struct slice text, uint32_t *ret);
/* Finds the number of a text. Returns false if the text was not added. */
MI_MUST bool intern_find(const struct intern *t, struct slice text, uint32_t *ret);
struct slice intern_get_text(const struct intern *t, uint32_t number);
void intern_close(struct intern *t); /* leaves the table empty */

#endif
