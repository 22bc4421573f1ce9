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
    bool has_binaries;   /* likewise: its columns of version 5 */
    bool has_operations; /* likewise: the table `operations` had rows */
    bool has_derived_operations; /* likewise: temp.operations had rows */
    bool any;                    /* the schema may be one of another program */
    /* Owned; writes to temp.calls (call_rows.c). NULL: there is no such table yet. */
    struct call_batch *derived;
    struct remote *remote; /* owned; NULL: it is a vault */
    struct each each;      /* what call_rows_each() passes on */
    int dir_fd;            /* owned; -1: there is none */
    char *path; /* owned; the vault's absolute path without symbolic links, or a store's name */
    struct page_row *session; /* owned; the last result of query_session() */
    struct buf error;         /* owned; of d */
};

/* Call before a transaction: connects again if a writer has started since the database was opened without SQLite's
 * files. Prepared statements are then gone. 0, MI_ESTORE or MI_ENOMEM. */
MI_MUST int query_refresh(struct query *q);
/* Call before the connection is closed: temp.calls is lost with it. */
void query_forget_derived(struct query *q);

#endif
