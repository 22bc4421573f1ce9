#include "vault/query/tally.h"

#include "base/grow.h"

#include <stdlib.h>

static const int64_t bucket_us[TALLY_BUCKETS] = {
    1000, 3000, 10000, 30000, 100000, 300000, 1000000, 3000000, 10000000, INT64_MAX,
};

int64_t tally_get_bucket_limit_us(size_t bucket)
{
    return bucket_us[bucket];
}

int tally_add_call(struct tally *t, struct slice key, const struct query_call *c, int64_t at_us)
{
    uint32_t i;
    int st = intern_add(&t->keys, key, &i);
    if (st < 0 || !GROW(t->group, (size_t)i, t->cap))
        return MI_ENOMEM;
    if (i == t->n)
        t->group[t->n++] = (struct tally_group){
            .key = i, .first_at_us = at_us, .last_at_us = at_us, .result_tokens = -1};
    struct tally_group *g = &t->group[i];
    t->last = i;
    bool answered = c->status != CALL_OPEN && c->status != CALL_CANCELLED &&
                    c->status != CALL_INTERRUPTED && c->status != CALL_REFUSED;
    g->calls++;
    g->open += c->status == CALL_OPEN;
    g->cancelled += c->status == CALL_CANCELLED;
    g->interrupted += c->status == CALL_INTERRUPTED;
    g->timeouts += c->status == CALL_TIMEOUT;
    g->errors += call_status_failed(c->status);
    g->request_bytes += c->request_size;
    g->response_bytes += c->response_size > 0 ? c->response_size : 0;
    g->server_us += c->server_us > 0 ? c->server_us : 0;
    g->person_us += c->person_us;
    g->first_at_us = at_us < g->first_at_us ? at_us : g->first_at_us;
    g->last_at_us = at_us > g->last_at_us ? at_us : g->last_at_us;
    if (!answered)
        return 0;
    if (!GROW(g->took_us, g->took_n, g->took_cap))
        return MI_ENOMEM;
    g->took_us[g->took_n++] = c->duration_us;
    size_t bucket = 0;
    while (c->duration_us > bucket_us[bucket])
        bucket++;
    g->bucket[bucket]++;
    return 0;
}

void tally_add_result_tokens(struct tally *t, int64_t tokens)
{
    struct tally_group *g = &t->group[t->last];
    if (tokens >= 0) /* a negative number means unknown; a damaged vault may have any number */
        g->result_tokens = (g->result_tokens > 0 ? g->result_tokens : 0) +
                           (tokens < UINT32_MAX ? tokens : UINT32_MAX);
}

#define DIGIT_BITS 11
#define DIGITS ((size_t)1 << DIGIT_BITS)
#define SORTED_BITS 44

static size_t tally_get_radix_digit(int64_t us, int shift)
{
    int64_t most = ((int64_t)1 << SORTED_BITS) - 1;
    int64_t v = us < 0 ? 0 : us > most ? most : us;
    return (size_t)(v >> shift) & (DIGITS - 1);
}

/* Sorts by DIGIT_BITS bits at a time (radix sort, lowest bits first), so that the time is
 * proportional to n for any values. `scratch` has n elements. Durations above 2^44 us, half a year,
 * are treated as equal. */
static void sort_durations(int64_t *us, int64_t *scratch, size_t n)
{
    int64_t *from = us, *to = scratch;
    for (int shift = 0; shift < SORTED_BITS; shift += DIGIT_BITS) {
        size_t at[DIGITS] = {0}, sum = 0;
        for (size_t i = 0; i < n; i++)
            at[tally_get_radix_digit(from[i], shift)]++;
        for (size_t d = 0; d < DIGITS; d++) {
            size_t k = at[d];
            at[d] = sum;
            sum += k;
        }
        for (size_t i = 0; i < n; i++)
            to[at[tally_get_radix_digit(from[i], shift)]++] = from[i];
        int64_t *sorted = to;
        to = from;
        from = sorted;
    }
    /* each pass sorts from one array to the other; the number of passes is even, so the result is
     * in the caller's array `us` */
}
_Static_assert(SORTED_BITS / DIGIT_BITS % 2 == 0 && SORTED_BITS % DIGIT_BITS == 0, "even passes");

int tally_sort_durations(struct tally *t)
{
    size_t most = 0;
    for (size_t i = 0; i < t->n; i++)
        most = t->group[i].took_n > most ? t->group[i].took_n : most;
    int64_t *scratch = malloc((most + 1) * sizeof *scratch);
    if (scratch == NULL)
        return MI_ENOMEM;
    for (size_t i = 0; i < t->n; i++)
        sort_durations(t->group[i].took_us, scratch, t->group[i].took_n);
    free(scratch);
    return 0;
}

int64_t tally_compute_percentile(const struct tally_group *g, int percent)
{
    if (g->took_n == 0)
        return -1;
    size_t rank = (g->took_n * (size_t)percent + 99) / 100;
    return g->took_us[rank > 0 ? rank - 1 : 0];
}

void tally_close(struct tally *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->group[i].took_us);
    free(t->group);
    intern_close(&t->keys);
    *t = (struct tally){0};
}
