/* store_inner.h - between the store*.c files: what a store is made of. */
#ifndef MI_VAULT_STORE_INNER_H
#define MI_VAULT_STORE_INNER_H

#include "vault/bodies.h"
#include "vault/connect.h"
#include "vault/store.h"
#include "vault/wal_locks.h"

#include <sys/types.h>

/* Its statements. */
enum store_query {
    Q_BEGIN,
    Q_COMMIT,
    Q_MESSAGE,
    Q_EVENT,
    Q_SESSION,
    Q_UPDATE,
    Q_RUNNING,
    Q_ENDED,
    Q_COUNT
};

struct store {
    sqlite3 *db;              /* owned */
    sqlite3_stmt *q[Q_COUNT]; /* owned; prepared once */
    struct wal_locks *locks;  /* borrowed from the VFS; NULL: it is SQLite's own */
    struct keep keep;
    struct bodies bodies;
    dev_t dev; /* of the database file when it was opened */
    ino_t ino;
    int64_t wait_us;       /* how long the busy handler may wait */
    int64_t busy_until_us; /* it gives up then; 0: it has not been called yet */
    int64_t wal_pages;
    bool want_bodies; /* a row without its body is no row */
    bool body_lost;   /* the last long body could not be written, and that has been said */
    int rc;           /* SQLite's extended code of the last failed call; 0: not SQLite's */
    char error[200];
};

/* MI_ESTORE, and why. */
int store_fail_sql(struct store *s);

#endif
