/* tally.h - calls counted by a key: how many, how they ended, how long they took.
 *
 * Owns      copies of the keys, and the duration of every answered call: 8 bytes each.
 * Units     microseconds, bytes.
 * Errors    MI_ENOMEM.
 * Blocks    never. Pure. */
#ifndef MI_CLI_TALLY_H
#define MI_CLI_TALLY_H

#include "base/intern.h"
#include "vault/query.h"

#define TALLY_BUCKETS 10 /* up to 1, 3, 10, 30, 100, 300 ms, 1, 3, 10 s, and longer */

struct tally_group {
    int64_t calls, errors, timeouts, cancelled,
        open; /* errors: all that did not end well, timeouts too */
    int64_t request_bytes, response_bytes;
    int64_t first_at_us, last_at_us; /* when the first and the last of them began */
    int64_t bucket[TALLY_BUCKETS];
    int64_t *took_us; /* owned; of the calls with an answer that are not refused */
    size_t took_n, took_cap;
    uint32_t key; /* in tally.keys */
};

struct tally {
    struct intern keys;        /* owned */
    struct tally_group *group; /* owned; group i has key i until tally_sort() */
    size_t n, cap;
};

MI_MUST int tally_add(struct tally *t, struct slice key, const struct query_call *c, int64_t at_us);
/* Most calls first, equal ones by key, or with `by_key` the last key first; and makes tally_percentile()
 * possible. */
void tally_sort(struct tally *t, bool by_key);
/* The duration that `percent` of the calls did not exceed (nearest rank); -1: there is none. */
int64_t tally_percentile(const struct tally_group *g, int percent);
int64_t tally_bucket_us(size_t bucket); /* its upper end; INT64_MAX: the last */
void tally_close(struct tally *t);

#endif
