/* handshake.h - the messages to repeat to a new server process, so that the client does not notice
 * the restart.
 *
 * Learned from messages: the client's initialize and the server's result, the last log level, the
 * subscribed resources, and the tools that may be called twice.
 *
 * Rules     mcp-wire.md 6.3. Ids of the interposer's own requests start with HANDSHAKE_ID and a
 *           secret of the session, so that no client has a pending request with such an id:
 *           otherwise an answer for the interposer could reach the client, or the interposer could
 *           take the client's answer.
 * Owns      copies of these messages; at most HANDSHAKE_MAX bytes of subscriptions and of tool
 *           names each. Beyond this limit nothing is kept, and `incomplete` is set.
 * Blocks    never. Pure. */
#ifndef MI_PROXY_SESSION_HANDSHAKE_H
#define MI_PROXY_SESSION_HANDSHAKE_H

#include "base/json_out.h"
#include "proxy/session/pending.h"

#define HANDSHAKE_ID "mcp-interposer:"
#define HANDSHAKE_SECRET_MAX 16
#define HANDSHAKE_MAX ((size_t)1 << 20)

struct handshake {
    /* owned: the params of the client's initialize; empty: the client has sent none */
    struct buf initialize;
    struct buf answer; /* owned: the server's result of the client's initialize */
    bool initialized;  /* the client has sent notifications/initialized */
    struct buf level;  /* owned: the params of logging/setLevel; empty: none */
    /* owned: URIs of the subscribed resources, as JSON strings, each between newlines */
    struct buf subscribed;
    /* owned: names of the tools that may be called twice, as JSON strings, each between newlines */
    struct buf repeatable;
    bool incomplete; /* a setting could not be kept, so it will not be repeated to a new process */
    /* the client's initialize could not be kept: no new process can serve this client */
    bool initialize_lost;
    /* Prefix of the ids of the interposer's own requests; a number follows. */
    char own_id[sizeof HANDSHAKE_ID + HANDSHAKE_SECRET_MAX + 1];
    uint64_t last_id; /* number in the id of the interposer's last request */
    /* number in the id of the repeated initialize that is pending; 0: none */
    uint64_t initialize_id;
};

void handshake_open(struct handshake *h);
void handshake_close(struct handshake *h);
/* Call this function before the interposer's first request. secret: at most HANDSHAKE_SECRET_MAX
 * random characters that need no escape. */
void handshake_set_own_id_secret(struct handshake *h, const char *secret);

/* Call this function when the server has answered the client's request with a result. */
void handshake_handle_answer(struct handshake *h, const struct pending *p, const struct rpc *m);
/* Call this function when the client has sent notifications/initialized. */
void handshake_mark_client_initialized(struct handshake *h);

/* Returns true if this request may be sent to a new process even though the old one has read it. */
bool handshake_may_resend_request(const struct handshake *h, const struct pending *p);
/* Returns true if the request may run twice: the method only reads, or the tool is marked
 * readOnlyHint or idempotentHint. */
bool handshake_request_is_repeatable(const struct handshake *h, const struct pending *p);

/* Returns true if the tool may run twice. raw_name: the tool's name as a JSON string without the
 * quotes. */
bool handshake_tool_may_run_twice(const struct handshake *h, struct slice raw_name);

/* Writes the initialize for a new process. Returns false if the client has sent none. */
bool handshake_write_initialize_request(struct handshake *h, struct buf *b);
/* Returns true if m answers the repeated initialize. */
bool handshake_is_initialize_answer(const struct handshake *h, const struct rpc *m);
/* Returns true if m has the protocol version and capabilities of the old process; if not, `why`
 * gets a sentence. */
bool handshake_is_compatible(const struct handshake *h, const struct rpc *m, struct buf *why);
/* Writes one of the messages that follow initialize. *at is 0 for the first message, and is
 * advanced to the next one. Returns false if there are no more messages. */
bool handshake_write_next_message(struct handshake *h, size_t *at, struct buf *b);
/* Writes one of the list_changed notifications for the client, because the new process may have
 * other lists. *at is used as in handshake_write_next_message(). */
bool handshake_write_list_changed_notice(const struct handshake *h, size_t *at, struct buf *b);

/* Returns true if this is the id of a request of the interposer. */
bool handshake_is_id_made_by_proxy(const struct handshake *h, struct json_value id);
/* Returns true if this is the id of the interposer's request with the number n. */
bool handshake_is_proxy_request_id(const struct handshake *h, struct json_value id, uint64_t n);
/* Starts a request of the interposer, with a new id. The caller adds the params and ends the
 * object. */
void handshake_begin_request(struct handshake *h, struct json_out *j, const char *method);

#endif
