/* peer.h - the server to which a request is sent: it runs behind `mcp-interposer proxy`, so that what is sent is recorded
 * as a session like any other.
 *
 * Handshake the recorded `initialize` and `notifications/initialized`, if there is a recording; else an initialize of
 *           our own. A server that rejects that is asked with server/discover whether it speaks 2026-07-28; in that
 *           revision each request has `_meta` instead.
 * Owns      the process, the conversation, and the tools; peer_close() frees them.
 * Errors    MI_EIO (it cannot be started) and those of replay/live/talk.h, with a sentence in peer.error.
 * Blocks    until the server answers or the deadline passes; peer_end() until the proxy has exited. SIGPIPE must be
 *           ignored. */
#ifndef MI_CLI_SEND_PEER_H
#define MI_CLI_SEND_PEER_H

#include "cli/settings/config.h"
#include "replay/live/ask.h"
#include "wire/mcp/method.h"

struct peer {
    struct live *live;  /* owned */
    struct talk talk;   /* owned */
    struct tools tools; /* owned; after peer_ask_tools() */
    struct buf
        meta; /* owned; `_meta` of requests of 2026-07-28, JSON; empty: older revisions. The caller may
                          set that of a recorded request before peer_greet() */
    struct buf error; /* owned */
};

enum peer_greeting {
    PEER_READY,
    PEER_REFUSED, /* the answer to initialize is an error */
    PEER_SILENT,  /* no answer */
};

/* Reads the recording. source: borrowed; NULL: none. */
MI_MUST int peer_load(struct peer *p, struct source *source);
/* Starts the server. dir: its working directory; NULL: that of this process. name: of the session that is recorded; NULL:
 * derived from the command. from: the request that is sent again, for the record; NULL: a new one. MI_EINVAL: a setting is invalid, and the error was logged. */
MI_MUST int peer_start(struct peer *p, const struct settings *s, char *const *argv, const char *dir,
                       const char *name, const char *from);
/* before: the recorded request to be sent, TALK_NONE: the end of the recording; what precedes it is the handshake.
 * revision: to begin with; REV_COUNT: not chosen. *ret_answer: of PEER_REFUSED. */
MI_MUST int peer_greet(struct peer *p, uint32_t before, enum revision revision,
                       enum peer_greeting *ret, struct rpc *ret_answer);
/* *ret_last, *ret_answered: the last answer, as in talk_ask_tools(). */
MI_MUST int peer_ask_tools(struct peer *p, struct rpc *ret_last, bool *ret_answered);
/* Tells the server that the answer to the last request is no longer wanted. */
void peer_cancel(struct peer *p);
/* Whether this answer is an error of the proxy, because the server has ended. */
bool peer_server_ended(const struct rpc *answer);
/* Ends the server. Returns the exit status of the proxy, which is that of the server. */
int peer_end(struct peer *p);
void peer_close(struct peer *p); /* safe to call twice */

#endif
