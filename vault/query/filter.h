/* filter.h - which sessions, messages and calls are asked for: one filter for all questions, as conditions of SQL or as a
 * check of a row that was read.
 *
 * Names     `server`, `client`, `method` and `tool` are a name or a glob (`*`, `?`, `[a-z]`). In a session without a client
 *           name the name is "". `tool` matches calls of tools only.
 * Times     microseconds since the epoch, since_us <= at < until_us.
 * Owns      a filter nothing; a condition its text.
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
    const char *server, *client; /* borrowed; NULL: any */
    const char *project; /* the same: a directory and those below it, or a glob of directories */
    const char *method, *tool; /* the same */
    bool failed;               /* call_status_failed() */
    unsigned statuses;         /* bits 1 << enum call_status: of calls, or message_status() */
    unsigned kinds;            /* bits 1 << enum row_kind: of messages. 0: any, of both */
    int64_t slow_us;           /* calls that took at least this long; 0: any */
    int64_t session_id;        /* 0: any */
    int64_t up_to_id;          /* sessions with this id or a lower one; 0: any */
    int64_t since_us, until_us;
    /* Borrowed: another filter that must match, too, except for its project, session and times, which are those of FILTER_ANY.
     * NULL: none. */
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
    FILTER_BEGAN, /* its start: for a list of sessions */
    FILTER_HOLDS  /* it may have messages then: it may last long after its start */
};

/* ---- checks ----
 *
 * For readers that need what does not match, too: `check` follows the protocol from the first message on, `tail` and `ui` keep
 * the calls that are open, `diff` and `export` look for the other half of a call, an index of `search` covers all sessions.
 * A message of a cassette is in no table. */

bool filter_is_glob(const char *name);
bool filter_session(const struct filter *f, enum filter_time time, const struct query_session *s);
bool filter_at(const struct filter *f, int64_t at_us);
/* Whether the method and target of a request match. */
bool filter_call(const struct filter *f, struct slice method, struct slice target);
/* Whether a message or an event matches, apart from its session, which began then. */
bool filter_message(const struct filter *f, int64_t started_at_us, const struct query_message *m);
bool filter_event(const struct filter *f, int64_t started_at_us, const struct query_event *e);
/* Whether method, tool, failed or slow_us is given: then events do not match. */
bool filter_has_call(const struct filter *f);
/* Whether one of those, since_us or until_us is given. */
bool filter_selects(const struct filter *f);

/* ---- conditions ---- */

#define WHERE_FIRST 9 /* number of its first parameter: ?1 to ?8 belong to the statement */
#define WHERE_VALUES 16

/* " AND … AND …", and the values of its parameters, which are borrowed from the filter. */
struct where {
    bool by_uid;    /* the sessions are read by UID (of a store): its time helps to skip old ones */
    bool has_cwd;   /* the table has the column */
    struct buf sql; /* owned */
    struct cell value[WHERE_VALUES];
    size_t n;
    char uid[16]; /* text of a value */
};

/* Adds the condition of a session, whose alias is `s`. */
void where_session(struct where *w, const struct filter *f, enum filter_time time);
/* Adds that of a call `c` of session `s`; the session's own is not a part of it. */
void where_call(struct where *w, const struct filter *f);
/* Adds that of a message `m`, whose request is `r`, or NULL, of a session that began at started_at_us. */
void where_message(struct where *w, const struct filter *f, int64_t started_at_us);
/* Adds that of an event `e` likewise. filter_has_call(): no event matches. */
void where_event(struct where *w, const struct filter *f, int64_t started_at_us);
void where_close(struct where *w);

/* Makes the functions that conditions use. SQLite's code. */
MI_MUST int filter_register(sqlite3 *db);

#endif
