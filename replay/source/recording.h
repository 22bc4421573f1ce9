/* recording.h - a recording to replay: a session of the vault, or a cassette.
 *
 * A session is read page by page, and large bodies are read when they are needed: memory does not
 * grow with the session. A cassette is first read into memory completely and validated.
 *
 * Probe     some clients first send `server/discover` to a separate process (mcp-wire.md 3.3). If
 *           the previous session was such a probe of the same server, its messages come first.
 * Rules     never writes. Messages that the client did not receive are left out: dropped lines,
 *           noise, and the interposer's own messages to the server.
 * Form      requests are compared in sanitized form, as the recording stores them:
 *           source_sanitize_message() sanitizes a live message with the rules of the recording. A
 *           recording without rules stores messages unchanged.
 * Owns      the texts that it has read; the query of a session is borrowed and must outlive the
 *           source.
 * Lifetime  slices of a message are valid until the next call on the source; the info as long as
 *           the source is open.
 * Errors    one sentence in `error` or source_error().
 * Blocks    on the disk. */
#ifndef MI_REPLAY_SOURCE_RECORDING_H
#define MI_REPLAY_SOURCE_RECORDING_H

#include "vault/query/reader.h"
#include "wire/rpc.h"

struct source;

/* Metadata of the session, or the header of the cassette. A text that is not known is {NULL, 0}. */
struct source_info {
    struct {
        SESSION_FIELDS(FIELD_MEMBER)
    };
    bool server_ended; /* the session ended because the server exited */
    bool cut_off;      /* the session ended because the proxy was killed or has failed */
};

struct source_message {
    /* position of the message, for source_read_body(); a later message has a higher position */
    uint64_t place;
    uint64_t request_place; /* for an answer or a cancellation: position of the request; else 0 */
    int64_t t_us;
    bool from_client;
    bool in_batch;  /* the message is a member of a batch */
    bool is_stderr; /* a line of the server's stderr, not a message */
    enum rpc_kind kind;
    struct slice id; /* JSON text */
    /* {NULL, 0}: the body is large (call source_read_body()), or was not recorded */
    struct slice body;
    bool lost;               /* the body was not recorded */
    enum call_status status; /* for an answer: how the call ended; else CALL_UNKNOWN */
};

/* Opens a session that query_session() or source_pick_session() returned; the slices of `session`
 * are invalid after the call. 0, MI_EINVAL (the session cannot be replayed), MI_ENOMEM or
 * MI_ESTORE. */
MI_MUST int source_open_session(struct source **ret, struct query *q,
                                const struct query_session *session, struct buf *error);
MI_MUST int source_open_cassette(struct source **ret, const char *path, struct buf *error);
/* Opens a recording with this metadata and without messages. */
MI_MUST int source_open_without_messages(struct source **ret, const struct query_session *session,
                                         struct buf *error);
void source_close(struct source *s); /* the argument may be NULL */

const struct source_info *source_info(const struct source *s);
/* Returns the next message. 0, MI_ENOENT (no more messages), MI_ESTORE, MI_EIO or MI_ENOMEM. */
MI_MUST int source_read_next_message(struct source *s, struct source_message *ret);
/* Appends the whole body to `b`. 0, MI_ENOENT (deleted or not recorded), MI_ESTORE, MI_EIO,
 * MI_ENOMEM. */
MI_MUST int source_read_body(struct source *s, uint64_t place, struct buf *b);
const char *source_error(struct source *s);
/* Sanitizes a message with the rules of the recording. *ret may be the message itself, and is valid
 * until the next call of this function. 0 or MI_ENOMEM. */
MI_MUST int source_sanitize_message(struct source *s, struct slice message, struct slice *ret);
/* Whether another version of the sanitizer made the recording. If so, recorded messages must also
 * pass through source_sanitize_message() before they are compared. */
bool source_sanitizer_is_old(const struct source *s);
/* Returns the `seq` of a message in its session. */
uint64_t source_seq_in_session(uint64_t place);

/* Picks the newest session that has ended, is not just a probe, and was not made by `send`. name:
 * only sessions of this name; NULL: any. before: only sessions older than this id; 0: any. running:
 * says whether a session without a recorded end is still running; NULL: such sessions count as
 * running. 0, MI_ENOENT, MI_ESTORE or MI_ENOMEM. */
typedef bool (*source_running_fn)(struct query *q, const struct query_session *s);
MI_MUST int source_pick_session(struct query *q, const char *name, int64_t before,
                                source_running_fn running, struct query_session *ret,
                                struct buf *error);

#endif
