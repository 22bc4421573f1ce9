/* shape_scan.h - finds the places of a text where the anchor of a rule may stand. Between the shape*.c files.
 *
 * Of each anchor three letters count, the last of its window. A bit for each three (six bits of each letter)
 * tells whether any anchor has them: exact enough that few places are looked at twice. Where the processor
 * has AVX2, 32 places at a time are tried before by the halves of their bytes: each anchor is in one of
 * sixteen groups, and a place where no group has all six halves is none. Neither way misses a place; both may
 * find one that is none, the plain one more of them.
 *
 * The tables are the process's own: filled once, then only read. Nothing blocks or fails. */
#ifndef MI_VAULT_SHAPE_SCAN_H
#define MI_VAULT_SHAPE_SCAN_H

#include "vault/shape_table.h"

/* From now on these three, each a class of letters, are found. */
void shape_scan_add(const struct shape_set three[3]);

/* A search of one text. */
struct shape_scan {
    struct slice text;
    size_t at;     /* the first place that has not been looked at */
    size_t block;  /* the place of bit 0 of `some` */
    uint32_t some; /* places of the block that may be one */
    bool plain;    /* the way without AVX2. For tests */
};

void shape_scan_begin(struct shape_scan *s, struct slice text, size_t at); /* at: at least 2 */
/* The place of the last of three letters, the first at or behind where the search began or behind the last one
 * found; text.n: there is none. */
size_t shape_scan_next(struct shape_scan *s);

#endif
