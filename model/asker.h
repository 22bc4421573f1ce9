/* asker.h - determines what a server asks a client for. In revisions before 2026-07-28, also
 * determines to which call of the client the server's request belongs.
 *
 * Rules     Only an elicitation is for a person. The answer to a sampling request is written by a
 *           model, and roots are settings of the client. No message tells whether a person looks
 *           at these two.
 *           Before 2026-07-28, the server asks with requests that do not name a call. Such a
 *           request belongs to the only open call of the client. If no call or several calls are
 *           open, it belongs to none. `ping` and requests about tasks are not open calls. (A
 *           request with a task in `_meta` belongs to the task's operation: model/operations.h.)
 *           A person's share of a call is the time in which an elicitation was open, at most to the
 *           end of the call. Time in which several elicitations are open counts once.
 * Use       asker_add_call() for each request of the client, and asker_find_call_of_request() for
 *           each request of the server, in the order of seq.
 * Owns      nothing: at most ASKER_OPEN_MAX calls are kept. While more are open, requests of the
 *           server belong to no call.
 * Blocks    never. Pure. */
#ifndef MI_MODEL_ASKER_H
#define MI_MODEL_ASKER_H

#include "base/base.h"

#define ASKER_OPEN_MAX 64

enum asks { ASKS_NOTHING, ASKS_PERSON, ASKS_MODEL, ASKS_ROOTS, ASKS_N };

/* Returns what a request with this method asks for. method: the text between the quotes in JSON. */
enum asks asker_classify_request(struct slice method);
/* Returns the method of the requests that ask for this; NULL for ASKS_NOTHING. */
const char *asker_get_request_method(enum asks what);
/* The methods as a list for IN in SQL. */
#define ASKER_METHODS "('elicitation/create', 'sampling/createMessage', 'roots/list')"

struct asker_call {
    int64_t seq, closing_seq; /* closing_seq is 0 while the call is open */
    int64_t end_us;           /* end of the call; INT64_MAX while the call is open */
    int64_t covered_us;       /* the person's share of this call is counted up to this time */
    int64_t operation_seq;    /* operation_seq is set and used by the caller, not by this module */
    uint32_t method, target;  /* set and used by the caller, not by this module */
};

struct asker {
    struct asker_call open[ASKER_OPEN_MAX];
    size_t n;
    /* seq of the last message that ends a call which did not fit into `open`; INT64_MAX: such a
     * call has no end; 0: all calls did fit */
    int64_t crowded_to;
};

/* Whether a server may ask the client for something during a call with this method. */
bool asker_method_counts_as_call(struct slice method);
void asker_add_call(struct asker *a, const struct asker_call *c);
/* Returns the call to which request `seq` of the server belongs, or NULL if unknown. Valid until
 * the next asker_add_call(). */
struct asker_call *asker_find_call_of_request(struct asker *a, int64_t seq);
/* Returns how much time a request adds to the person's share of the call. The request was open from
 * from_us to to_us; to_us is INT64_MAX if it has no answer. Returns 0 while both the request and
 * the call are open. */
int64_t asker_take_uncounted_time(struct asker_call *c, int64_t from_us, int64_t to_us);

#endif
