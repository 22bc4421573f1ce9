/* tally.h - calls counted by a key: how many, how they ended, how long they took.
 *
 * Owns      copies of the keys, and the duration of every answered call: 8 bytes each.
 * Units     microseconds, bytes.
 * Errors    MI_ENOMEM.
 * Blocks    never. Pure. */
#ifndef MI_CLI_LOOK_TALLY_H
#define MI_CLI_LOOK_TALLY_H

#include "base/intern.h"
#include "vault/query/reader.h"

#define TALLY_BUCKETS 10 /* up to 1, 3, 10, 30, 100, 300 ms, 1, 3, 10 s, and longer */

struct tally_group {
    int64_t calls, errors, timeouts, cancelled, interrupted, open; /* errors: including timeouts */
    int64_t request_bytes, response_bytes;
    int64_t server_us, person_us;    /* shares of the durations */
    int64_t result_tokens;           /* sum of the known numbers; -1: none is known */
    int64_t first_at_us, last_at_us; /* start of the first and of the last call */
    int64_t bucket[TALLY_BUCKETS];
    int64_t *took_us; /* owned; durations of the answered calls */
    size_t took_n, took_cap;
    uint32_t key; /* number of the key in tally.keys */
};

struct tally {
    struct intern keys;        /* owned */
    struct tally_group *group; /* owned; group i has key i */
    size_t n, cap;
    size_t last; /* group of the last call */
};

MI_MUST int tally_add(struct tally *t, struct slice key, const struct query_call *c, int64_t at_us);
/* Adds the tokens of the result of the last call; negative: not known. */
void tally_add_tokens(struct tally *t, int64_t tokens);
/* Sorts the durations. Needed before tally_percentile(). */
MI_MUST int tally_sort(struct tally *t);
/* Returns the percentile of the durations (nearest rank); -1 if there are no durations. */
int64_t tally_percentile(const struct tally_group *g, int percent);
int64_t tally_bucket_us(size_t bucket); /* upper bound; INT64_MAX for the last bucket */
void tally_close(struct tally *t);

#endif
