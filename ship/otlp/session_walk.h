/* session_walk.h - sessions that are being sent: how far each was read, and its open calls.
 *
 * Rules     a call is closed by a forwarded answer of the other side or by its cancellation,
 *           whichever comes first.
 * Owns      16 bytes for each open call.
 * Errors    MI_ENOMEM.
 * Blocks    never. Pure. */
#ifndef MI_SHIP_OTLP_SESSION_WALK_H
#define MI_SHIP_OTLP_SESSION_WALK_H

#include "vault/query/reader.h"

struct open_call {
    int64_t seq;
    bool from_server;
};

struct walk {
    int64_t id; /* id of the session */
    /* `seq` and `t_us` are those of the last message that was read; `event` is the id of the last
     * event that was read */
    int64_t seq, event, t_us;
    struct open_call *open; /* owned; the open calls, sorted by seq */
    size_t open_n, open_cap;
    bool complete; /* true: the session has ended, and all of it was read */
    bool saved;    /* true: the cursor in the vault has the same values as this struct */
};

/* The sessions that are being sent, sorted by id. */
struct walks {
    struct walk *list; /* owned */
    size_t n, cap;
};

struct walk *session_walks_find(const struct walks *w, int64_t id); /* NULL: w lacks the session */
/* Adds a session, of which nothing was read yet. NULL: no memory. Invalidates pointers to
 * sessions. */
struct walk *session_walks_add(struct walks *w, int64_t id);
void session_walks_remove(struct walks *w, int64_t id);
/* removes all sessions, or only those that are complete and saved */
void session_walks_drop_saved(struct walks *w, bool all);

/* Reads the next message. *ret_call: seq of the call that the message closes; 0: none. */
MI_MUST int walk_update_open_calls(struct walk *w, const struct query_message *m,
                                   int64_t *ret_call);
int64_t walk_remove_first_open_call(
    struct walk *w); /* removes the first open call; returns its seq, or 0 */

#endif
