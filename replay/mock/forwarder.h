/* forwarder.h - sends requests that were not recorded to a live server, and the server's answers to
 * the client.
 *
 * Start     the server is started for the first unrecorded request. It gets the client's
 *           `initialize` with the recorded revision, and `notifications/initialized`. New requests
 *           wait until the server is ready. Requests of revision 2026-07-28 need no handshake.
 * Catch up  with `catch_up`, the server also gets the earlier requests of the client that change
 *           nothing, because of their method or because the live server marks the tool as
 *           read-only. The answers to these requests are dropped. Then the server is ready.
 * All       with `all`, nothing is replayed: the first line of the client starts the server, and
 *           all lines go to it.
 * Messages  ids of the client's requests and of the server's requests are replaced by numbers that
 *           the replay does not use; tokens are unchanged. Messages that the server sends before it
 *           is ready are dropped, except requests.
 * Recorded  messages between the client and the live server are passed to keep(), with the client's
 *           ids, so that the caller can record them.
 * Owns      copies of the client's initialize and of each request until it is sent; 64 bytes and
 *           the id of each pending request. The conversation is borrowed.
 * Errors    MI_ENOMEM, and errors of the source and of the callbacks. A server that cannot be
 *           started, rejects the handshake or ends is not such an error: requests for it get error
 *           answers.
 * Blocks    never, except on the source. */
#ifndef MI_REPLAY_MOCK_FORWARDER_H
#define MI_REPLAY_MOCK_FORWARDER_H

#include "replay/mock/state.h"

struct forwarder;

struct forwarder_callbacks {
    /* Starts the server. Returns 0, or MI_EIO after logging the reason. */
    int (*start)(void *ctx);
    /* Queues a line for the server, given without its newline. Returns 0 or MI_ENOMEM. */
    int (*send)(void *ctx, struct slice line);
    /* Called for a message between the client and the live server, which is sanitized with the
     * rules of the recording. May be NULL. 0 or MI_ENOMEM. */
    int (*keep)(void *ctx, bool from_client, struct slice message, int64_t now_us);
    /* Appends how the server ended, as live_append_server_end_reason() does. */
    void (*end_text)(void *ctx, struct buf *b);
};

struct forwarder_rules {
    bool all; /* send everything to the live server; there is no recording */
    bool catch_up;
};

MI_MUST int forwarder_open(struct forwarder **ret, const struct forwarder_rules *rules,
                           const struct forwarder_callbacks *calls, void *ctx);
void forwarder_close(struct forwarder *f); /* the argument may be NULL */
/* Whether everything goes to the live server; false if f is NULL. */
bool forwarder_forwards_all_requests(const struct forwarder *f);
/* returns the number of unanswered requests; f NULL: 0 */
size_t forwarder_count_requests(const struct forwarder *f);

/* ---- lines of the client ---- */

/* Stores the client's initialize, which is answered from the recording. */
MI_MUST int forwarder_copy_initialize(struct conversation *s, const struct rpc *live);
/* Stores which recorded exchange has answered a request. */
MI_MUST int forwarder_add_catch_up_exchange(struct conversation *s, uint32_t exchange);
/* Sends a request to the live server, so that this server answers it. The first request starts the
 * server. Requests wait until the server is ready. If the server has ended or cannot be used, the
 * request gets an error. */
MI_MUST int forwarder_send_or_queue_request(struct conversation *s, const struct rpc *live,
                                            struct mock_batch *batch);
MI_MUST int forwarder_send_client_notification(struct conversation *s, const struct rpc *live);
/* Sends the client's answer if it answers a request of the live server; drops it otherwise. */
MI_MUST int forwarder_send_client_answer(struct conversation *s, const struct rpc *live);

/* ---- the live server ---- */

/* Handles a line of the server, without its newline. */
MI_MUST int forwarder_handle_server_line(struct conversation *s, struct slice line);
/* Call this function when the server has ended: its pending requests get errors. */
MI_MUST int forwarder_on_server_ended(struct conversation *s);

#endif
