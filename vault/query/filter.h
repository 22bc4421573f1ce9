/* filter.h - selects sessions, messages and calls. All queries use the same kind of filter. A
 * filter becomes SQL conditions, or checks rows that were read.
 *
 * Names     `server`, `client`, `method` and `tool` are a name or a glob (`*`, `?`, `[a-z]`). A
 *           session without a client name has the name "". `tool` matches calls of tools only.
 * Times     microseconds since the epoch, since_us <= at < until_us.
 * Owns      a filter owns nothing; a condition owns its text.
 * Blocks    never. Pure. */
#ifndef MI_VAULT_QUERY_FILTER_H
#define MI_VAULT_QUERY_FILTER_H

#include "base/buf.h"
#include "model/cell.h"

#include <sqlite3.h>

struct query_session;
struct query_message;
struct query_event;

struct filter {
    const char *server, *client; /* borrowed; name of the server or client; NULL: any */
    /* borrowed; a directory, which includes its subdirectories, or a glob; NULL: any */
    const char *project;
    const char *method, *tool; /* borrowed; method and tool of the call; NULL: any */
    bool failed;               /* true: only calls for which call_status_failed() is true */
    /* bits 1 << enum call_status: status of a call, or message_status() of a message; 0: any */
    unsigned statuses;
    unsigned kinds;     /* bits 1 << enum row_kind: kind of a message; 0: any */
    int64_t slow_us;    /* shortest duration of a call; 0: any */
    int64_t session_id; /* id of the session; 0: any */
    int64_t up_to_id;   /* highest id of a session; 0: any */
    int64_t since_us, until_us;
    /* Borrowed: a second filter that must match as well. It must select every project, session and
     * time, as FILTER_ANY does. NULL: there is no second filter. */
    const struct filter *also;
};

/* Everything matches. */
#define FILTER_ANY                                                                                 \
    (struct filter)                                                                                \
    {                                                                                              \
        .since_us = INT64_MIN, .until_us = INT64_MAX                                               \
    }

/* Which time of a session since_us and until_us are compared with. */
enum filter_time {
    FILTER_BEGAN, /* compare the start of the session; used for lists of sessions */
    FILTER_HOLDS  /* compare the time span from the start to the end of the session */
};

/* ---- checks ----
 *
 * Checks are for readers that also need rows which do not match: `check` follows the protocol from
 * the first message on, `tail` and `ui` keep open calls, `diff` and `export` look for the request
 * or the answer of a call, and an index of `search` covers all sessions. They are also for messages
 * of a cassette, which are in no table. */

bool filter_is_glob(const char *name);
bool filter_matches_session(const struct filter *f, enum filter_time time,
                            const struct query_session *s);
bool filter_includes_time(const struct filter *f, int64_t at_us);
/* Whether the method and target of a request match the filter. */
bool filter_matches_call(const struct filter *f, struct slice method, struct slice target);
/* Whether a message or an event matches the filter. The session of the message or event is not
 * checked. */
bool filter_matches_message(const struct filter *f, int64_t started_at_us,
                            const struct query_message *m);
bool filter_matches_event(const struct filter *f, int64_t started_at_us,
                          const struct query_event *e);
/* Whether the filter has a condition on method, tool, failed or slow_us. No event matches such a
 * filter. */
bool filter_has_call_conditions(const struct filter *f);
/* Whether the filter has a condition on method, tool, failed, slow_us, since_us or until_us. */
bool filter_selects_rows(const struct filter *f);

/* ---- conditions ---- */

/* Number of the filter's first SQL parameter; ?1 to ?8 belong to the statement. */
#define WHERE_FIRST 9
#define WHERE_VALUES 16

/* SQL conditions, " AND … AND …", and the values of their parameters. The values borrow texts from
 * the filter. */
struct where {
    /* true: sessions are found by UID (in a store); a UID begins with the time of the session, so
     * old sessions can be skipped */
    bool by_uid;
    bool has_cwd;   /* true: the table has the column `cwd` */
    struct buf sql; /* owned */
    struct cell value[WHERE_VALUES];
    size_t n;
    char uid[16]; /* text of a value in SQL */
};

/* Adds the condition for a session `s`. */
void where_add_session_conditions(struct where *w, const struct filter *f, enum filter_time time);
/* Adds the condition for a call `c` of session `s`, without the condition for the session. */
void where_add_call_conditions(struct where *w, const struct filter *f);
/* Adds the condition for a message `m` of a session that began at started_at_us. In SQL, `r` is the
 * request that the message answers, or NULL. */
void where_add_message_conditions(struct where *w, const struct filter *f, int64_t started_at_us);
/* Adds the condition for an event `e`. If filter_has_call_conditions(), no event matches: then the
 * caller must not read events. */
void where_add_event_conditions(struct where *w, const struct filter *f, int64_t started_at_us);
void where_clause_close(struct where *w);

/* Registers the SQL functions that conditions use. Returns SQLite's code. */
MI_MUST int filter_register_functions(sqlite3 *db);

#endif
