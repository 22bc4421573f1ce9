/* writer_state.h - struct writer, for writer.c and open.c. */
#ifndef MI_VAULT_STORE_WRITER_STATE_H
#define MI_VAULT_STORE_WRITER_STATE_H

#include "vault/store/bodies.h"
#include "vault/store/connect.h"
#include "vault/store/row_batch.h"
#include "vault/store/writer.h"

#include <sys/types.h>

/* Statements; their SQL is in open.c. */
enum writer_query {
    Q_BEGIN,
    Q_COMMIT,
    Q_ROWS,
    Q_ROWS_USUAL, /* faster; if row_batch.usual */
    Q_RULES,
    Q_EVENT,
    Q_EVENT_SESSION,
    Q_SESSION,
    Q_UPDATE,
    Q_RUNNING,
    Q_ENDED,
    Q_POSITION,
    Q_POSITION_READ,
    Q_POSITION_REMOVE,
    Q_COUNT
};

struct writer {
    sqlite3 *db;              /* owned */
    sqlite3_stmt *q[Q_COUNT]; /* owned; prepared once */
    struct row_sanitizer sanitizer;
    struct row_batch batch; /* rows of the transaction that are not inserted yet */
    struct bodies bodies;
    dev_t dev; /* of the database file when it was opened */
    ino_t ino;
    int64_t wait_us;       /* how long the busy handler may wait */
    int64_t busy_until_us; /* its deadline; 0: not called yet */
    int64_t wal_pages;
    bool begins;      /* the next statement begins the transaction */
    bool want_bodies; /* writer_want_bodies() */
    bool left_body;   /* writer_left_body() */
    bool body_lost;   /* the last long body could not be written; a warning was logged */
    int rc;           /* SQLite's extended code for the last failed call */
    char error[200];
};

/* Takes over SQLite's error. Returns MI_ESTORE. */
int writer_fail_sql(struct writer *s);

#endif
