/* call_rows.h - questions about the calls of many sessions: each is one statement.
 *
 * Rules     the statement reads the table `calls` for sessions whose calls are in it
 *           (sessions.calls), such as all sessions of a store. For sessions recorded by an older
 *           version, the calls are derived from the messages (model/calls.h) at the first question,
 *           into a temporary table, which the same statement reads. newest_first is for vaults
 *           only: ids of a store's sessions are in the order in which they were read.
 * Owns      the temporary table belongs to the connection; its pages are in a file without a name, beyond SQLite's cache.
 * Errors    MI_ENOMEM, or MI_ESTORE with a sentence in query_error().
 * Blocks    on the vault. */
#ifndef MI_VAULT_QUERY_CALL_ROWS_H
#define MI_VAULT_QUERY_CALL_ROWS_H

#include "vault/query/each.h"
#include "vault/query/statements.h"

/* Passes on the calls that match, with these columns of calls `c` and sessions `s`, such as
 * "s.name, c.status". The callback returns 0 to continue, 1 to stop, or an error. */
MI_MUST int call_rows_read(struct query *q, const struct call_question *x, const char *columns,
                           query_row_fn fn, void *ctx);

/* Does the same for many calls in half of the time (vault/query/each.h), but not with `sort`,
 * `newest_first` or `around`. The callback returns 0, or an error. */
MI_MUST int call_rows_each(struct query *q, const struct call_question *x, const char *columns,
                           each_fn fn, void *ctx);

/* Whether the vault has operations of several requests. 0, or an error. */
MI_MUST int call_rows_check_operations(struct query *q, bool *ret);
/* Derives the calls of the sessions that match, as the functions above do first. Call it before a transaction around several of
 * them. */
MI_MUST int call_rows_prepare(struct query *q, const struct filter *f);

#endif
