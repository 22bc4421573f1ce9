/* calls.h - for calls.c and summary.c. */
#ifndef MI_VAULT_QUERY_CALLS_H
#define MI_VAULT_QUERY_CALLS_H

#include "vault/query/statements.h"
#include "vault/store/call_batch.h"

/* Whether the table `calls` has those of the session. */
MI_MUST int query_has_calls(struct query *q, int64_t session_id, bool *ret);
/* Whether the call is a row of the view `invocations`. */
bool query_is_invocation(const struct call *c);

#endif
