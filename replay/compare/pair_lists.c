#include "replay/compare/pair_lists.h"

#include <assert.h>

/* best[i][j]: the smallest sum of distances if the first i members of the short list are paired
 * with some of the first j members of the long list. Stored row by row; row i has i <= j <= m - n +
 * i. */
int pair_members_by_distance(uint32_t n, uint32_t m, near_fn fn, void *ctx, uint32_t *partner)
{
    uint32_t best[NEAR_LIST + 1][NEAR_LIST + 1] = {{0}};
    assert(n <= m && m <= NEAR_LIST && n * m <= NEAR_PAIRS);
    for (uint32_t i = 1; i <= n; i++) {
        for (uint32_t j = i; j <= m - n + i; j++) {
            int distance = fn(ctx, i - 1, j - 1);
            if (distance < 0)
                return distance;
            best[i][j] = best[i - 1][j - 1] + (uint32_t)distance;
            if (j > i && best[i][j - 1] <= best[i][j])
                best[i][j] = best[i][j - 1];
        }
    }
    for (uint32_t i = n, j = m; i > 0; i--) {
        while (j > i && (j > m - n + i || best[i][j - 1] == best[i][j]))
            j--;
        partner[i - 1] = --j;
    }
    return 0;
}
