/* call_rows.h - reads the calls of many sessions with one SQL statement.
 *
 * Rules     the statement reads the table `calls` for sessions whose calls are in it
 *           (sessions.calls), such as all sessions of a store. The calls of sessions recorded by an
 *           older version are derived from the messages (model/calls.h) into a temporary table when
 *           they are first needed; the same statement reads this table. newest_first is for vaults
 *           only: ids of a store's sessions are in the order in which the sessions were read.
 * Owns      the connection owns the temporary table; pages beyond SQLite's cache are in a file
 *           without a name.
 * Errors    MI_ENOMEM, or MI_ESTORE with a sentence in query_error().
 * Blocks    on the vault. */
#ifndef MI_VAULT_QUERY_CALL_ROWS_H
#define MI_VAULT_QUERY_CALL_ROWS_H

#include "vault/query/each.h"
#include "vault/query/statements.h"

/* Calls fn for the calls that match. columns: a list of columns of calls `c` and sessions `s`, such
 * as "s.name, c.status". The callback returns 0 to continue, 1 to stop, or an error. */
MI_MUST int call_rows_read(struct query *q, const struct call_question *x, const char *columns,
                           query_row_fn fn, void *ctx);

/* Like call_rows_read(), but takes half of the time (vault/query/each.h) and does not accept
 * `sort`, `newest_first` or `around`. The callback returns 0 or an error. */
MI_MUST int call_rows_read_with_callback(struct query *q, const struct call_question *x,
                                         const char *columns, each_fn fn, void *ctx);

/* *ret: whether the vault has operations. Returns 0 or an error. */
MI_MUST int call_rows_check_operations(struct query *q, bool *ret);
/* Derives the calls of those sessions that match the filter and are not marked as having all of
 * their calls in the table `calls`. call_rows_read() and call_rows_read_with_callback() derive
 * these calls themselves. A caller that calls several functions of this file in one transaction
 * must call this function before the transaction. */
MI_MUST int call_rows_prepare(struct query *q, const struct filter *f);

#endif
