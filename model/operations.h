/* operations.h - which requests are one operation: what a person takes for one call.
 *
 * A call of revision 2026-07-28 may be several requests: the call, an answer that asks for input, and the call again with the
 * input; or a call that starts a task, and requests about the task. Their rows in `calls` have the seq of the first request as
 * operation_seq, and `operations` has a row for it (docs/vault.md). A call that is one request has neither.
 *
 * Rules     A request continues an operation if it
 *             - has the requestState, the method and the target of an operation that waits for input, or without a
 *               requestState brings input to one that has asked without it; or
 *             - names the id of its task.
 *           If two operations match, the request belongs to none.
 *           It ends with the answer that neither asks for input nor starts a task; with a task, when the client learns that
 *           the task has ended, or receives its result.
 *           server_us: the time of its requests, and of the task while it did not ask for input. person_us: from an
 *           answer that asks a person for something to the request that brings the input. What is left of the duration was
 *           the client's: pauses between an answer and the next request.
 * Owns      nothing: the last OPERATIONS_MAX ones of a session are kept. A request that continues an older one counts as
 *           a call of its own.
 * Use       operations_begin() for each request, operations_end() for each call that has ended, operations_note() for
 *           notifications with a link.
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
    int64_t seq, t_us; /* of the first request */
    enum row_direction direction;
    uint64_t target; /* hash of its method and target */
    bool is_new;     /* its row is not written yet, or not as it is now */
};

struct operations {
    struct operation kept[OPERATIONS_MAX];
    size_t n; /* so far; the oldest is overwritten */
    bool changed;
};

void operations_clear(struct operations *o);
/* Whether the next one takes the place of one whose row is not written yet: write it first. */
static inline bool operations_are_full(const struct operations *o)
{
    return o->kept[o->n % OPERATIONS_MAX].is_new;
}
/* Sets operation_seq of the call of a request. */
void operations_begin(struct operations *o, struct call *c, const struct link *l);
/* A call that has ended. */
void operations_end(struct operations *o, const struct call *c, const struct link *l);
/* A notification with the state of a task. */
void operations_note(struct operations *o, enum row_direction direction, int64_t seq, int64_t t_us,
                     const struct link *l);
/* One that its row describes, as it was when it was written. `method`, `target`: of its first request. */
void operations_know(struct operations *o, const struct operation *op, struct slice method,
                     struct slice target);

#endif
