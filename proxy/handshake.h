/* handshake.h - what a new process of the server must be told, so that the client need not notice.
 *
 * Learnt from what passes: the client's initialize and the server's answer to it, the last level that was
 * set, the resources that are subscribed, the tools that may be called twice.
 *
 * Rules     mcp-wire.md 6.3. Our own requests have ids that begin with HANDSHAKE_ID, which no peer uses.
 * Owns      copies of all that; HANDSHAKE_MAX bytes of subscriptions and of tools' names each. What does
 *           not fit is forgotten, and `forgot` says so.
 * Blocks    never. Pure. */
#ifndef MI_PROXY_HANDSHAKE_H
#define MI_PROXY_HANDSHAKE_H

#include "proxy/pending.h"

#define HANDSHAKE_ID "mcp-interposer:"
#define HANDSHAKE_MAX ((size_t)1 << 20)

struct handshake {
    struct buf initialize; /* owned: the params of the client's; empty: there was none */
    struct buf answer;     /* owned: the result that the client got for it */
    bool initialized;      /* the client has said notifications/initialized */
    struct buf level;      /* owned: the params of logging/setLevel; empty: none */
    struct buf subscribed; /* owned: uris as JSON strings, each between newlines */
    struct buf repeatable; /* owned: names of tools, the same way */
    bool forgot;           /* something did not fit: a new process is not told all */
    bool lost;             /* nor even the handshake: no new process can be of use to this client */
    uint64_t last_id;      /* of our own requests */
    uint64_t initialize_id; /* of the initialize that is under way; 0: none */
};

void handshake_open(struct handshake *h);
void handshake_close(struct handshake *h);

/* The server has answered the client's request with a result. */
void handshake_answered(struct handshake *h, const struct pending *p, const struct rpc *m);
/* The client has said notifications/initialized. */
void handshake_initialized(struct handshake *h);

/* May this request go to a new process, although the old one had it? */
bool handshake_repeats(const struct handshake *h, const struct pending *p);

/* The first message for a new process; false: there was no handshake, nothing is to be said first. */
bool handshake_first(struct handshake *h, struct buf *b);
/* Is this the answer to it? And is it what the old process said? A sentence goes to `why` when not. */
bool handshake_is_answer(const struct handshake *h, const struct rpc *m);
bool handshake_same(const struct handshake *h, const struct rpc *m, struct buf *why);
/* What follows it, one message a call; *at begins at 0. False: that was all. */
bool handshake_next(struct handshake *h, size_t *at, struct buf *b);
/* Notifications for the client: lists may be others now. The same way. */
bool handshake_hint(const struct handshake *h, size_t *at, struct buf *b);

/* The id of a request of ours. */
bool handshake_is_own_id(struct json_value id);
uint64_t handshake_own_id(struct handshake *h); /* a new one: the number behind HANDSHAKE_ID */

#endif
