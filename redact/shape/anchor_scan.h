/* anchor_scan.h - finds offsets where the anchor of a rule may stand. Internal to redact/shape/.
 *
 * Method    each anchor is represented by three letters, the last three of its window (find.c). A
 *           bitmap, indexed by six bits of each letter, says whether any anchor has these three
 *           letters. With AVX2, 32 offsets at a time are first filtered by the nibbles of their
 *           bytes: each anchor belongs to one of 24 groups, and an offset is skipped if no group
 *           has all six nibbles. Both methods find every anchor; both may also report offsets
 *           without an anchor. The method without AVX2 reports more of these.
 * Owns      tables of the process, which are filled once and then only read.
 * Errors    none.
 * Blocks    never. */
#ifndef MI_REDACT_SHAPE_ANCHOR_SCAN_H
#define MI_REDACT_SHAPE_ANCHOR_SCAN_H

#include "redact/shape/shape_table.h"

/* Adds an anchor of three letters. Each element of `three` is the set of characters that may be
 * this letter. */
void shape_scan_add_anchor(const struct shape_set three[3]);

/* A search of one text. */
struct shape_scan {
    struct slice text;
    size_t at;     /* the first offset not yet examined */
    size_t block;  /* the offset in `text` for which bit 0 of `some` stands */
    uint32_t some; /* bit i: offset `block` + i is a candidate that is still to be examined */
    bool plain;    /* do not use AVX2; for tests */
};

/* Begins a search at offset `at`, which must be at least 2. */
void shape_scan_begin(struct shape_scan *s, struct slice text, size_t at);
/* Returns the offset of the last letter of the next candidate; text.n: no more. */
size_t shape_scan_next(struct shape_scan *s);

#endif
