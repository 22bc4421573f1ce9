/* sessions.h - the sessions of a vault, newest first, as a list of their ids.
 *
 * The list grows at its end while older sessions are read, a page at a time, and at its beginning when new ones are
 * recorded. What the screen shows of a session is read when it is needed and kept: for ended sessions once, for others
 * until sessions_changed().
 * Of a store, the list has the order of time, which ids do not tell, and sessions_changed() looks at the newest SESSIONS_PAGE
 * sessions only: each question takes time.
 *
 * Owns      the ids, and at most SESSIONS_KEPT rows; sessions_close() frees them.
 * Errors    those of vault/query/reader.h; MI_ENOENT: the session was removed.
 * Blocks    on the vault. */
#ifndef MI_CLI_UI_MODEL_SESSIONS_H
#define MI_CLI_UI_MODEL_SESSIONS_H

#include "cli/frame/session.h"
#include "vault/query/page.h"

#define SESSIONS_KEPT 256
#define SESSIONS_PAGE 64
#define SESSIONS_COUNTED 20000      /* calls that one step counts */
#define SESSIONS_RECOUNT_US 5000000 /* how old the count of a running session may be */

struct session_row {
    struct page_row *page; /* owned; NULL: free */
    enum session_state state;
    int64_t messages, last_t_us; /* the number of the last message, and its time */
    int64_t failed;              /* calls; -1: they were not counted yet */
    int64_t counting,
        counted; /* failed calls up to this message; counted > messages: that is all */
    int64_t counted_us;
    bool stale;
};

/* Whether a session is in the list; asked once for each. A session that is not may be added later. */
typedef bool (*sessions_takes_fn)(void *ctx, const struct query_session *s);

struct sessions {
    int64_t *id; /* owned; newest first */
    size_t n, cap;
    const struct query *store; /* borrowed; NULL: it is a vault */
    int64_t newest, oldest;    /* ids that were looked at; newest: the highest one */
    bool complete;             /* there are no older ones */
    bool requests;             /* set by the caller: failed calls are counted by requests */
    sessions_takes_fn takes;   /* NULL: all */
    void *ctx;
    struct session_row row[SESSIONS_KEPT]; /* the place follows from the id */
};

void sessions_open(struct sessions *l, const struct query *q, sessions_takes_fn takes, void *ctx);
void sessions_close(struct sessions *l);
/* Adds a page of older sessions. */
MI_MUST int sessions_older(struct sessions *l, struct query *q);
/* Adds the sessions that were recorded since, and reads the rows of sessions that had not ended again. */
MI_MUST int sessions_changed(struct sessions *l, struct query *q);
/* Whether the list goes back to this session. */
bool sessions_reach(const struct sessions *l, int64_t id);
/* Adds a session that was not taken, unless it is in the list. */
MI_MUST int sessions_add(struct sessions *l, struct query *q, int64_t id);
/* Counts failed calls of the rows that were read, a part at a time. *ret_more: call again. */
MI_MUST int sessions_count(struct sessions *l, struct query *q, bool *ret_more);
/* The place of a session; n: it is not in the list. */
size_t sessions_place(const struct sessions *l, int64_t id);
/* *ret is valid until a session whose id differs by a multiple of SESSIONS_KEPT is asked for. */
MI_MUST int sessions_get(struct sessions *l, struct query *q, int64_t id,
                         const struct session_row **ret);
/* The duration of a session until its end, or until now. */
int64_t sessions_lasted_us(const struct session_row *r, int64_t now_us);
/* How many of the rows that were read are live. */
size_t sessions_live(const struct sessions *l);

#endif
