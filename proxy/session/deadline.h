/* deadline.h - how long a request may take: the rules of --timeout.
 *
 * A rule is `WHAT=DURATION`, or a duration alone, which applies to all requests. WHAT is a method,
 * a glob for methods (such as `resources/` and a star), or `tool:NAME`, where NAME may be a glob as
 * well. The most specific rule wins: a tool by name, a tool by glob, a method by name, the glob
 * with the most characters that are not wildcards, the rule for all requests. Among equally
 * specific rules the last one wins. 0 means no deadline.
 *
 * Rules     the deadline of `initialize` is DEADLINE_INITIALIZE_US, or DEADLINE_LOGIN_US if the
 *           server may wait for a login in the browser. A rule for a method that matches
 *           `initialize` replaces this deadline. So does a duration for all requests that is
 *           longer, or 0. A method that may remain unanswered (mcp-wire.md 6.1:
 *           subscriptions/listen, tasks/result, server/discover) has no deadline unless a rule has
 *           exactly the name of the method.
 * Owns      the rules; deadlines_close() frees them.
 * Errors    MI_EINVAL with a message, MI_EFULL with more than DEADLINES_MAX rules, MI_ENOMEM.
 * Blocks    never. Pure. */
#ifndef MI_PROXY_SESSION_DEADLINE_H
#define MI_PROXY_SESSION_DEADLINE_H

#include "base/buf.h"

#define DEADLINES_MAX 256
#define DEADLINE_DEFAULT_US 30000000
/* default for initialize: npx, uvx and docker may download the server first */
#define DEADLINE_INITIALIZE_US 120000000
#define DEADLINE_LOGIN_US 300000000

struct deadline_rule;
struct deadlines {
    struct deadline_rule *rules; /* owned */
    size_t n, cap;
    int64_t default_us; /* the default for all requests; 0: no deadline */
    bool login;         /* the server may wait for a login before it answers initialize */
};

void deadlines_open(struct deadlines *d);
void deadlines_close(struct deadlines *d);
/* Adds rules, separated by commas: `30s,resources/read=500ms`. error gets the message. */
MI_MUST int deadlines_add(struct deadlines *d, const char *text, struct buf *error);
/* Returns the deadline in microseconds; 0: no deadline. flags: flags of the method
 * (wire/mcp/method.h). method and target: without quotes, escapes not resolved; target may be
 * {NULL, 0}. */
int64_t deadline_of_request(const struct deadlines *d, unsigned flags, struct slice method,
                            struct slice target);
/* Returns the deadline of the initialize that is repeated to a restarted server: that of a matching
 * rule, else DEADLINE_DEFAULT_US. This default is short, because the client waits, and
 * the server's packages were downloaded at the first start. */
int64_t deadline_of_repeated_initialize(const struct deadlines *d);
/* Appends the WHAT of a rule for such a request: `tool:NAME`, or the method. A name that is long,
 * or not a single word for a shell, is replaced by NAME or METHOD, because users copy the
 * suggestion. */
void deadline_suggest_rule(struct buf *b, struct slice method, struct slice target);
/* Returns the minutes to suggest instead of a deadline that was too short: 5 minutes, or twice the
 * deadline if that is longer. */
int64_t deadline_suggest_minutes(int64_t us);

#endif
