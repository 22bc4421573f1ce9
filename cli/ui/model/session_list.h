/* session_list.h - the sessions of a vault, newest first, as a list of their ids.
 *
 * The list grows at its end while older sessions are read, a page at a time. The list grows at its
 * beginning when new sessions are recorded. The row of a session is read when the screen needs it,
 * and stays in memory. sessions_read_changes() reads again the rows of sessions that had not ended.
 * The list of a store is in the order of time, which differs from the order of ids. For a store,
 * sessions_read_changes() reads only the newest SESSIONS_PAGE sessions, because each request to the
 * store takes time.
 *
 * Owns      the ids, and at most SESSIONS_KEPT rows; sessions_close() frees them.
 * Errors    those of vault/query/reader.h; MI_ENOENT: the session was removed.
 * Blocks    on the vault. */
#ifndef MI_CLI_UI_MODEL_SESSION_LIST_H
#define MI_CLI_UI_MODEL_SESSION_LIST_H

#include "cli/frame/session.h"
#include "vault/query/page.h"

#define SESSIONS_KEPT 256
#define SESSIONS_PAGE 64
#define SESSIONS_COUNTED 20000 /* number of messages whose calls are counted in one step */
/* microseconds after which the failed calls of a live session are counted again */
#define SESSIONS_RECOUNT_US 5000000

struct session_row {
    struct page_row *page; /* owned; NULL: this element is free */
    enum session_state state;
    int64_t messages, last_t_us; /* messages: seq of the last message; last_t_us: its time */
    int64_t failed;              /* number of failed calls; -1: not counted yet */
    /* counting: number of failed calls among messages 1..counted; final if counted >= messages */
    int64_t counting, counted;
    int64_t counted_us; /* time at which `failed` was counted; 0: not counted yet */
    bool stale;         /* the row must be read again */
};

/* Returns true if the list shows this session. Called once for each session that is read;
 * sessions_add_and_read_row() may add a session for which this returned false. */
typedef bool (*sessions_takes_fn)(void *ctx, const struct query_session *s);

struct sessions {
    int64_t *id; /* owned; ids of the sessions, newest first */
    size_t n, cap;
    const struct query *store; /* borrowed; the store that is listed; NULL: a vault is listed */
    /* newest: highest id that was read; oldest: id of the oldest session that was read, after which
     * sessions_read_older_rows() goes on, from new to old; INT64_MAX: no session was read */
    int64_t newest, oldest;
    bool complete; /* all older sessions were read */
    /* set by the caller. true: failed requests are counted; false: failed operations. */
    bool requests;
    sessions_takes_fn takes; /* callback that filters sessions; NULL: the list has all sessions */
    void *ctx;
    /* the row of the session with this id is row[id % SESSIONS_KEPT] */
    struct session_row row[SESSIONS_KEPT];
};

void sessions_open(struct sessions *l, const struct query *q, sessions_takes_fn takes, void *ctx);
void sessions_close(struct sessions *l);
/* Adds a page of older sessions. */
MI_MUST int sessions_read_older_rows(struct sessions *l, struct query *q);
/* Adds sessions that were recorded since the last call, and reads again the rows of sessions that
 * had not ended. */
MI_MUST int sessions_read_changes(struct sessions *l, struct query *q);
/* Returns whether the list has been read as far back as this session. */
bool sessions_list_reaches_id(const struct sessions *l, int64_t id);
/* Adds a session that the filter `takes` rejected, unless the list has the session already. */
MI_MUST int sessions_add_and_read_row(struct sessions *l, struct query *q, int64_t id);
/* Counts failed calls of the sessions whose rows are in memory. Each invocation of this function
 * counts a part of one session. *ret_more: true if more may be left to count. */
MI_MUST int sessions_run_failure_count_step(struct sessions *l, struct query *q, bool *ret_more);
/* Returns the index of a session; n if it is not in the list. */
size_t sessions_find_row_of_id(const struct sessions *l, int64_t id);
/* Sets *ret to the row of a session, which is valid until another session with the same id %
 * SESSIONS_KEPT is read. */
MI_MUST int sessions_get_row(struct sessions *l, struct query *q, int64_t id,
                             const struct session_row **ret);
/* Returns how long a session has run: until its end, or until now if the session is live. If the
 * session is not live and has no recorded end, counts until its last message. */
int64_t sessions_duration_us(const struct session_row *r, int64_t now_us);
/* Counts the live sessions among those whose rows are in memory. */
size_t sessions_count_live(const struct sessions *l);

#endif
