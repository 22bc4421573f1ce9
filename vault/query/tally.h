/* tally.h - counts calls in groups with the same key: how many, how they ended, how long they took.
 *
 * Owns      copies of the keys, and the duration of every answered call: 8 bytes each.
 * Units     microseconds, bytes.
 * Errors    MI_ENOMEM.
 * Blocks    never. Pure. */
#ifndef MI_VAULT_QUERY_TALLY_H
#define MI_VAULT_QUERY_TALLY_H

#include "base/intern.h"
#include "vault/query/reader.h"

/* Buckets of durations: up to 1, 3, 10, 30, 100, 300 ms, 1, 3, 10 s, and longer. */
#define TALLY_BUCKETS 10

struct tally_group {
    /* number of all calls, and of the calls with each status; `errors` includes timeouts */
    int64_t calls, errors, timeouts, cancelled, interrupted, open;
    int64_t request_bytes, response_bytes;
    /* server_us: total time that servers took to answer; person_us: total time that people took to
     * answer */
    int64_t server_us, person_us;
    int64_t result_tokens; /* sum of the tokens of all results; -1: no number of tokens is known */
    int64_t first_at_us, last_at_us; /* start times of the first and the last call */
    int64_t bucket[TALLY_BUCKETS];   /* number of answered calls in each bucket of durations */
    int64_t *took_us;                /* owned; durations of the answered calls */
    size_t took_n, took_cap;
    uint32_t key; /* index of the group's key in tally.keys */
};

struct tally {
    struct intern keys;        /* owned */
    struct tally_group *group; /* owned; group[i] has the key with index i in `keys` */
    size_t n, cap;
    size_t last; /* index of the group to which a call was last added */
};

/* Adds a call, which began at at_us, to the group with this key. */
MI_MUST int tally_add_call(struct tally *t, struct slice key, const struct query_call *c,
                           int64_t at_us);
/* Adds the number of tokens in the result of the call that was added last. A negative number means
 * that the number is unknown. */
void tally_add_result_tokens(struct tally *t, int64_t tokens);
/* Sorts the durations. Call it before tally_compute_percentile(). */
MI_MUST int tally_sort_durations(struct tally *t);
/* Returns the percentile of the durations (nearest rank); -1 if there are no durations. */
int64_t tally_compute_percentile(const struct tally_group *g, int percent);
int64_t tally_get_bucket_limit_us(
    size_t bucket); /* upper bound of a bucket; INT64_MAX for the last bucket */
void tally_close(struct tally *t);

#endif
