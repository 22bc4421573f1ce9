/* coverage.h - what the vault keeps of a session so that changes of its records are noticed (docs/evidence.md).
 *
 * Each record that is stored gets a salt and a commitment, and its place in the session. The number of records and the
 * tree over their commitments are stored in the transaction that stores the records: in the session's row, or, while a
 * recorder stores the session, with its position in `journals`. The larger number is the newer one. When the session has
 * ended, that transaction also adds a seal to the log.
 *
 * A session that was begun by a program without evidence is not covered: its records get no commitment.
 *
 * Owns      a statement; the connection is the caller's. coverage_close() before it is closed.
 * Errors    MI_ESTORE (see failure_text()), MI_ENOMEM, MI_EIO (no random bytes).
 * Lifetime  what is remembered of a session holds until coverage_forget(): call it when a transaction was rolled back.
 * Blocks    on the database. */
#ifndef MI_VAULT_STORE_COVERAGE_H
#define MI_VAULT_STORE_COVERAGE_H

#include "evidence/places.h"
#include "evidence/salts.h"
#include "vault/store/row_batch.h"

struct coverage {
    int64_t session_id; /* 0: none is remembered */
    bool covered;
    bool ended;        /* ended_at_us is stored */
    bool changed;      /* something is not saved */
    uint64_t last_seq; /* of the messages stored so far */
    struct places places;
    struct salts salts;
    sqlite3_stmt *save; /* owned; prepared at its first use */
    struct buf packed;  /* owned; the tree as bytes */
};

struct covered_event {
    int64_t t_us;
    struct slice kind, detail;
    /* Set by coverage_event(): */
    bool covered; /* false: the others are not set */
    int64_t place;
    struct salt salt;
    struct digest commitment;
};

/* A new session: its row was added with this salt. Computes its commitment, and adds the leaf `open`. */
MI_MUST int coverage_open(struct coverage *c, sqlite3 *db, int64_t session_id);
/* Remembers a session. Does nothing if it is remembered already. */
MI_MUST int coverage_use(struct coverage *c, sqlite3 *db, int64_t session_id);
void coverage_forget(struct coverage *c);
void coverage_close(struct coverage *c); /* accepts {0}; may be called twice */

/* Records of the remembered session, in the order in which they are stored. Set salt and commitment, and count the
 * record. A message whose seq is not greater than all before is stored already: it gets none. body: of the message,
 * wherever it is stored. */
MI_MUST int coverage_message(struct coverage *c, struct batch_row *row, struct slice body);
MI_MUST int coverage_event(struct coverage *c, struct covered_event *e);
/* The session's row was changed. If it has ended, it is sealed again. */
MI_MUST int coverage_changed(struct coverage *c, sqlite3 *db);

/* Binds the number of records and the tree to two parameters of a statement that saves them with something else. Call it
 * directly before the statement. An ended session is saved by coverage_save() in any case. */
MI_MUST int coverage_bind(struct coverage *c, sqlite3_stmt *q, int i);
/* Before the commit: saves the number of records and the tree, and adds a seal if the session has ended. */
MI_MUST int coverage_save(struct coverage *c, sqlite3 *db);

#endif
