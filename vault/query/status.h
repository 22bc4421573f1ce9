/* status.h - reads the rows that determine the status of calls: Q_SUMMARY, Q_CALLS. */
#ifndef MI_VAULT_QUERY_STATUS_H
#define MI_VAULT_QUERY_STATUS_H

#include "vault/query/statements.h"

#define CALL_COLUMNS_N 6 /* columns that query_call_row() reads */

/* seq, kind, action, origin, request_seq and finding; borrowed until the next step. */
struct query_message query_call_row(sqlite3_stmt *st);
bool query_has_finding(const struct query_message *m, const char *name);

#endif
