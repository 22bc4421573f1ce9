/* protocol.h - checks each message against the rules of MCP.
 *
 * Tracks the state of one connection: revision, handshake, declared capabilities, open streams. Old
 * and new revisions may share a connection: `initialize` selects one of the older revisions, while
 * a request with the protocol version in its _meta belongs to 2026-07-28.
 *
 * Rules     mcp-wire.md 2, 3 and 6.7. Rules for an answer use the struct protocol_asked of its
 *           request, which the caller stores with the pending request.
 * Owns      the used ids, the names in lists, and the subjects of subscriptions; protocol_close()
 *           frees them.
 * Errors    if a table is full, state is dropped, and rules that need it report nothing.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_MCP_PROTOCOL_H
#define MI_WIRE_MCP_PROTOCOL_H

#include "wire/id_set.h"
#include "wire/mcp/method.h"
#include "wire/mcp/rule.h"
#include "wire/rpc.h"

#define PROTOCOL_STREAMS 32 /* maximum number of subscriptions that are tracked */
#define PROTOCOL_STATES 64  /* maximum number of requestStates that are tracked */
#define PROTOCOL_LISTS 4    /* number of methods that return a list in pages */
#define PROTOCOL_TASKS 64   /* maximum number of tasks that are tracked */
/* maximum number of keys of inputRequests that are tracked, for all tasks together */
#define PROTOCOL_KEYS 256
#define PROTOCOL_LEVELS 9 /* number of levels of log messages, plus one: level 0 means no level */
/* maximum number of bytes of the URIs and tasks that are tracked for one subscription */
#define PROTOCOL_STREAM_SET 4096
enum protocol_party { PARTY_CLIENT, PARTY_SERVER };

enum protocol_phase {
    PHASE_NEW,      /* no initialize was sent yet, or the last initialize has failed */
    PHASE_ASKED,    /* initialize was sent, but not answered yet */
    PHASE_ANSWERED, /* initialize was answered, but notifications/initialized was not sent yet */
    PHASE_READY,
};

enum protocol_stream_state {
    STREAM_ASKED,  /* the server has not acknowledged the subscription yet */
    STREAM_AGREED, /* acknowledged */
    /* the client has cancelled the subscription; a notification that the server sent earlier may
     * still arrive */
    STREAM_CANCELLED,
    STREAM_ENDED, /* the server has ended the subscription */
};
struct protocol_stream {
    uint64_t id; /* hash of the id of the request; 0: the stream is free */
    enum protocol_stream_state state;
    /* Bits of the kinds of notifications: first those that the client has requested, later those
     * that the server has agreed to. */
    uint8_t kinds;
    bool tasks; /* true: the client declared the extension for tasks */
    /* Owned; the URIs and tasks of the object `notifications`: first those that were requested,
     * later those that the server has agreed to. Empty if there are none, or too many. */
    struct buf what;
};

/* A requestState that the server has given. */
struct protocol_state {
    uint64_t state;  /* hash of the requestState; 0: the entry is free */
    uint64_t id;     /* hash of the id of the request whose result has the requestState */
    uint64_t target; /* hash of the target of the request; 0: unknown */
    bool asks;       /* true: the result with the requestState asks for input */
};

struct protocol_task {
    uint64_t id; /* hash of the id of the task; 0: the entry is free */
    /* hash of the id of the request that created the task; 0: unknown, or the id was used again */
    uint64_t request;
    /* capabilities that the client declared in the request that created the task */
    uint32_t capabilities;
    uint8_t status; /* enum task_status */
    bool is_known;  /* the client has named the task in a request */
    bool asked;     /* the task has asked for input */
};

struct protocol_key {
    /* hashes of the task's id and of a key of its inputRequests; 0: the entry is free */
    uint64_t task, key;
    uint64_t request; /* hash of the request for input that has this key */
};

