/* connection.h - an open vault: what the files of vault/query share. */
#ifndef MI_VAULT_QUERY_CONNECTION_H
#define MI_VAULT_QUERY_CONNECTION_H

#include "vault/query/each.h"
#include "vault/query/statements.h"
#include "vault/remote/remote.h"
#include "vault/store/db.h"

struct query {
    struct db d;         /* owned */
    bool has_calls;      /* it had the table `calls`, and sessions.calls, when it was asked last */
    bool has_operations; /* likewise, rows in the table `operations` */
    bool has_derived_operations; /* the same of temp.operations */
    bool any;                    /* its schema need not be one of this program */
    /* Owned; writes to temp.calls (call_rows.c). NULL: there is no such table yet. */
    struct call_batch *derived;
    struct remote *remote; /* owned; NULL: it is a vault */
    struct each each;      /* what call_rows_each() passes on */
    int dir_fd;            /* owned; -1: none */
    char *path; /* owned; of the vault, absolute, without symbolic links; or a store's name */
    struct page_row *session; /* owned; the last result of query_session() */
    struct buf error;         /* owned; of d */
};

/* Call before a transaction: connects again if a writer has started since the database was opened without SQLite's
 * files. Prepared statements are then gone. 0, MI_ESTORE or MI_ENOMEM. */
MI_MUST int query_refresh(struct query *q);
/* Before the connection is closed, with which temp.calls is gone. */
void query_forget_derived(struct query *q);

#endif
