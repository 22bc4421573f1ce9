/* filter.h - which sessions a command is about: the options that several commands have in common.
 *
 * --server and --client take a name or a glob (`*`, `?`, `[a-z]`); --since and --until a WHEN
 * (base/when.h) that the start of a session is compared with. A session without a client has the
 * name "".
 *
 * Owns      nothing: the globs lie in the settings.
 * Blocks    never. Pure. */
#ifndef MI_CLI_FILTER_H
#define MI_CLI_FILTER_H

#include "cli/config.h"
#include "vault/query.h"

#define FILTER_OPTS                                                                                \
    {0, "server", "NAME", NULL, "only sessions of this server; a glob such as 'git*' is fine"},    \
        {0, "client", "NAME", NULL, "only sessions of this client; the same"},                     \
        {0, "since", "WHEN", NULL, "only what began then or later: 2h, 7d, today, 2026-01-31"},    \
    {                                                                                              \
        0, "until", "WHEN", NULL, "only what began before"                                         \
    }

struct filter {
    const char *server, *client; /* borrowed; NULL: any */
    int64_t since_us, until_us;
};

void filter_read(struct filter *f, const struct settings *s);
bool filter_takes(const struct filter *f, const struct query_session *s);
/* Is this text the name, or does the glob fit? NULL fits all. */
bool filter_name(const char *glob, struct slice text);
/* Do the names fit that a message has, or that the request has which it answers? A tool is the target of a
 * `tools/call` alone. */
bool filter_call(const char *method_glob, const char *tool_glob, struct slice method,
                 struct slice target);

#endif
