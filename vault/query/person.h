/* person.h - finds how long people took during a call, and during which call a server asked, in
 * sessions of revisions before 2026-07-28.
 *
 * Rules     model/asker.h. For a store, the list is empty.
 * Owns      the list.
 * Errors    MI_ENOMEM, or MI_ESTORE with a sentence in query_error().
 * Blocks    person_list_read() on the vault: it reads all calls once to find requests of servers
 *           that ask. In sessions that have such requests it reads the calls again, up to the last
 *           such request, to find the calls that were open. */
#ifndef MI_VAULT_QUERY_PERSON_H
#define MI_VAULT_QUERY_PERSON_H

#include "base/intern.h"
#include "vault/query/reader.h"

struct person_share {
    /* `ask`: id of the server's request; `call`: id of the call or operation during which it was
     * sent */
    int64_t ask, call;
    int64_t us;              /* time that a person took within the call, in microseconds */
    uint32_t method, target; /* method and target of the call, as arguments for person_get_text() */
};

enum person_order {
    PERSON_BY_CALL, /* sort by call; list only elicitations, without texts */
    PERSON_BY_ASK   /* sort by request of the server; list all requests that ask a person */
};

struct person_list {
    struct person_share *share; /* owned; the results, sorted by enum person_order */
    size_t n, cap;
    struct intern texts; /* owned */
};

/* Lists the requests of servers in the sessions that match, from x->filter->since_us on. Uses only
 * these members of x: recorded, not_sent, goes_on, ctx, and the filter's conditions on sessions.
 * Call person_list_close() in any case. */
MI_MUST int person_list_read(struct person_list *l, struct query *q, const struct call_question *x,
                             enum person_order order);
void person_list_close(struct person_list *l); /* the argument may be {0} */
/* Returns the time that a person took within the call with this id, in microseconds. Needs
 * PERSON_BY_CALL. */
int64_t person_get_call_time_us(const struct person_list *l, int64_t call);
/* Returns the call during which a server sent request `ask`; NULL if the call is unknown. Needs
 * PERSON_BY_ASK. */
const struct person_share *person_find_call_of_request(const struct person_list *l, int64_t ask);
/* Returns the text of a method or target in struct person_share; empty if there is none. */
struct slice person_get_text(const struct person_list *l, uint32_t text);

#endif
