/* deadline.h - how long a request may take: the rules of --timeout.
 *
 * A rule is `WHAT=DURATION`, or a duration alone, which is for everything. WHAT is a method, a glob over
 * methods (`resources` and a star behind its slash), or `tool:NAME`, where NAME may be a glob as well.
 * The most specific rule wins: a tool by name, a tool by glob, a method by name, the glob with the most
 * plain characters, the rule for everything; of equals the one added last. 0 is never.
 *
 * Rules     what may stay without an answer (mcp-wire.md 6.1: subscriptions/listen, tasks/result,
 *           server/discover) has no deadline unless a rule names that very method.
 * Owns      the rules; deadlines_close() frees them.
 * Errors    MI_EINVAL with a sentence, MI_EFULL past DEADLINES_MAX rules, MI_ENOMEM.
 * Blocks    never. Pure. */
#ifndef MI_PROXY_DEADLINE_H
#define MI_PROXY_DEADLINE_H

#include "base/buf.h"

#define DEADLINES_MAX 256
#define DEADLINE_DEFAULT_US 30000000

struct deadline_rule;
struct deadlines {
    struct deadline_rule *rules; /* owned */
    size_t n, cap;
    int64_t default_us; /* of the rule for everything; 0: never */
};

void deadlines_open(struct deadlines *d);
void deadlines_close(struct deadlines *d);
/* Adds rules, separated by commas: `30s,resources/read=500ms`. The sentence goes to error. */
MI_MUST int deadlines_add(struct deadlines *d, const char *text, struct buf *error);
/* Microseconds, 0 for never. flags: the method's (wire/method.h). Method and target between their quotes,
 * escapes as written; target may be {NULL, 0}. */
int64_t deadline_of(const struct deadlines *d, unsigned flags, struct slice method,
                    struct slice target);

#endif
