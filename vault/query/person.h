/* person.h - how long people took for calls of revisions before 2026-07-28, and for which call a server asked.
 *
 * Rules     model/asker.h. A store has none here.
 * Owns      the list.
 * Errors    MI_ENOMEM, or MI_ESTORE with a sentence in query_error().
 * Blocks    person_list_read() on the vault: it looks at each call once for requests of servers that ask, and where there are some
 *           once more, up to the last of them, for those that were open. */
#ifndef MI_VAULT_QUERY_PERSON_H
#define MI_VAULT_QUERY_PERSON_H

#include "base/intern.h"
#include "vault/query/reader.h"

struct person_share {
    int64_t ask, call; /* ids: of the server's request, and of the call that it is for, or of the first one of its operation */
    int64_t us;        /* a person's share of the call */
    uint32_t method, target; /* of the call: person_text() */
};

/* PERSON_BY_CALL: only elicitations, and without texts. */
enum person_order { PERSON_BY_CALL, PERSON_BY_ASK };

struct person_list {
    struct person_share *share; /* owned; in this order */
    size_t n, cap;
    struct intern texts; /* owned */
};

/* Of the sessions that match, from x->filter->since_us on. x: recorded, not_sent, goes_on and the filter's sessions count. Call
 * person_list_close() in any case. */
MI_MUST int person_list_read(struct person_list *l, struct query *q, const struct call_question *x,
                             enum person_order order);
void person_list_close(struct person_list *l); /* {0} is fine */
/* A person's share of the call with this id; with PERSON_BY_CALL. */
int64_t person_us_of(const struct person_list *l, int64_t call);
/* Which call this request of a server is for; with PERSON_BY_ASK. NULL: not known. */
const struct person_share *person_asked(const struct person_list *l, int64_t ask);
struct slice person_text(const struct person_list *l, uint32_t text); /* n is 0: none */

#endif
