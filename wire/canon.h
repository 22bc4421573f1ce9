/* canon.h - writes the canonical form of a request or a value: requests or values are equal if
 * these texts are equal.
 *
 * Rules     mcp-wire.md 6.4. The order of keys, white space, and the spelling of strings and
 *           numbers are ignored. Missing params equal {}. `_meta`, params.task.ttl and the members
 *           named by --ignore are omitted. Only the keys of inputResponses are compared, unless
 *           `answers` is set; the params of `initialize` are not compared. A request that names its
 *           revision (mcp-wire.md 3.3) equals only requests of that revision. Duplicate keys are
 *           all included, because parsers disagree about which one counts.
 * Depth     objects and arrays in more than JSON_TREE_DEPTH levels are compared as they were
 *           written.
 * Owns      nothing.
 * Errors    `failed` of the buffer: out of memory.
 * Blocks    never. Pure; recursion as deep as the text, to JSON_TREE_DEPTH. */
#ifndef MI_WIRE_CANON_H
#define MI_WIRE_CANON_H

#include "wire/json/pointer.h"
#include "wire/rpc.h"
#include "wire/rpc_id.h"

struct canon_rules {
    struct pointers ignore;
    bool answers; /* true: the values of inputResponses are compared too */
    /* true: requests of two sessions are compared, so the revision and values that a server has
     * generated (cursor, requestState, taskId) are ignored */
    bool across;
};

/* Appends the method, the revision that the request names, and the canonical params. The message
 * must have passed rpc_read(). */
void canon_write_request(struct buf *b, const struct rpc *m, const struct canon_rules *rules);
/* Appends the canonical form of any valid JSON value. */
void canon_write_value(struct buf *b, struct json_value v);
/* Appends params.name and params.arguments of a tools/call. Two calls are equal if their texts are
 * equal. A missing name equals null; missing arguments equal {}. */
static inline void canon_write_tool_call(struct buf *b, struct json_value name,
                                         struct json_value arguments)
{
    if (name.type == JSON_NONE)
        buf_adds(b, "null");
    else
        canon_write_value(b, name);
    if (arguments.type == JSON_NONE)
        buf_adds(b, "{}");
    else
        canon_write_value(b, arguments);
}
/* Returns a hash of a canonical text, never 0. */
static inline uint64_t canon_hash_text(struct slice canonical)
{
    return rpc_id_hash(canonical);
}

/* A difference between two requests. */
struct canon_difference {
    /* JSON pointer of the value that differs, relative to params; "": the params as a whole
     * differ */
    struct slice pointer;
    /* JSON of the value in each request, as written; {NULL, 0}: the request lacks it */
    struct slice ours, theirs;
};
typedef bool (*canon_difference_fn)(void *ctx, const struct canon_difference *d);
/* Reports each difference between the params of two requests, in the order of keys, until the
 * callback returns false. Returns the number of reported differences. */
size_t canon_find_differences(const struct rpc *ours, const struct rpc *theirs,
                              const struct canon_rules *rules, canon_difference_fn fn, void *ctx);

#endif
