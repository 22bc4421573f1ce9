/* store.h - what only a store of many vaults is asked (query_open_store()).
 *
 * Errors    MI_ENOMEM, or MI_ESTORE with a sentence in query_error().
 * Blocks    on the network. */
#ifndef MI_VAULT_QUERY_STORE_H
#define MI_VAULT_QUERY_STORE_H

#include "vault/query/reader.h"
#include "vault/remote/remote.h"

/* The session with this number, or 0. MI_EINVAL, with a sentence: several vaults have one. */
MI_MUST int query_store_number(struct query *q, int64_t number, int64_t *ret);
/* remote_forget(). Of a vault: nothing. */
void query_forget(struct query *q);
/* remote_body(), remote_search() */
MI_MUST int query_store_body(struct query *q, struct slice uid, int64_t seq, size_t max,
                             struct buf *b);
MI_MUST int query_store_search(struct query *q, struct slice first, struct slice last,
                               const char *match, remote_found_fn fn, void *ctx);

#endif
