/* count.h - counts the calls of a vault by tool, server, client, day or method.
 *
 * Owns      the tally; count_close() frees it.
 * Errors    MI_ENOMEM, and those of vault/query/reader.h.
 * Blocks    on the vault. */
#ifndef MI_VAULT_QUERY_COUNT_H
#define MI_VAULT_QUERY_COUNT_H

#include "vault/query/reader.h"
#include "vault/query/tally.h"

enum count_by { COUNT_TOOL, COUNT_SERVER, COUNT_CLIENT, COUNT_DAY, COUNT_METHOD, COUNT_WAYS };

struct count {
    enum count_by by; /* what to group by; COUNT_TOOL: only calls of tools are counted */
    bool imported;    /* true: include imported sessions */
    bool sent;        /* true: include sessions that `send` made */
    bool tokens;      /* true: count the tokens of results */
    bool repeats_too; /* true: also count the calls that repeat another call */
    /* true: a call made of several requests (model/operations.h) counts once for each request */
    bool requests;
    struct filter filter;
    /* called before and between rows; false ends the reading; may be NULL */
    bool (*goes_on)(void *ctx);
    void *ctx;

    bool several;  /* true: the vault has calls made of several requests */
    bool left_out; /* true: sessions were left out, because they were imported or made by `send` */
    /* Number of calls that repeat an earlier call which the server may have executed
     * (docs/repeats.md), and number of repeating calls that were forwarded to the server. Both are
     * 0 if repeats_too is false, and for a store. */
    int64_t repeats, repeats_forwarded;
    /* The groups. count_take_key_part() splits the key of a group into its parts. */
    struct tally tally;
};

const char *count_get_option_word(enum count_by by); /* returns the word of the option: "tool", … */
/* Returns the grouping whose option word is `name`; COUNT_WAYS if there is none. */
enum count_by count_parse_option_word(const char *name);
/* Counts, and sets all members of `count` after `ctx`; the caller sets the members up to `ctx`.
 * Call count_close() in any case. */
MI_MUST int count_calls(struct count *c, struct query *q);
void count_close(struct count *c);
/* Removes the first part of a key, and returns it. A key of COUNT_TOOL has two parts: the server,
 * then the tool. Any other key has one part. An empty part means that the value is unknown. */
struct slice count_take_key_part(struct slice *key);

#endif
