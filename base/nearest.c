#include "base/nearest.h"

struct nearest nearest_begin_search(const char *word)
{
    return (struct nearest){.word = word, .distance = SIZE_MAX};
}

/* Returns the edit distance: insertions, deletions, substitutions and swaps of neighbours. */
static size_t edit_distance(const char *a, size_t an, const char *b, size_t bn)
{
    size_t d[NEAREST_MAX + 1][NEAREST_MAX + 1];
    for (size_t i = 0; i <= an; i++)
        d[i][0] = i;
    for (size_t j = 0; j <= bn; j++)
        d[0][j] = j;
    for (size_t i = 1; i <= an; i++) {
        for (size_t j = 1; j <= bn; j++) {
            size_t differs = a[i - 1] != b[j - 1];
            d[i][j] =
                size_min(d[i - 1][j] + 1, size_min(d[i][j - 1] + 1, d[i - 1][j - 1] + differs));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = size_min(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[an][bn];
}

void nearest_add_candidate(struct nearest *n, const char *candidate)
{
    size_t an = strlen(n->word);
    size_t bn = strlen(candidate);
    if (an == 0 || an > NEAREST_MAX || bn > NEAREST_MAX)
        return;
    /* A prefix is also close: `sess` for `sessions`. */
    size_t d = an >= 3 && an < bn && memcmp(n->word, candidate, an) == 0
                   ? 1
                   : edit_distance(n->word, an, candidate, bn);
    if (d <= 1 + an / 4 && d < an && d < n->distance) {
        n->best = candidate;
        n->distance = d;
    }
}
