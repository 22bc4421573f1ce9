/* count.h - counts the calls of a vault by tool, server, client, day or method.
 *
 * Owns      the tally; count_close() frees it.
 * Errors    MI_ENOMEM, and those of vault/query/reader.h.
 * Blocks    on the vault. */
#ifndef MI_CLI_LOOK_COUNT_H
#define MI_CLI_LOOK_COUNT_H

#include "vault/query/reader.h"
#include "vault/query/tally.h"

enum count_by { COUNT_TOOL, COUNT_SERVER, COUNT_CLIENT, COUNT_DAY, COUNT_METHOD, COUNT_WAYS };

struct count {
    enum count_by by; /* COUNT_TOOL: only calls of tools */
    bool imported;    /* count imported sessions */
    bool sent;        /* count sessions that `send` made */
    bool tokens;      /* tokens of results are wanted */
    bool repeats_too; /* also count the calls that repeat another one */
    bool requests;    /* if a call was several requests (model/operations.h), count each of them */
    struct filter filter;
    /* as in struct call_question */
    bool (*goes_on)(void *ctx);
    void *ctx;

    bool several;  /* the vault has calls that were several requests */
    bool left_out; /* sessions were skipped: imported, or made by `send` */
    /* Calls that repeat a call which may have run (docs/repeats.md), and how many of them the
     * server got. Not counted without repeats_too, and for a store. */
    int64_t repeats, repeats_forwarded;
    struct tally tally; /* the keys of its groups are read with count_part() */
};

const char *count_by_name(enum count_by by); /* "tool", … */
/* Returns the value with this name; COUNT_WAYS if there is none. */
enum count_by count_by_name_of_way(const char *name);
/* Zeroes `count`, except for its first nine members, and counts. Call count_close() in any case. */
MI_MUST int count_calls(struct count *c, struct query *q);
void count_close(struct count *c);
/* Takes the next part of a key: for COUNT_TOOL, server and then tool; else the only part. If n is
 * 0, it is unknown. */
struct slice count_part(struct slice *key);

#endif
