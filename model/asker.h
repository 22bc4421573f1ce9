/* asker.h - what a server asks a client for, and for which call of the client in revisions before 2026-07-28.
 *
 * Rules     Only an elicitation is for a person. A model writes what is sampled, and roots are settings of the client; whether a
 *           person looks at these, no message says.
 *           Before 2026-07-28 they are requests of the server, and nothing says for which call. They are for the only call of
 *           the client that is open then; if there are none or several, for none. `ping` and requests about tasks do not count.
 *           (With a task in `_meta` they belong to its operation: model/operations.h.)
 *           A person's share of a call is the time in which an elicitation was open, at most to the end of the call; of several
 *           at once, once.
 * Use       asker_call() for each request of the client and asker_find() for each of the server, in the order of seq.
 * Owns      nothing: at most ASKER_OPEN_MAX calls are kept. While more are open, none is the only one.
 * Blocks    never. Pure. */
#ifndef MI_MODEL_ASKER_H
#define MI_MODEL_ASKER_H

#include "base/base.h"

#define ASKER_OPEN_MAX 64

enum asks { ASKS_NOTHING, ASKS_PERSON, ASKS_MODEL, ASKS_ROOTS, ASKS_N };

/* What a request with this method asks for; between the quotes of JSON. */
enum asks asker_asks(struct slice method);
const char *asker_method(enum asks what); /* NULL: ASKS_NOTHING */
/* For a condition of SQL. */
#define ASKER_METHODS "('elicitation/create', 'sampling/createMessage', 'roots/list')"

struct asker_call {
    int64_t seq, closing_seq; /* closing_seq 0: it is open */
    int64_t end_us;           /* INT64_MAX: it is open */
    int64_t covered_us;       /* the end of the last request that was counted */
    int64_t operation_seq;    /* the caller's own, as are these: */
    uint32_t method, target;
};

struct asker {
    struct asker_call open[ASKER_OPEN_MAX];
    size_t n;
    int64_t crowded_to; /* up to this seq, calls that are not kept may be open */
};

/* Whether a call with this method is one for which a server may ask. */
bool asker_counts(struct slice method);
void asker_call(struct asker *a, const struct asker_call *c);
/* The call for which request `seq` of the server is; NULL: not known. Valid until the next asker_call(). */
struct asker_call *asker_find(struct asker *a, int64_t seq);
/* How much a request from..to adds to the person's share of the call. to_us INT64_MAX: it is not answered. 0 as long as both are
 * open. */
int64_t asker_share(struct asker_call *c, int64_t from_us, int64_t to_us);

#endif
