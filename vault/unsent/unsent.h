/* unsent.h - reads rows of a vault that another store does not have yet, as cells in the order of
 * its columns.
 *
 * Rules     a batch is read in one short transaction. It has at most UNSENT_ROWS rows and about
 *           UNSENT_BYTES, including large bodies; a row that is larger is a batch of its own. Rows
 *           are synced to the disk before they are sent, so that after a power failure the vault
 *           still has all rows that the other store has. The cursors (cursors.h) use the same
 *           connection.
 * Owns      the connection. Cells are borrowed for the call.
 * Errors    MI_ESTORE, with one sentence in unsent_error(). MI_ENOENT: there is no such row or body
 *           any more.
 * Blocks    on the disk, and up to UNSENT_WAIT_MS for a locked database. */
#ifndef MI_VAULT_UNSENT_UNSENT_H
#define MI_VAULT_UNSENT_UNSENT_H

#include "base/buf.h"
#include "journal/uid.h"
#include "model/fields.h"

#define UNSENT_ROWS 1000
#define UNSENT_BYTES ((size_t)4 << 20)
#define UNSENT_WAIT_MS 5000

struct unsent;

/* Kinds of rows. `a`, `b` and `c` are the three numbers in the key of unsent_read_rows(), which the
 * statements have as ?1, ?2 and ?3. */
enum unsent_rows {
    /* Sessions with `a` <= id <= `b`; columns: SESSION_…. The columns from SESSION_SEQ on are not
     * sent. If `c` is not 0, the arguments of the command are omitted, and the fields that are FULL
     * or LATER in model/records.h are NULL. */
    UNSENT_SESSIONS,
    UNSENT_MESSAGES,    /* messages of session `a` with `b` <= seq <= `c`; columns: MESSAGE_… */
    UNSENT_EVENTS,      /* events of session `a` with `b` <= id <= `c`; columns: EVENT_… */
    UNSENT_LEAVES,      /* leaves of the log with n >= `a`; columns: n, leaf */
    UNSENT_CHECKPOINTS, /* checkpoints with size > `a`; columns: size, at_us, note */
    /* Replaced commitments of session `a` in leaf `b`, without the first `c` rows. Columns: record,
     * leaf, commitment, session_id, and the number in the name `record`. */
    UNSENT_REPLACED,
    UNSENT_KINDS
};

/* The columns of each kind of row: the fields that a store has (model/records.h), and between
 * them the columns of evidence. Files outside of vault/unsent may use only the names in capital
 * letters. */
/* clang-format off */
#define UNSENT_FIRST(at, store) FIELD_IF(FIELD_FIRST_##store)(at,)
#define UNSENT_LAST(at, store) FIELD_IF(FIELD_LAST_##store)(at,)
#define SESSION_FIRST(name, t, n, s, e, c, store, ...) UNSENT_FIRST(SESSION_##name, store)
#define SESSION_LAST(name, t, n, s, e, c, store, ...) UNSENT_LAST(SESSION_##name, store)
#define MESSAGE_FIRST(name, t, n, s, e, c, store, ...) UNSENT_FIRST(MESSAGE_##name, store)
#define MESSAGE_LAST(name, t, n, s, e, c, store, ...) UNSENT_LAST(MESSAGE_##name, store)
enum {
    SESSION_ID,
    SESSION_UID,
    SESSION_FIELDS(SESSION_FIRST)
    /* first of the columns of evidence: salt, commitment, end_salt, end_commitment, records,
     * tree */
    SESSION_EVIDENCE,
    SESSION_BEFORE_LATER = SESSION_EVIDENCE + 5,
    SESSION_FIELDS(SESSION_LAST)
    SESSION_COLUMNS,
    /* first of the columns that stores of older programs lack */
    SESSION_LATER = SESSION_BEFORE_LATER + 1,
    SESSION_SEQ = SESSION_COLUMNS, /* seq of the session's last message; this column is not sent */
    SESSION_EVENT,                 /* id of the session's last event; this column is not sent */
    SESSION_ENDED_AT_US = SESSION_ended_at_us
};
enum {
    MESSAGE_SEQ,
    MESSAGE_FIELDS(MESSAGE_FIRST)
    MESSAGE_SALT,
    MESSAGE_COMMITMENT,
    MESSAGE_FIELDS(MESSAGE_LAST)
    MESSAGE_COLUMNS,
    MESSAGE_KIND = MESSAGE_kind,
    MESSAGE_BODY = MESSAGE_body,
    /* column: length of a body that is in the session's file of bodies; NULL: the body is in the
     * row */
    MESSAGE_LENGTH = MESSAGE_body_length,
    /* column: offset of the body in the session's file of bodies */
    MESSAGE_OFFSET = MESSAGE_body_offset
};
/* clang-format on */
enum { EVENT_ID = 0, EVENT_KIND = 2, EVENT_DETAIL = 3, EVENT_COLUMNS = 7 };

/* Called for each row. Returns 0 to continue, 1 to end the reading, or an error. */
typedef int (*unsent_fn)(void *ctx, const struct cell *cell);

/* Opens a vault, and creates missing tables. MI_ENOENT: nothing is recorded in the vault. */
MI_MUST int unsent_open(struct unsent **ret, const char *vault, struct buf *error);
void unsent_close(struct unsent *u); /* the argument may be NULL */
const char *unsent_error(struct unsent *u);
const char *
unsent_get_vault_path(const struct unsent *u); /* returns the absolute path of the vault */

/* Calls fn for the rows of one kind that match the key, up to the limits of a batch. *ret_n: number
 * of rows for which fn was called. */
MI_MUST int unsent_read_rows(struct unsent *u, enum unsent_rows what, const int64_t key[3],
                             unsent_fn fn, void *ctx, int64_t *ret_n);
/* Finds the id of a session in this vault. MI_ENOENT: the vault does not have the session. */
MI_MUST int unsent_find_session_by_uid(struct unsent *u, struct slice uid, int64_t *ret);
/* Finds the seq of the message that an event `finding-added` is about; 0 for another event. */
MI_MUST int unsent_find_seq_of_finding(struct unsent *u, const struct cell *event,
                                       int64_t *ret_seq);
/* Whether the session's file of large bodies has this range. The range may be missing after a power
 * failure. */
MI_MUST int unsent_has_body(struct unsent *u, const char *uid, int64_t offset, int64_t length,
                            bool *ret);
/* Appends `length` bytes of the session's large bodies, from `offset` on. */
MI_MUST int unsent_read_body_bytes(struct unsent *u, const char *uid, int64_t offset, size_t length,
                                   struct buf *ret);
/* Until unsent_close(), makes this process the only one that may send this vault to this target.
 * Returns 0, MI_EBUSY (another process sends there) or MI_EIO. After MI_EBUSY and MI_EIO,
 * unsent_error() has a sentence. */
MI_MUST int unsent_lock_target(struct unsent *u, const char *target);
/* Reads a number that changes when another connection has changed the database. */
MI_MUST int unsent_read_data_version(struct unsent *u, int64_t *ret);

#endif
