/* source.h - a recording, from wherever: a session of the vault, or a cassette.
 *
 * A session is read page by page, and a body again when it is needed: memory does not grow with it. A
 * cassette is checked as a whole before anything is believed, and is kept in one block of memory.
 *
 * Probe     some clients ask `server/discover` of a throw-away process first (mcp-wire.md 3.3). When the
 *           session before was such a probe of the same server, its messages come first.
 * Rules     never writes. What the client never saw is left out: lines that were swallowed or are no
 *           message, and what the interposer itself said to the server.
 * Form      requests are compared as the recording has kept them, which is in sanitized form: what a live
 *           client says goes through source_form() first, with the rules that the recording was made with.
 *           A recording without rules has kept everything as it was.
 * Owns      what it reads; a session's query is borrowed and outlives the source.
 * Lifetime  a message's slices are good until the next call on the source; the info as long as it is open.
 * Errors    one sentence in `error` or source_error().
 * Blocks    on the disk, as vault/query.h and vault/cassette.h do. */
#ifndef MI_REPLAY_SOURCE_H
#define MI_REPLAY_SOURCE_H

#include "vault/query.h"
#include "wire/rpc.h"

struct source;

/* Of the session, or of the cassette's header. */
struct source_info {
    struct slice uid, name, protocol_version, record_level, end_reason;
    bool has_exit_status;
    int64_t exit_status;
    bool server_ended; /* the server left by itself, and the session with it */
};

struct source_message {
    uint64_t place;         /* ascending; names the message to source_body() */
    uint64_t request_place; /* of an answer or a cancellation: its request. 0: none */
    int64_t t_us;
    bool from_client;
    bool in_batch;  /* a member of an array line */
    bool is_stderr; /* a line of the server's standard error, and no message */
    enum rpc_kind kind;
    struct slice id;   /* JSON text */
    struct slice body; /* {NULL, 0}: it is large, ask source_body(), or it was never kept */
    bool lost;         /* it was never kept */
};

/* A session as query_session() or source_pick() gave it, whose text is gone afterwards. 0, MI_EINVAL (cannot be
 * replayed), MI_ENOMEM or MI_ESTORE. */
MI_MUST int source_open_session(struct source **ret, struct query *q,
                                const struct query_session *session, struct buf *error);
MI_MUST int source_open_cassette(struct source **ret, const char *path, struct buf *error);
void source_close(struct source *s); /* NULL is fine */

const struct source_info *source_info(const struct source *s);
/* The next message. 0, MI_ENOENT (there are no more), MI_ESTORE, MI_EIO or MI_ENOMEM. */
MI_MUST int source_next(struct source *s, struct source_message *ret);
/* The whole body, appended. 0, MI_ENOENT (it is gone, or was never kept), MI_ESTORE, MI_EIO, MI_ENOMEM. */
MI_MUST int source_body(struct source *s, uint64_t place, struct buf *b);
const char *source_error(struct source *s);
/* The form in which this recording would have kept a message: *ret may be the message itself, and is good
 * until the next call of this function. 0 or MI_ENOMEM. */
MI_MUST int source_form(struct source *s, struct slice message, struct slice *ret);
/* Its sanitizer was not that of this program: what it has kept goes through source_form() as well. */
bool source_form_is_old(const struct source *s);
/* The number that people know a message by: `seq`. */
uint64_t source_seq(uint64_t place);

/* The newest session that has ended and is more than a probe, of this name if one is given. `running` tells
 * whether a session without an end still runs (NULL: all of them do). 0, MI_ENOENT, MI_ESTORE or MI_ENOMEM. */
typedef bool (*source_running_fn)(const struct query_session *s);
MI_MUST int source_pick(struct query *q, const char *name, source_running_fn running,
                        struct query_session *ret, struct buf *error);

#endif
