/* person_time.h - finds how long people took during a call, and during which call a server asked,
 * in sessions of revisions before 2026-07-28.
 *
 * Rules     model/asker.h. For a store, the list is empty.
 * Owns      the list.
 * Errors    MI_ENOMEM, or MI_ESTORE with a sentence in query_error().
 * Blocks    person_time_list_read() on the vault: it reads all calls once to find requests of
 *           servers that ask. In sessions that have such requests it reads the calls again, up to
 *           the last such request, to find the calls that were open. */
#ifndef MI_VAULT_QUERY_PERSON_TIME_H
#define MI_VAULT_QUERY_PERSON_TIME_H

#include "base/intern.h"
#include "vault/query/reader.h"

struct person_time {
    /* `ask`: id of the server's request; `call`: id of the call or operation during which it was
     * sent */
    int64_t ask, call;
    int64_t us; /* time that a person took within the call, in microseconds */
    /* method and target of the call, as arguments for person_time_get_text() */
    uint32_t method, target;
};

enum person_time_order {
    /* sort by call; list only elicitations, without method and target of the call */
    PERSON_TIME_BY_CALL,
    /* sort by the request of the server; list all requests of ASKER_METHODS (model/asker.h) */
    PERSON_TIME_BY_ASK
};

struct person_time_list {
    struct person_time *times; /* owned; the results, sorted by enum person_time_order */
    size_t n, cap;
    struct intern texts; /* owned */
};

/* Lists the requests of servers in the sessions that match, from x->filter->since_us on. Uses only
 * these members of x: recorded, not_sent, goes_on, ctx, and the filter's conditions on sessions.
 * Call person_time_list_close() in any case. */
MI_MUST int person_time_list_read(struct person_time_list *l, struct query *q,
                                  const struct call_question *x, enum person_time_order order);
void person_time_list_close(struct person_time_list *l); /* the argument may be {0} */
/* Returns the time that a person took within the call with this id, in microseconds. Needs
 * PERSON_TIME_BY_CALL. */
int64_t person_time_sum_us_of_call(const struct person_time_list *l, int64_t call);
/* Returns the call during which a server sent request `ask`; NULL if the call is unknown. Needs
 * PERSON_TIME_BY_ASK. */
const struct person_time *person_time_find_call_of_request(const struct person_time_list *l,
                                                           int64_t ask);
/* Returns the text of a method or target in struct person_time; empty if there is none. */
struct slice person_time_get_text(const struct person_time_list *l, uint32_t text);

#endif
