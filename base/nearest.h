/* nearest.h - finds the candidate closest to a misspelt word, for "did you mean".
 *
 * Blocks    never. Pure. */
#ifndef MI_BASE_NEAREST_H
#define MI_BASE_NEAREST_H

#include "base/base.h"

#define NEAREST_MAX 32 /* maximum bytes of a word; longer words are ignored */

struct nearest {
    const char *word; /* the word that the user has written */
    const char *best; /* closest candidate so far; NULL: none */
    /* edit distance between `word` and `best`, but 1 if `best` begins with `word`, is longer than
     * it, and `word` has at least 3 bytes; SIZE_MAX: there is no candidate yet */
    size_t distance;
};

struct nearest nearest_begin_search(const char *word);
/* Stores the candidate in n->best if it is close enough, and closer than all previous
 * candidates. */
void nearest_add_candidate(struct nearest *n, const char *candidate);

#endif
