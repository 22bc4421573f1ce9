/* ledger.h - the vault's log: the table `leaves` (docs/evidence.md, "Log").
 *
 * A leaf states a change. It is added in the transaction that makes the change, and never changed
 * or removed.
 * Owns      nothing; the connection is the caller's.
 * Errors    MI_ESTORE (see failure_text()), MI_ENOMEM.
 * Blocks    on the database. */
#ifndef MI_VAULT_STORE_LEDGER_H
#define MI_VAULT_STORE_LEDGER_H

#include "evidence/leaf.h"

#include <sqlite3.h>

/* Adds a leaf. Call it within a transaction that holds the write lock. If the leaf states a seal or
 * a redaction, the table `shipped` then says that the session was not sent completely. */
MI_MUST int ledger_add_leaf(sqlite3 *db, const struct leaf *l, int64_t *ret_n);

/* Finds the greatest id that a session of this vault has had, according to the log; 0: unknown. */
MI_MUST int ledger_find_last_session_id(sqlite3 *db, int64_t *ret);

/* Called for each leaf in order. The text is valid during the call. Returns 0 to continue; another
 * value ends the reading. */
typedef int (*ledger_fn)(void *ctx, int64_t n, struct slice leaf);
/* Calls fn for the leaves from number `from` on. Returns 0, an error, or the value with which fn
 * ended the reading. */
MI_MUST int ledger_read(sqlite3 *db, int64_t from, ledger_fn fn, void *ctx);

#endif
