/* followed.h - the sessions that `tail` follows, how far each session was read, and the open calls.
 *
 * Owns      copies of the rows of at most FOLLOWED_MAX sessions; followed_close() frees them.
 * Limits    the newest FOLLOWED_MAX sessions are followed; open calls beyond FOLLOWED_OPEN_MAX are
 *           ignored.
 * Blocks    never. */
#ifndef MI_CLI_LOOK_FOLLOW_FOLLOWED_H
#define MI_CLI_LOOK_FOLLOW_FOLLOWED_H

#include "vault/query/reader.h"

#define FOLLOWED_MAX 256
#define FOLLOWED_OPEN_MAX 256
#define FOLLOWED_WHAT_MAX 96

struct followed_session {
    struct query_session s; /* the row of the session; the strings point into `text` */
    struct buf text;        /* owned */
    int64_t seq, event;     /* last seq and last event id that were read */
    bool ended;             /* the end of the session is recorded */
    bool unwanted;          /* the name of the client was recorded, and does not match --client */
};

struct followed_call {
    int64_t session_id, seq, at_us;
    /* description, such as "files read_file" or "files resources/list" */
    char what[FOLLOWED_WHAT_MAX];
};

struct followed {
    struct followed_session *session[FOLLOWED_MAX]; /* the sessions, ordered by id; owned */
    size_t n;
    /* some sessions are not followed, because the list is full */
    bool left_out;
    struct followed_call open[FOLLOWED_OPEN_MAX]; /* oldest first */
    size_t open_n;
};

void followed_close(struct followed *l);
/* Adds a session. If the list is full, drops the oldest session, or does not add s if s is older
 * than all others. *ret is borrowed from the list, NULL if s was not added; ret may be NULL.
 * Returns 0 or MI_ENOMEM. */
MI_MUST int followed_add_session(struct followed *l, const struct query_session *s,
                                 struct followed_session **ret);
/* Replaces a session's row with its current row. */
MI_MUST int followed_update_session(struct followed_session *s, const struct query_session *now);
/* Removes a session and its open calls. */
void followed_remove_session(struct followed *l, size_t i);

/* Add or remove an open call. Removing an unknown call does nothing. */
void followed_add_open_call(struct followed *l, const struct query_session *s, int64_t seq,
                            int64_t t_us, struct slice method, struct slice target);
void followed_remove_open_call(struct followed *l, int64_t session_id, int64_t seq);

#endif
