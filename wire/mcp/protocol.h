/* protocol.h - checks each message against the rules of MCP.
 *
 * Tracks the state of one connection: revision, handshake, declared capabilities, open streams. Both eras may
 * share a connection: `initialize` selects one of the older revisions, while a request with the protocol
 * version in its _meta belongs to 2026-07-28.
 *
 * Rules     mcp-wire.md 2, 3 and 6.8. Rules for an answer use the struct protocol_asked of its request, which the
 *           caller stores with the pending request.
 * Owns      the ids that were used; protocol_close() frees them.
 * Errors    if a table is full, state is dropped, and rules that need it report nothing.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_MCP_PROTOCOL_H
#define MI_WIRE_MCP_PROTOCOL_H

#include "wire/id_set.h"
#include "wire/mcp/method.h"
#include "wire/mcp/rule.h"
#include "wire/rpc.h"

#define PROTOCOL_STREAMS 32 /* subscriptions that are tracked */
#define PROTOCOL_STATES 64  /* requestStates that are tracked */

enum protocol_party { PARTY_CLIENT, PARTY_SERVER };

enum protocol_phase {
    PHASE_NEW,      /* no initialize yet, or it failed */
    PHASE_ASKED,    /* initialize is pending */
    PHASE_ANSWERED, /* initialize answered, notifications/initialized not yet sent */
    PHASE_READY,
};

struct protocol_stream {
    uint64_t id;   /* hash of the request's id; 0: free */
    uint8_t kinds; /* requested kinds of notifications, one bit each */
    bool acknowledged, over;
};

struct protocol {
    enum protocol_phase phase;
    enum revision revision; /* negotiated by initialize; REV_COUNT: none or unknown */
    bool modern;            /* a request of 2026-07-28 was received */
    bool client_spoke;
    bool said_initialized;    /* notifications/initialized came before initialize was answered */
    bool uninitialized;       /* client requests came, but no notifications/initialized */
    bool early_reported;      /* RULE_REQUEST_BEFORE_INITIALIZE was reported */
    bool after_error;         /* the server's last message was an error */
    bool tasks;               /* a request asked for a task: progress may follow its answer */
    bool declared[2];         /* [party]: capabilities are known */
    uint32_t capabilities[2]; /* 1u << CAP_TOOLS | … */
    struct id_set ids[2];     /* of requests without _meta version, by sender */
    unsigned log_requests;    /* pending requests with a log level */
    struct protocol_stream stream[PROTOCOL_STREAMS];
    unsigned next_stream;
    struct {
        uint64_t state, id;
    } given[PROTOCOL_STATES]; /* hashes of requestStates, and of the ids of their requests */
    unsigned states;          /* number of requestStates that the server has sent */
    unsigned stateless;       /* number of input_required results without a requestState */
    enum field blame;         /* the missing or mistyped member of the last message */
};

/* Facts about a request that are needed until its answer. */
struct protocol_asked {
    const struct method *method; /* NULL: not of MCP */
    enum revision revision;      /* of the request */
    bool modern, wants_log, is_task, has_progress;
    uint32_t capabilities; /* of the client, declared in a request of 2026-07-28 */
    uint64_t id, cursor;   /* hashes; 0: none */
    double progress;       /* reported last */
};

void protocol_open(struct protocol *p);
void protocol_close(struct protocol *p);

/* The rules that a message violates. Call one of these functions once for each message, in order. */
breaches protocol_request(struct protocol *p, enum protocol_party from, const struct rpc *m,
                          struct protocol_asked *ret);
breaches protocol_notification(struct protocol *p, enum protocol_party from, const struct rpc *m);
/* asked: the result of protocol_request() for the request that this message answers. */
breaches protocol_answer(struct protocol *p, enum protocol_party from, const struct rpc *m,
                         const struct protocol_asked *asked);
/* For a progress notification, in addition to protocol_notification(). asked is NULL if no pending request has
 * its token. */
breaches protocol_progress(struct protocol *p, const struct rpc *m, struct protocol_asked *asked);

#endif
