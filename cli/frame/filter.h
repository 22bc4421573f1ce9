/* filter.h - the options of several commands that select sessions, messages and calls.
 *
 * The options are read into a filter (vault/query/filter.h). --since and --until take a time
 * (base/time_point.h). Lists of sessions compare this time with the start of a session; other
 * commands compare this time with the time of a message or call.
 *
 * Owns      the path of --project, until the options are read again; the names belong to the
 *           settings.
 * Blocks    filter_find_session() and filter_pick_session() on the vault; the others never. */
#ifndef MI_CLI_FRAME_FILTER_H
#define MI_CLI_FRAME_FILTER_H

#include "cli/settings/config.h"
#include "vault/query/reader.h"

#define FILTER_SERVER_OPTS                                                                         \
    {0, "server", "NAME", NULL, "only sessions of this server; may be a glob such as 'git*'"},     \
        {0, "client", "NAME", NULL, "only sessions of this client; may be a glob"},                \
    {                                                                                              \
        0, "project", "DIR", NULL,                                                                 \
            "only sessions whose server was started in or below DIR; may be a glob"                \
    }
#define FILTER_OPTS                                                                                \
    FILTER_SERVER_OPTS,                                                                            \
        {0, "since", "WHEN", NULL, "only from this time on: 2h, 7d, today, 2026-01-31"},           \
    {                                                                                              \
        0, "until", "WHEN", NULL, "only before this time"                                          \
    }

/* The option --requests, for commands that count calls. */
#define OPT_REQUESTS                                                                               \
    {                                                                                              \
        0, "requests", NULL, NULL, "list each request of a call with several requests separately"  \
    }
/* Options of commands that read messages or calls. */
#define FILTER_CALL_OPTS                                                                           \
    {0, "tool", "NAME", NULL, "only calls of this tool; may be a glob"},                           \
        {0, "method", "NAME", NULL, "only this method and answers to it; may be a glob"},          \
        {0, "failed", NULL, NULL, "only failed calls and rejected messages"},                      \
    {                                                                                              \
        0, "slow", "DURATION", NULL, "only calls that took at least this long"                     \
    }

/* The option --session, for commands that read several sessions. */
#define FILTER_SESSION_OPT                                                                         \
    {                                                                                              \
        0, "session", "SESSION", NULL, "only this session, named as for `show`"                    \
    }

/* Sets *f from the settings `s` of a command, using those options that the command has. */
void filter_read_from_options(struct filter *f, const struct settings *s);
/* Looks up the session of --session, which filter_read_from_options() ignores. Returns 0, or the
 * error of query_session(). */
MI_MUST int filter_find_session(struct filter *f, const struct settings *s, struct query *q);
/* Finds the session for a command that reads one session: `ref`, else the newest session that
 * matches --server, --client and --project. Returns EXIT_FINE or, after a message on stderr, the
 * status to exit with. */
MI_MUST int filter_pick_session(const struct filter *f, const struct settings *s, struct query *q,
                                const char *ref, struct query_session *ret);
#endif
