/* protocol.h - the rules of MCP, message by message: what does this one break?
 *
 * Follows one connection: which revision is spoken, how far the handshake is, what was declared, which
 * streams are open. Both eras may share a pipe: `initialize` makes the connection one of the older
 * revisions, a request with the protocol version in its _meta is one of 2026-07-28 by itself.
 *
 * Rules     mcp-wire.md 2, 3 and 6.8. What a rule needs to know of a request when its answer comes stands in
 *           a struct protocol_asked, which the caller keeps with the request.
 * Owns      the ids that were used; protocol_close() frees them.
 * Errors    what does not fit into its tables is not found to be wrong.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_PROTOCOL_H
#define MI_WIRE_PROTOCOL_H

#include "wire/id_set.h"
#include "wire/method.h"
#include "wire/rpc.h"
#include "wire/rule.h"

#define PROTOCOL_STREAMS 32 /* subscriptions/listen that are remembered */
#define PROTOCOL_STATES 64  /* requestStates that are remembered */

enum protocol_party { PARTY_CLIENT, PARTY_SERVER };

enum protocol_phase {
    PHASE_NEW,      /* no initialize yet, or it failed */
    PHASE_ASKED,    /* initialize has no answer yet */
    PHASE_ANSWERED, /* but the client has not said notifications/initialized */
    PHASE_READY,
};

struct protocol_stream {
    uint64_t id;   /* hash of the request's id; 0: free */
    uint8_t kinds; /* that were asked for, a bit each */
    bool acknowledged, over;
};

struct protocol {
    enum protocol_phase phase;
    enum revision revision; /* negotiated by initialize; REV_COUNT: not, or an unknown one */
    bool modern;            /* a request of 2026-07-28 was seen */
    bool client_spoke;
    bool said_initialized;    /* before initialize was answered */
    bool uninitialized;       /* the client asks, and has not said notifications/initialized */
    bool told_early;          /* that requests come before initialize */
    bool after_error;         /* the server's last message was an error */
    bool tasks;               /* a request asked to become a task: its progress outlives it */
    bool declared[2];         /* [party]: capabilities are known */
    uint32_t capabilities[2]; /* 1u << CAP_TOOLS | … */
    struct id_set ids[2];     /* of requests without _meta version, by sender */
    unsigned log_requests;    /* requests that want log messages and have no answer */
    struct protocol_stream stream[PROTOCOL_STREAMS];
    unsigned next_stream;
    struct {
        uint64_t state, id;
    } given[PROTOCOL_STATES]; /* hashes of requestStates, and of the ids of their requests */
    unsigned states;          /* given in all */
    unsigned stateless;       /* input_required results without one */
    enum field blame; /* the member that the last message lacks, or that is of a wrong type */
};

/* What is kept of a request until its answer. */
struct protocol_asked {
    const struct method *method; /* NULL: not of MCP */
    enum revision revision;      /* that it speaks */
    bool modern, wants_log, is_task, has_progress;
    uint32_t capabilities; /* of the client, declared in a modern request itself */
    uint64_t id, cursor;   /* hashes; 0: none */
    double progress;       /* reported last */
};

void protocol_open(struct protocol *p);
void protocol_close(struct protocol *p);

/* Each message once, in the order in which they passed: the rules that it breaks. */
breaches protocol_request(struct protocol *p, enum protocol_party from, const struct rpc *m,
                          struct protocol_asked *ret);
breaches protocol_notification(struct protocol *p, enum protocol_party from, const struct rpc *m);
/* asked: what protocol_request() gave for the request that this answers. */
breaches protocol_answer(struct protocol *p, enum protocol_party from, const struct rpc *m,
                         const struct protocol_asked *asked);
/* A progress notification, beside protocol_notification(). NULL: no open request has its token. */
breaches protocol_progress(struct protocol *p, const struct rpc *m, struct protocol_asked *asked);

#endif
