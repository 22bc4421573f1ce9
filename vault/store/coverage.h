/* coverage.h - stores evidence of a session, so that changes of its records are noticed
 * (docs/evidence.md).
 *
 * Each record that is stored gets a salt and a commitment, and a position in the order of the
 * session's records. The transaction that stores the records also stores the number of records and
 * the tree over their commitments: in the session's row, or, while a recorder stores the session,
 * with its position in `journals`. If the row and `journals` both have a number, the larger number
 * is newer. The transaction that stores the end of the session also adds a seal to the log.
 *
 * A session that was begun by a program without evidence is not covered: its records get no
 * commitment.
 *
 * Owns      a statement on the caller's connection: call coverage_close() before the connection is
 *           closed.
 * Errors    MI_ESTORE (see failure_text()), MI_ENOMEM, MI_EIO (no random bytes).
 * Lifetime  a session is remembered until coverage_forget_session(): call that when a transaction
 *           was rolled back.
 * Blocks    on the database. */
#ifndef MI_VAULT_STORE_COVERAGE_H
#define MI_VAULT_STORE_COVERAGE_H

#include "evidence/salts.h"
#include "evidence/session_tree.h"
#include "vault/store/row_batch.h"

struct coverage {
    int64_t session_id; /* id of the remembered session; 0: no session is remembered */
    bool covered;
    bool ended; /* true: the end of the session is stored */
    /* true: the tree or the number of records has changed and is not saved yet */
    bool changed;
    uint64_t last_seq; /* seq of the last message that was stored */
    struct session_tree places;
    struct salts salts;
    sqlite3_stmt *save; /* owned; statement that saves the coverage; prepared at its first use */
    struct buf packed;  /* owned; the tree, encoded as bytes */
};

struct covered_event {
    int64_t t_us;
    struct slice kind, detail;
    /* The following members are set by coverage_add_event(). */
    bool covered; /* true: the session has evidence; false: the members below are not set */
    int64_t place;
    struct salt salt;
    struct digest commitment;
};

/* Computes the commitment of a new session, whose row has a salt, and adds the leaf `open`. */
MI_MUST int coverage_open(struct coverage *c, sqlite3 *db, int64_t session_id);
/* Remembers a session. If the coverage has remembered another session until now, first saves that
 * session. */
MI_MUST int coverage_switch_to_session(struct coverage *c, sqlite3 *db, int64_t session_id);
void coverage_forget_session(struct coverage *c);
void coverage_close(struct coverage *c); /* the argument may be {0}; safe to call twice */

/* These functions set salt and commitment of a record of the remembered session, and count the
 * record. Call them in the order in which the records are stored. A message gets no commitment if
 * its seq is not greater than all earlier seqs, because it is stored already. body: the message's
 * body, wherever it is stored. */
MI_MUST int coverage_add_message(struct coverage *c, struct batch_row *row, struct slice body);
MI_MUST int coverage_add_event(struct coverage *c, struct covered_event *e);
/* Updates the evidence after the session's row was changed: a session that has ended is sealed
 * again. */
MI_MUST int coverage_mark_session_changed(struct coverage *c, sqlite3 *db);

/* Binds the number of records and the tree to two parameters of a statement, with which the caller
 * saves them. Call it directly before the statement runs. A session that has ended also needs
 * coverage_save(). */
MI_MUST int coverage_bind_columns(struct coverage *c, sqlite3_stmt *q, int i);
/* Saves the number of records and the tree, and adds a seal if the session has ended. Call it
 * before the commit. */
MI_MUST int coverage_save(struct coverage *c, sqlite3 *db);

#endif
