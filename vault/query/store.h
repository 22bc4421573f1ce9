/* store.h - queries that only a store of many vaults answers (query_open_store()).
 *
 * Errors    MI_ENOMEM, or MI_ESTORE with a sentence in query_error().
 * Blocks    on the network. */
#ifndef MI_VAULT_QUERY_STORE_H
#define MI_VAULT_QUERY_STORE_H

#include "vault/query/reader.h"
#include "vault/remote/remote.h"

/* Finds the id of the session that has this number in its own vault; 0: there is none. Returns
 * MI_EINVAL, with a sentence in query_error(), if sessions of several vaults have the number. */
MI_MUST int query_find_session_by_number(struct query *q, int64_t number, int64_t *ret);
/* Calls remote_forget_pages() for a store; does nothing for a vault. */
void query_forget_store_pages(struct query *q);
/* These functions call remote_read_body() and remote_search_messages(). */
MI_MUST int query_read_body_from_store(struct query *q, struct slice uid, int64_t seq, size_t max,
                                       struct buf *b);
MI_MUST int query_search_in_store(struct query *q, struct slice first, struct slice last,
                                  const char *match, remote_found_fn fn, void *ctx);

#endif
