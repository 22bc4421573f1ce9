/* operations.h - groups requests into operations; a person sees an operation as one call.
 *
 * A call of revision 2026-07-28 may consist of several requests. Either the server answers with a
 * request for input, and the client repeats the call with the input; or the call starts a task, and
 * requests about the task follow. The rows of these requests in `calls` have the seq of the first
 * request as operation_seq, and `operations` has a row for the operation (docs/vault.md). A call
 * that is a single request has no operation_seq and no row in `operations`.
 *
 * Rules     A request continues an operation if it
 *             - has the requestState, the method and the target of an operation that waits for
 *               input; or has no requestState, but brings input, and the operation has asked for
 *               input without a requestState; or
 *             - names the id of the operation's task.
 *           If two operations match, the request belongs to neither.
 *           An operation ends with the answer that neither asks for input nor starts a task. An
 *           operation with a task ends when the client learns that the task has ended, or receives
 *           the task's result.
 *           server_us is the duration of the requests, and of the task while it did not ask for
 *           input. person_us is the time from an answer that asks a person for input to the request
 *           that brings the input. All other time belongs to the client: it is the pauses between
 *           an answer and the next request.
 * Owns      nothing: the last OPERATIONS_MAX operations of a session are kept. A request that
 *           continues an older operation counts as a call of its own.
 * Use       operations_continue_with_request() for each request, operations_add_ended_call() for
 *           each call that has ended, operations_update_task_state() for notifications with a link.
 * Blocks    never. Pure. */
#ifndef MI_MODEL_OPERATIONS_H
#define MI_MODEL_OPERATIONS_H

#include "model/calls.h"
#include "model/link.h"

#define OPERATIONS_MAX 256

struct operation {
    struct {
        OPERATION_FIELDS(FIELD_MEMBER)
    };
    int64_t seq, t_us; /* seq and time of the operation's first request */
    enum row_direction direction;
    uint64_t target; /* hash of the method and the target of the operation's first request */
    bool is_new;     /* the row of this operation in `operations` is missing or out of date */
};

struct operations {
    struct operation kept[OPERATIONS_MAX];
    size_t n; /* number of operations added so far; a new operation overwrites the oldest one */
    /* `is_new` of an operation was set after the caller last set `changed` to false */
    bool changed;
};

void operations_clear(struct operations *o);
/* Returns true if the next operation would overwrite an operation whose row is not written yet. The
 * caller must then write that row first. */
static inline bool operations_are_full(const struct operations *o)
{
    return o->kept[o->n % OPERATIONS_MAX].is_new;
}
/* Handles a request: sets operation_seq of the request's call. */
void operations_continue_with_request(struct operations *o, struct call *c, const struct link *l);
/* Handles a call that has ended. */
void operations_add_ended_call(struct operations *o, const struct call *c, const struct link *l);
/* Handles a notification with the state of a task. */
void operations_update_task_state(struct operations *o, enum row_direction direction, int64_t seq,
                                  int64_t t_us, const struct link *l);
/* Adds an operation that was read from its row. `method` and `target` are those of the operation's
 * first request. */
void operations_add_stored_row(struct operations *o, const struct operation *op,
                               struct slice method, struct slice target);

#endif
