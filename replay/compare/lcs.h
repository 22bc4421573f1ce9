/* lcs.h - the longest common order of two sequences of numbers.
 *
 * Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), in linear space. After
 * LCS_EXACT differences, a part is split at the furthest point that the search has reached, as in
 * GNU diff: the result is a common order, but perhaps not the longest.
 *
 * Cost      time (n + m) * min(differences, LCS_EXACT), 16 bytes for each number.
 * Blocks    never. Pure; recursion of at most 64 levels. */
#ifndef MI_REPLAY_COMPARE_LCS_H
#define MI_REPLAY_COMPARE_LCS_H

#include "base/base.h"

#define LCS_NONE UINT32_MAX
#define LCS_EXACT 1000

/* Sets partner[i] to j if a[i] is paired with b[j], and to LCS_NONE if a[i] has no partner. Returns
 * 0 or MI_ENOMEM. */
MI_MUST int lcs_pair_elements(const uint32_t *a, uint32_t n, const uint32_t *b, uint32_t m,
                              uint32_t *partner);
/* Finds the longest ascending subsequence, and sets in_order[i] if values[i] belongs to it. The
 * values must be distinct. 0 or MI_ENOMEM. */
MI_MUST int lcs_mark_ascending_values(const uint32_t *values, uint32_t n, bool *in_order);

#endif
