/* person.h - in revisions before 2026-07-28: how long people took during a call, and for which call
 * a server asked.
 *
 * Rules     model/asker.h. A store has none here.
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
    int64_t ask, call;       /* ids of the server's request, and of the call or operation during
                              * which it was sent */
    int64_t us;              /* time of the call that a person used */
    uint32_t method, target; /* method and target of the call: person_text() returns them */
};

/* PERSON_BY_CALL: only elicitations, without texts. */
enum person_order { PERSON_BY_CALL, PERSON_BY_ASK };

struct person_list {
    struct person_share *share; /* owned; sorted by enum person_order */
    size_t n, cap;
    struct intern texts; /* owned */
};

/* Lists the sessions that match, from x->filter->since_us on. Of x, only recorded, not_sent,
 * goes_on and the filter's sessions are used. Call person_list_close() in any case. */
MI_MUST int person_list_read(struct person_list *l, struct query *q, const struct call_question *x,
                             enum person_order order);
void person_list_close(struct person_list *l); /* {0} is fine */
/* Returns the time that a person took within the call with this id, in microseconds. Needs
 * PERSON_BY_CALL. */
int64_t person_time_of_call(const struct person_list *l, int64_t call);
/* Returns the call for which a server made this request; NULL if it is not known. Needs
 * PERSON_BY_ASK. */
const struct person_share *person_find_ask(const struct person_list *l, int64_t ask);
struct slice person_text(const struct person_list *l, uint32_t text); /* n is 0: none */

#endif
