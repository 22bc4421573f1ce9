/* filter.h - the options of several commands that select sessions, messages and calls.
 *
 * --server, --client, --tool and --method take a name or a glob (`*`, `?`, `[a-z]`). In a session without a client name
 * the name is "". --since and --until take a WHEN (base/when.h). In a list of sessions it is compared with their start,
 * elsewhere with the time of a message or call.
 *
 * Owns      nothing: the globs belong to the settings.
 * Blocks    filter_find_session() and filter_pick() on the vault; the others never. */
#ifndef MI_CLI_FRAME_FILTER_H
#define MI_CLI_FRAME_FILTER_H

#include "cli/settings/config.h"
#include "vault/query/reader.h"

#define FILTER_SERVER_OPTS                                                                         \
    {0, "server", "NAME", NULL, "only sessions of this server; may be a glob such as 'git*'"},     \
    {                                                                                              \
        0, "client", "NAME", NULL, "only sessions of this client; may be a glob"                   \
    }
#define FILTER_OPTS                                                                                \
    FILTER_SERVER_OPTS, {0, "since", "WHEN", NULL, "only from this time on: 2h, 7d, today, 2026-01-31"},           \
    {                                                                                              \
        0, "until", "WHEN", NULL, "only before this time"                                          \
    }

/* For commands that read messages or calls. */
#define FILTER_CALL_OPTS                                                                           \
    {0, "tool", "NAME", NULL, "only calls of this tool; may be a glob"},                           \
        {0, "method", "NAME", NULL, "only this method and answers to it; may be a glob"},          \
    {                                                                                              \
        0, "failed", NULL, NULL, "only failed calls and rejected messages"                         \
    }

/* For those that read several sessions. */
#define FILTER_SESSION_OPT                                                                         \
    {                                                                                              \
        0, "session", "SESSION", NULL, "only this session, named as for `show`"                    \
    }

struct filter {
    const char *server, *client; /* borrowed; NULL: any */
    const char *method, *tool;   /* the same */
    bool failed;
    int64_t session_id; /* 0: any */
    int64_t since_us, until_us;
};

/* The options that the command has. */
void filter_read(struct filter *f, const struct settings *s);
/* --session, which filter_read() does not look up. 0, or the error of query_session(). */
MI_MUST int filter_find_session(struct filter *f, const struct settings *s, struct query *q);
/* The session of a command that reads one: `ref`, else the newest that matches --server and --client. EXIT_FINE or,
 * after a message on stderr, the status to exit with. */
MI_MUST int filter_pick(const struct filter *f, const struct settings *s, struct query *q,
                        const char *ref, struct query_session *ret);
/* Whether a session in a list matches: its start is compared with --since and --until. */
bool filter_takes(const struct filter *f, const struct query_session *s);
/* Whether this session and all with a lower UID began before --since: in a list that is newest first by UID, none that
 * follows matches. By the time in the UID: that of the row is what a machine has sent. */
bool filter_has_passed(const struct filter *f, const struct query_session *s);
/* Whether the session may have messages within --since and --until: it may have lasted long after its start. */
bool filter_may_hold(const struct filter *f, const struct query_session *s);
bool filter_time(const struct filter *f, int64_t at_us);
/* Whether the text matches the name or glob. NULL matches everything. */
bool filter_name(const char *glob, struct slice text);
/* Whether the method and target of a message, or of the request that it answers, match. Only the target of a
 * `tools/call` is a tool. */
bool filter_call(const struct filter *f, struct slice method, struct slice target);
/* Whether the message matches --tool, --method, --failed, --since and --until. */
bool filter_message(const struct filter *f, int64_t session_started_at_us,
                    const struct query_message *m);
/* Whether --tool, --method or --failed is given: then events do not match. */
bool filter_has_call(const struct filter *f);
/* Whether one of those, --since or --until is given. */
bool filter_selects(const struct filter *f);
/* Whether the event matches --tool, --method, --failed, --since and --until. */
bool filter_event(const struct filter *f, int64_t session_started_at_us,
                  const struct query_event *e);

#endif
