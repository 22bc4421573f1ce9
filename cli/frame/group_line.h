/* group_line.h - a group of counted calls (vault/query/count.h), as a row of a list with columns
 * for table, JSON and CSV.
 *
 * Owns      nothing: texts are borrowed from the count; the array of make_group_lines() belongs to
 *           the caller.
 * Blocks    never. Pure. */
#ifndef MI_CLI_FRAME_GROUP_LINE_H
#define MI_CLI_FRAME_GROUP_LINE_H

#include "show/show.h"
#include "vault/query/count.h"

struct group_line {
    /* values that all calls of the group share */
    struct slice server, tool, client, day, method;
    struct slice key; /* key that identifies the group in struct count */
    struct tally_group g;
    int64_t p50_us, p95_us, p99_us, max_us, bytes;
    int64_t result_tokens; /* tokens of all requests' results; -1: unknown */
    /* operations: number of operations; server_us: time that they spent in the server; person_us:
     * time that they waited for a person. All three are about operations even if `g` counts
     * requests. */
    int64_t operations, server_us, person_us;
    bool utf8; /* the terminal displays UTF-8 */
};

/* Returns the columns of the list of groups. */
struct show_list group_line_get_columns(const struct count *c);
/* Counts the calls of the vault into *c. If some calls have several requests, counts them a second
 * time into *again: as requests if *c counts operations, as operations if *c counts requests. Call
 * count_close() for *c and *again in any case. */
MI_MUST int count_groups(struct count *c, struct count *again, struct query *q);
/* Sets *ret to the groups, an array of c->tally.n lines that the caller frees. again: the second
 * count of count_groups(); may be equal to `c`. sort: the beginning of a column's name. Rows are
 * sorted by this column, the largest first; equal rows by calls, then by key. If `sort` is NULL,
 * rows are sorted by calls; days are sorted by date, the newest first. Returns 0 or MI_ENOMEM. */
MI_MUST int make_group_lines(struct count *c, const struct count *again, const char *sort,
                             struct group_line **ret);

#endif
