/* snapshot.h - the database connection that verification uses.
 *
 * Rules     the vault is not changed (vault/store/read_only.h). A transaction is short, so that no
 *           checkpoint waits: a few thousand rows, except where a whole session must be read in one
 *           state.
 * Owns      the connection, its statements, the vault's directory.
 * Errors    MI_ESTORE, MI_EIO or MI_ENOMEM; for the first two, `error` has a sentence.
 * Blocks    on the disk, and up to 2 s on a locked database. */
#ifndef MI_VAULT_AUDIT_SNAPSHOT_H
#define MI_VAULT_AUDIT_SNAPSHOT_H

#include "evidence/bundle_form.h"
#include "vault/store/db.h"

enum snapshot_sql {
    SNAPSHOT_LEAVES,
    SNAPSHOT_CHECKPOINTS,
    SNAPSHOT_NEXT_SESSION,
    SNAPSHOT_SESSION,
    SNAPSHOT_TOTAL,
    SNAPSHOT_EVENTS,
    SNAPSHOT_MESSAGES,
    SNAPSHOT_REPLACED,
    SNAPSHOT_MESSAGE_OWNER,
    SNAPSHOT_EVENT_OWNER,
    SNAPSHOT_REPLACED_OWNER,
    SNAPSHOT_HAS_SESSION,
    SNAPSHOT_FIRST, /* query: the id of the first message of session ?1 */
    /* query: a session other than ?1 that the row of a message names, although the id of this
     * message belongs to session ?1 */
    SNAPSHOT_FOREIGN,
    SNAPSHOT_UNCOVERED,
    /* The following queries need a vault with the table `calls`. */
    SNAPSHOT_FILLED, /* query: column `calls` of session ?1 */
    SNAPSHOT_CALLS,  /* query: calls with ids from ?1 to ?2 */
    SNAPSHOT_FIRST_CALL,
    SNAPSHOT_CALL_OWNER,
    SNAPSHOT_COUNT
};

struct snapshot {
    struct db d;      /* owned */
    int dir_fd;       /* owned */
    const char *path; /* borrowed; path of the vault */
};

/* vault: the path of its directory, without symbolic links. `vault` and `error` are borrowed. */
MI_MUST int snapshot_open(struct snapshot *s, const char *vault, struct buf *error);
void snapshot_close(struct snapshot *s);

/* Sets *ret to the faults that SQLite finds in the file and its indexes, as one clause; empty if
 * there are none. */
MI_MUST int snapshot_check_integrity(struct snapshot *s, struct buf *ret);
/* Starts statement i, and binds `a` to ?1 and `b` to ?2. Needs a transaction (db_begin()). */
MI_MUST int snapshot_begin_query(struct snapshot *s, enum snapshot_sql i, int64_t a, int64_t b,
                                 sqlite3_stmt **ret);
/* Runs statement i with `a` bound to ?1, and reads the first column of the first row. *ret_has:
 * there is a row, and the column is not NULL. */
MI_MUST int snapshot_read_number(struct snapshot *s, enum snapshot_sql i, int64_t a, bool *ret_has,
                                 int64_t *ret);
/* Columns of SNAPSHOT_SESSION, SNAPSHOT_EVENTS and SNAPSHOT_MESSAGES. */
enum {
    SESSION_NAME,
    SESSION_STARTED,
    SESSION_RECORDS,
    SESSION_TREE,
    SESSION_HOST,
    /* index of the salt's column; the commitment and the fields of the record follow */
    SESSION_SALT,
    SESSION_END_SALT = SESSION_SALT + 2 + BUNDLE_SESSION_ALL
};
enum { EVENT_ID, EVENT_PLACE, EVENT_SALT };
enum { MESSAGE_ID, MESSAGE_OWNER, MESSAGE_OFFSET, MESSAGE_LENGTH, MESSAGE_SALT };

#endif
