/* writer_state.h - struct writer, for writer.c, writer_session.c and open.c. */
#ifndef MI_VAULT_STORE_WRITER_STATE_H
#define MI_VAULT_STORE_WRITER_STATE_H

#include "vault/store/bodies.h"
#include "vault/store/call_batch.h"
#include "vault/store/connect.h"
#include "vault/store/coverage.h"
#include "vault/store/row_batch.h"
#include "vault/store/writer.h"

#include <sys/types.h>

/* Numbers of the statements, whose SQL is in open.c. */
enum writer_query {
    Q_BEGIN,
    Q_COMMIT,
    Q_ROWS,
    Q_ROWS_USUAL, /* inserts the rows of a batch whose member `usual` is true; faster than Q_ROWS */
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
    sqlite3_stmt *q[Q_COUNT]; /* owned; statements, prepared once, when the writer is opened */
    struct row_sanitizer sanitizer;
    struct row_batch batch;  /* rows of the transaction that were not inserted yet */
    struct call_batch calls; /* calls that begin or end with the rows in writer.batch */
    struct bodies bodies;
    struct coverage coverage; /* evidence of the session whose records were written most recently */
    dev_t dev;                /* device of the database file at the time when it was opened */
    ino_t ino;
    int64_t wait_us; /* longest time that the busy handler may wait */
    /* time at which the busy handler gives up; 0: SQLite has not called the handler after
     * writer_set_lock_timeout() yet */
    int64_t busy_until_us;
    int64_t wal_pages;
    bool begins;      /* true: the next statement must begin the transaction */
    bool want_bodies; /* value set by writer_make_lost_bodies_fatal() */
    /* true: the sanitizer did not change the body of the message that was added last */
    bool left_body;
    struct slice body; /* value returned by writer_get_last_body() */
    bool covered;      /* true: the message that was added last has a commitment */
    struct digest commitment;
    bool body_lost; /* true: the last long body could not be written, and a warning was logged */
    int rc;         /* SQLite's extended result code of the last failed call */
    char error[200];
};

/* These functions set the text of writer_error(), and return MI_ESTORE. writer_fail_sql() uses
 * SQLite's last error, writer_mark_coverage_failed() an error of coverage.h or call_batch.h. */
int writer_fail_sql(struct writer *s);
int writer_fail_no_memory(struct writer *s);
int writer_mark_coverage_failed(struct writer *s, int st);

/* Takes the write lock, if writer_defer_transaction() has postponed taking it. */
MI_MUST int writer_take_lock(struct writer *s);
/* Calls writer_take_lock(), and runs a statement without result rows. */
MI_MUST int writer_run_query(struct writer *s, enum writer_query i);
/* The first function begins a transaction, unless one is open already; *ret_own: whether it has
 * begun one. The second function ends that transaction. own: *ret_own of the first function; st:
 * result of the work between the two calls. */
MI_MUST int writer_begin_unlocked_transaction(struct writer *s, bool *ret_own);
MI_MUST int writer_end_unlocked_transaction(struct writer *s, bool own, int st);
/* Prepares the evidence of a session. Call it before adding records of the session or changing its
 * row. */
MI_MUST int writer_switch_coverage_session(struct writer *s, int64_t session_id);

#endif
