/* shape_scan.h - finds the places of a text where the anchor of a rule may stand. Between the shape*.c files.
 *
 * Of each anchor three letters count, the last of its window. A bit for each three (six bits of each letter)
 * tells whether any anchor has them: exact enough that few places are looked at twice. Where the processor
 * has SSSE3, sixteen places at a time are tried before by the halves of their bytes: each anchor is in one of
 * eight groups, and a place where no group has all six halves is none. Neither way misses a place; both may
 * find one that is none, the plain one more of them.
 *
 * The tables are the process's own: filled once, then only read. Nothing blocks or fails. */
#ifndef MI_VAULT_SHAPE_SCAN_H
#define MI_VAULT_SHAPE_SCAN_H

#include "vault/shape_table.h"

/* From now on these three, each a class of letters, are found. */
void shape_scan_add(const struct shape_set three[3]);
/* The place of the last of three letters, the first at or behind `at` (at least 2); text.n: there is none. */
size_t shape_scan(struct slice text, size_t at);
/* The way without SSSE3. For tests. */
size_t shape_scan_plain(struct slice text, size_t at);

#endif