/* A list, for example of tools, whose pages the client is reading. */
struct protocol_list {
    uint64_t next;       /* hash of the next page's cursor; 0: none */
    struct id_set names; /* hashes of the names of the entries read so far */
    uint64_t scope;      /* hash of the cacheScope of the last page of the list; 0: none */
};

struct protocol {
    enum protocol_phase phase;
    /* revision that initialize has negotiated; REV_COUNT: none or unknown */
    enum revision revision;
    bool modern; /* a request of 2026-07-28 was received */
    bool client_spoke;
    /* true: notifications/initialized was sent before initialize was answered */
    bool said_initialized;
    /* true: the client has sent requests, but no notifications/initialized so far */
    bool uninitialized;
    bool early_reported; /* true: RULE_REQUEST_BEFORE_INITIALIZE was reported */
    bool after_error;    /* the server's last message was an error */
    /* true: a request asked for a task, so progress may follow the answer to that request */
    bool tasks;
    /* true: the capabilities of the party are known; one element for each party */
    bool declared[2];
    uint32_t capabilities[2]; /* for each party: a set of capabilities, 1u << CAP_TOOLS | … */
    bool discovered;          /* the server has answered server/discover */
    uint32_t discovered_capabilities;
    struct id_set ids[2];     /* ids of each party's requests without a version in _meta */
    struct id_set modern_ids; /* ids of the client's requests of 2026-07-28 */
    struct protocol_list list[PROTOCOL_LISTS];
    /* for each level of log messages: number of pending requests that ask for this level */
    unsigned log_requests[PROTOCOL_LEVELS];
    struct protocol_stream stream[PROTOCOL_STREAMS];
    unsigned next_stream;
    struct protocol_state given[PROTOCOL_STATES];
    unsigned states; /* number of requestStates that the server has given so far */
    struct protocol_task task[PROTOCOL_TASKS];
    unsigned next_task;
    struct protocol_key key[PROTOCOL_KEYS];
    unsigned next_key;
    unsigned stateless; /* number of input_required results without a requestState */
    const char *blame;  /* name of the member that violates one of RULES_OF_MEMBERS; static */
};

/* The facts about a request that the check of its answer needs. */
struct protocol_asked {
    const struct method *method; /* method of the request; NULL if MCP does not define the method */
    enum revision revision;      /* revision of the request */
    bool modern, is_task, has_progress;
    bool task_over;    /* true: the task that the request names had already ended */
    uint8_t log_level; /* 0: none */
    /* capabilities that the client declared in the request; 0 in older revisions */
    uint32_t capabilities;
    uint64_t id, cursor; /* `id`: hash of the request's id; `cursor`: hash of its cursor; 0: none */
    /* Hash of what the request is about: its method, its name or URI, and its arguments; for a
     * request about a task, only the task's id. 0: unknown, or the checks do not need it. */
    uint64_t target;
    double progress; /* progress that was reported last */
};

void protocol_open(struct protocol *p);
void protocol_close(struct protocol *p);

/* Each of these functions returns the rules that a message violates. Call one of them once for each
 * message, in the order of the messages. */
breaches protocol_check_request(struct protocol *p, enum protocol_party from, const struct rpc *m,
                                struct protocol_asked *ret);
/* Forgets a request that was rejected and therefore not sent to the server: it is not pending, and
 * it opens and initializes nothing. Its id still counts as used. */
void protocol_forget_rejected_request(struct protocol *p, const struct protocol_asked *asked);
breaches protocol_check_notification(struct protocol *p, enum protocol_party from,
                                     const struct rpc *m);
/* asked: *ret of protocol_check_request() for the request that this message answers */
breaches protocol_check_answer(struct protocol *p, enum protocol_party from, const struct rpc *m,
                               const struct protocol_asked *asked);
/* Checks a progress notification. Call it in addition to protocol_check_notification(). asked: the
 * request with the notification's token; NULL if no pending request has it. */
breaches protocol_check_progress(struct protocol *p, const struct rpc *m,
                                 struct protocol_asked *asked);

#endif
