/* link.h - reads the facts in a message that tell to which operation the message belongs
 * (model/operations.h).
 *
 * Rules     mcp-wire.md 2.2, 3.3: `requestState`, `inputRequests` and `inputResponses` of revision
 *           2026-07-28; tasks of 2025-11-25 and of the extension of 2026-07-28.
 * Owns      nothing; a link has no pointers. Values that a server or a user has chosen are hashed.
 * Blocks    never. Pure. */
#ifndef MI_MODEL_LINK_H
#define MI_MODEL_LINK_H

#include "model/values.h"
#include "wire/rpc.h"

enum link_kind {
    LINK_NONE,
    LINK_ASKS,       /* an answer that asks for input: the client will send the request again */
    LINK_RETRY,      /* a request that contains input, or the state from an earlier answer */
    LINK_STARTS,     /* an answer that starts a task */
    LINK_TASK,       /* a request about a task */
    LINK_TASK_STATE, /* the state of a task, in an answer or a notification */
    /* a request that belongs to a task which a request of the other side has started */
    LINK_FOR_TASK,
};

struct link {
    enum link_kind kind;
    uint64_t key;      /* hash of the requestState or of the task's id; 0: there is neither */
    bool brings_input; /* the message has the member inputResponses */
    /* number of requests for input in the message; 1 if the message itself is such a request */
    uint32_t asks;
    /* at least one of the requests for input is for a person (model/asker.h) */
    bool asks_person;
    enum call_status status; /* status of the task; CALL_OPEN while it runs */
};

/* Returns whether link_read_from_message() may find a link. This check is fast: it looks only at
 * the types of members that rpc_read() has found. */
bool link_may_exist_in_message(const struct rpc *m);
struct link link_read_from_message(const struct rpc *m);

#endif
