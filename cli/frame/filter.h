/* filter.h - the options of several commands that select sessions.
 *
 * --server and --client take a name or a glob (`*`, `?`, `[a-z]`); --since and --until take a WHEN
 * (base/when.h), which is compared with the start of a session. In a session without a client name
 * the name is "".
 *
 * Owns      nothing: the globs belong to the settings.
 * Blocks    never. Pure. */
#ifndef MI_CLI_FRAME_FILTER_H
#define MI_CLI_FRAME_FILTER_H

#include "cli/settings/config.h"
#include "vault/query/reader.h"

#define FILTER_OPTS                                                                                \
    {0, "server", "NAME", NULL, "only sessions of this server; may be a glob such as 'git*'"},     \
        {0, "client", "NAME", NULL, "only sessions of this client; may be a glob"},                \
        {0, "since", "WHEN", NULL, "only from this time on: 2h, 7d, today, 2026-01-31"},           \
    {                                                                                              \
        0, "until", "WHEN", NULL, "only before this time"                                          \
    }

struct filter {
    const char *server, *client; /* borrowed; NULL: any */
    int64_t since_us, until_us;
};

void filter_read(struct filter *f, const struct settings *s);
bool filter_takes(const struct filter *f, const struct query_session *s);
/* Whether the session may have messages within --since and --until: it may have lasted long after its start. */
bool filter_may_hold(const struct filter *f, const struct query_session *s);
bool filter_time(const struct filter *f, int64_t at_us);
/* Whether the text matches the name or glob. NULL matches everything. */
bool filter_name(const char *glob, struct slice text);
/* Whether the method and target of a message, or of the request that it answers, match. Only the target of a
 * `tools/call` is a tool. */
bool filter_call(const char *method_glob, const char *tool_glob, struct slice method,
                 struct slice target);

#endif
