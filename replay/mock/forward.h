/* forward.h - requests that were not recorded go to a live server, and its answers to the client.
 *
 * Start     the server is started for the first such request. It gets the client's `initialize` with the recorded
 *           revision, and `notifications/initialized`; with `catch_up` then the requests that the client has sent so far
 *           and that change nothing: by their method, or because the live server marks the tool as read-only. Their
 *           answers are dropped. Requests wait until that is done. Requests of revision 2026-07-28 need no handshake.
 * All       `all`: nothing is replayed, the first line of the client starts the server, and each line goes to it.
 * Messages  ids of the client's requests and of the server's requests are replaced by numbers of our own, which are unique
 *           beside those of the replay; tokens are unchanged. Messages of the server that arrive before it is ready are
 *           dropped, except requests.
 * Kept      what the client has sent to the live server and received from it, with the client's ids, is passed to keep(),
 *           so that it can be recorded.
 * Owns      a copy of the client's initialize, of each request until it is sent, and 64 bytes and the id of each pending
 *           request. The conversation is borrowed.
 * Errors    MI_ENOMEM, those of the source and of the callbacks. A server that cannot be started, rejects the handshake
 *           or ends is not one: its requests get errors.
 * Blocks    never, except on the source. */
#ifndef MI_REPLAY_MOCK_FORWARD_H
#define MI_REPLAY_MOCK_FORWARD_H

#include "replay/mock/state.h"

struct forward;

struct forward_calls {
    /* Starts the server. 0; MI_EIO: the reason was logged. */
    int (*start)(void *ctx);
    /* Queues a line for the server, given without its newline. 0 or MI_ENOMEM. */
    int (*send)(void *ctx, struct slice line);
    /* A message between the client and the live server, sanitized with the rules of the recording. NULL: not wanted. 0 or
     * MI_ENOMEM. */
    int (*keep)(void *ctx, bool from_client, struct slice message, int64_t now_us);
    /* The server has ended: appends what it did, as live_end_text() does. */
    void (*end_text)(void *ctx, struct buf *b);
};

struct forward_rules {
    bool all; /* without a recording */
    bool catch_up;
};

MI_MUST int forward_open(struct forward **ret, const struct forward_rules *rules,
                         const struct forward_calls *calls, void *ctx);
void forward_close(struct forward *f);           /* NULL is allowed */
bool forward_all(const struct forward *f);       /* NULL: false */
size_t forward_pending(const struct forward *f); /* requests without an answer; NULL: 0 */

/* ---- lines of the client ---- */

/* The client's initialize, which is answered from the recording. */
MI_MUST int forward_hello(struct conversation *s, const struct rpc *live);
/* A request is answered from the recording. */
MI_MUST int forward_note(struct conversation *s, uint32_t exchange);
/* A request that the live server is to answer. */
MI_MUST int forward_request(struct conversation *s, const struct rpc *live,
                            struct mock_batch *batch);
MI_MUST int forward_notification(struct conversation *s, const struct rpc *live);
/* The client's answer to a request; dropped if the live server has not sent it. */
MI_MUST int forward_answer(struct conversation *s, const struct rpc *live);

/* ---- the live server ---- */

/* A line of the server, without its newline. */
MI_MUST int forward_line(struct conversation *s, struct slice line);
/* It has ended. */
MI_MUST int forward_ended(struct conversation *s);

#endif
