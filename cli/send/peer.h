/* peer.h - the server to which a request is sent. It runs behind `mcp-interposer proxy`, so that
 * the exchange is recorded as a session.
 *
 * Handshake the recorded `initialize` and `notifications/initialized`. If no complete `initialize`
 *           is recorded, or if the user has chosen a revision, a new `initialize`. If the user has
 *           chosen none and the server rejects `initialize`, server/discover asks whether the
 *           server speaks 2026-07-28, where each request has `_meta` instead of a handshake.
 * Owns      the process, the live session, and the tools; peer_close() frees them.
 * Errors    MI_EIO (the server cannot be started) and those of replay/live/live_session.h, with a
 *           sentence in peer.error.
 * Blocks    until the server answers or the deadline passes; peer_end_server() until the proxy has
 *           exited. SIGPIPE must be ignored. */
#ifndef MI_CLI_SEND_PEER_H
#define MI_CLI_SEND_PEER_H

#include "cli/settings/config.h"
#include "replay/live/live_ask.h"
#include "wire/mcp/method.h"

struct peer {
    struct live *live;           /* owned */
    struct live_session session; /* owned */
    struct tools tools;          /* owned; the server's tools, which peer_request_tools() reads */
    /* owned; JSON of `_meta` in requests of 2026-07-28; empty: an older revision. Before
     * peer_perform_handshake(), the caller may set it from a recorded request. */
    struct buf meta;
    struct buf error; /* owned */
};

enum peer_greeting {
    PEER_READY,
    PEER_REFUSED, /* the answer to initialize is an error */
    PEER_SILENT,  /* the server has not answered */
};

/* Loads the recording. source: borrowed; NULL: no recording is used. */
MI_MUST int peer_load_recording(struct peer *p, struct source *source);
/* Starts the server. dir: its working directory; NULL: that of this process. name: name of the
 * recorded session; NULL: derived from the command. from: the request that is sent again, UID:SEQ
 * or FILE:SEQ, which the session records; NULL: a new request. Returns MI_EINVAL if a setting is
 * invalid, after logging the error. */
MI_MUST int peer_start_server(struct peer *p, const struct settings *s, char *const *argv,
                              const char *dir, const char *name, const char *from);
/* Performs the handshake. before: index of the recorded request to be sent; the handshake recorded
 * before it is used; LIVE_SESSION_NONE: the end of the recording. revision: the chosen revision;
 * REV_COUNT: none was chosen. *ret_answer is set if *ret is PEER_REFUSED. */
MI_MUST int peer_perform_handshake(struct peer *p, uint32_t before, enum revision revision,
                                   enum peer_greeting *ret, struct rpc *ret_answer);
/* Reads the tools. *ret_last is the last answer, which is an error if the list is incomplete.
 * *ret_answered: whether there is an answer. */
MI_MUST int peer_request_tools(struct peer *p, struct rpc *ret_last, bool *ret_answered);
/* From now on, reports on stderr what the server sends while it works on a request: log messages,
 * progress, and its own requests. */
void peer_report_messages(struct peer *p);
/* Tells the server that the client has cancelled the newest request. */
void peer_cancel_request(struct peer *p);
/* Whether the answer is an error from the proxy that says that the server has ended. */
bool peer_says_server_ended(const struct rpc *answer);
/* Ends the server. Returns the exit status of the proxy, which is the exit status of the server. */
int peer_end_server(struct peer *p);
void peer_close(struct peer *p); /* safe to call twice */

#endif
