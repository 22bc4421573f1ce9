/* canon.h - the canonical form of a request: equal text means the same question.
 *
 * Rules     mcp-wire.md 6.4. The order of keys, white space, the spelling of strings and numbers do not count;
 *           nor do absent params against {}. `_meta` is left out, params.task.ttl, and what --ignore
 *           names. Of inputResponses only the keys count, unless answers are compared. Of `initialize`
 *           nothing counts. A request that names a revision by itself (mcp-wire.md 3.3) is equal only to
 *           one of that revision. A key that stands twice is kept twice: two parsers would read two things.
 * Owns      nothing.
 * Errors    the buffer says so when it failed.
 * Blocks    never. Pure; recursion as deep as the text (JSON_MAX_DEPTH). */
#ifndef MI_REPLAY_CANON_H
#define MI_REPLAY_CANON_H

#include "replay/pointer.h"
#include "wire/rpc.h"

struct canon_rules {
    struct pointers ignore;
    bool answers; /* inputResponses count with their values */
};

/* Appends the method, the revision it names and the canonical params. The message must have passed rpc_read(). */
void canon_request(struct buf *b, const struct rpc *m, const struct canon_rules *rules);
/* Appends the canonical form of any valid JSON value. */
void canon_value(struct buf *b, struct json_value v);
uint64_t canon_hash(struct slice canonical);

/* One place where two requests differ. */
struct canon_difference {
    struct slice pointer;      /* below params; "" is all of it */
    struct slice ours, theirs; /* JSON as written; {NULL, 0}: not there */
};
typedef bool (*canon_difference_fn)(void *ctx, const struct canon_difference *d);
/* Tells of each difference between the params of two requests, in the order of keys, until the callback
 * says false. Returns how many it told of. */
size_t canon_differences(const struct rpc *ours, const struct rpc *theirs,
                         const struct canon_rules *rules, canon_difference_fn fn, void *ctx);

#endif
