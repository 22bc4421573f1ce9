/* connection.h - an open vault or store, shared by the files of vault/query. */
#ifndef MI_VAULT_QUERY_CONNECTION_H
#define MI_VAULT_QUERY_CONNECTION_H

#include "vault/query/each.h"
#include "vault/query/statements.h"
#include "vault/remote/remote.h"
#include "vault/store/db.h"

struct query {
    struct db d; /* owned */
    /* The following members state what call_rows.c has found at its last check: */
    bool has_calls;              /* the vault has the table `calls` and the column sessions.calls */
    bool has_binaries;           /* the table `calls` has the columns of version 5 */
    bool has_operations;         /* the table `operations` has rows */
    bool has_derived_operations; /* the table temp.operations has rows */
    bool any;                    /* true: the database may have the schema of another program */
    /* owned; writes to temp.calls (call_rows.c); NULL: there is no such table yet */
    struct call_batch *derived;
    struct remote *remote; /* owned; connection to a store; NULL: `d` is the database of a vault */
    struct each each;      /* callback and its data for call_rows_read_with_callback() */
    int dir_fd;            /* owned; directory of the vault; -1: there is none */
    char *path; /* owned; the vault's absolute path without symbolic links, or a store's name */
    struct page_row *session; /* owned; the row that query_session() returned last */
    struct buf error;         /* owned; errors of `d` */
};

/* If the database was opened without SQLite's -wal and -shm files, and a writer has started since
 * then, connects again and finalizes prepared statements. Call this function before a transaction.
 * 0, MI_ESTORE or MI_ENOMEM. */
MI_MUST int query_reopen_if_outdated(struct query *q);
/* Frees q->derived. Call this function before the connection is closed. Closing the connection
 * deletes the table temp.calls. */
void query_free_derived_calls(struct query *q);

#endif
