/* group_line.h - calls that were counted together (vault/query/count.h), as a row of a list: its columns, for all forms.
 *
 * Owns      nothing: texts are borrowed from the count, and what group_lines() returns belongs to the caller.
 * Blocks    never. Pure. */
#ifndef MI_CLI_FRAME_GROUP_LINE_H
#define MI_CLI_FRAME_GROUP_LINE_H

#include "show/show.h"
#include "vault/query/count.h"

struct group_line {
    struct slice server, tool, client, day, method; /* what they have in common */
    struct slice key;                               /* the same, as the count has it */
    struct tally_group g;
    int64_t p50_us, p95_us, p99_us, max_us, bytes;
    int64_t result_tokens; /* of all requests; -1: not known */
    int64_t operations, server_us, person_us; /* of the calls that were counted as one each */
    bool utf8;                                /* of the terminal */
};

/* Of what was counted. */
struct show_list group_list(const struct count *c);
/* Counts, and into *again, if the vault has calls that were several requests, what c does not count: requests, or calls.
 * Call count_close() for both in any case. */
MI_MUST int group_count(struct count *c, struct count *again, struct query *q);
/* The groups as an array of c->tally.n lines. again: from group_count(); it may be c. sort: the beginning of the name of a column, of which the first lines have most;
 * of equal ones that with the most calls is first, then by what they have in common. NULL: calls, or the newest days. MI_ENOMEM. */
MI_MUST int group_lines(struct count *c, const struct count *again, const char *sort,
                        struct group_line **ret);

#endif
