/* connection.h - an open vault: what the files of vault/query share. */
#ifndef MI_VAULT_QUERY_CONNECTION_H
#define MI_VAULT_QUERY_CONNECTION_H

#include "vault/query/each.h"
#include "vault/query/statements.h"
#include "vault/remote/remote.h"
#include "vault/store/db.h"

struct query {
    struct db d;         /* owned */
    bool has_calls;      /* the vault had the table `calls` and sessions.calls when last asked */
    bool has_binaries;   /* likewise: whether the vault had the columns of version 5 in `calls` */
    bool has_operations; /* likewise: whether the table `operations` had rows */
    bool has_derived_operations; /* likewise: whether temp.operations had rows */
    bool any;                    /* true: the database may have the schema of another program */
    /* Owned; writes to temp.calls (call_rows.c). NULL: there is no such table yet. */
    struct call_batch *derived;
    struct remote *remote; /* owned; connection to a store; NULL: `d` is a vault */
    struct each each;      /* callback and its data for call_rows_each() */
    int dir_fd;            /* owned; directory of the vault; -1: there is none */
    char *path; /* owned; the vault's absolute path without symbolic links, or a store's name */
    struct page_row *session; /* owned; the row that query_session() returned last */
    struct buf error;         /* owned; errors of `d` */
};

/* Call before a transaction: connects again if a writer has started since the database was opened without SQLite's
 * files. Prepared statements are then gone. 0, MI_ESTORE or MI_ENOMEM. */
MI_MUST int query_refresh(struct query *q);
/* Call before the connection is closed: temp.calls is lost with it. */
void query_forget_derived(struct query *q);

#endif
