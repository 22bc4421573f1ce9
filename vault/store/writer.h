/* writer.h - writes to the database: one connection, prepared statements, one transaction at a
 * time.
 *
 * Owns      the connection, its statements and the file of large bodies.
 * Errors    MI_ESTORE; writer_error() is the reason, writer_is_busy() says whether another process
 *           held the lock. A failed call inside a transaction ends the transaction: call
 *           writer_rollback().
 * Batches   writer_add_row() collects rows. Many rows are inserted with one statement, at the
 *           latest in writer_commit(). So an error may concern an earlier row.
 * Blocks    writer_begin() waits for the write lock up to wait_us; otherwise on disk I/O only.
 *           After writer_defer_transaction(), the first call that needs the lock waits for it: the
 *           call that inserts rows, or any call except writer_add_row().
 * Evidence  each record gets its commitment (vault/store/coverage.h). Messages of a session must be
 *           added in the order of seq.
 *           Automatic checkpoints are off: the caller decides when to call
 *           writer_checkpoint_wal(). */
#ifndef MI_VAULT_STORE_WRITER_H
#define MI_VAULT_STORE_WRITER_H

#include "journal/entry.h"
#include "journal/uid.h"
#include "vault/store/dir.h"
#include "vault/store/running.h"
#include "vault/store/sanitize.h"

/* Longest body that is stored in the database; longer bodies are stored in VAULT/Bodies. */
#define WRITER_BODY_MAX ((size_t)64 << 10)

struct writer;

/* sync_full: every commit survives a power failure. Returns 0, MI_ENOMEM, MI_ESTORE, MI_EBUSY, or
 * MI_EPROTO if SQLite reports that the database is damaged (see damaged_db_move_aside()). After
 * MI_ESTORE, MI_EBUSY and MI_EPROTO, `error` has a sentence. */
MI_MUST int writer_open(struct writer **ret, const struct vault_dir *dir, bool sync_full,
                        struct buf *error);
void writer_close(struct writer *s); /* the argument may be NULL */
/* After this call, writer_add_row() fails if a long body cannot be written. By default, it fails
 * only if the disk is full; otherwise the row is stored without the body, with the finding
 * `body-lost`. */
void writer_make_lost_bodies_fatal(struct writer *s);
/* Sets how much of the following messages is stored; initially RECORD_FULL. */
void writer_set_record_level(struct writer *s, enum record_level level);

/* Sets how long the next call may wait for the write lock. Use it for a call outside of
 * writer_begin() and writer_commit(), which is a transaction of its own. */
void writer_set_lock_timeout(struct writer *s, int64_t wait_us);
/* Begins a transaction, and takes the write lock. */
MI_MUST int writer_begin(struct writer *s, int64_t wait_us);
/* Begins a transaction that takes the lock only when it is needed: others can write while messages
 * are sanitized. */
void writer_defer_transaction(struct writer *s, int64_t wait_us);
MI_MUST int writer_commit(struct writer *s);
void writer_rollback(struct writer *s);

/* A session (with the same uid) or a message (with the same seq) may be added twice, because a
 * commit that was reported as failed may have been written. It is then stored only once. */

/* Adds a session, without the fields that change while the session runs (UPDATE in
 * model/records.h), and with this program's interposer_version. Texts end at their first NUL. */
MI_MUST int writer_add_session(struct writer *s, const struct session_record *n, int64_t *ret_id);
MI_MUST int writer_update_session(struct writer *s, int64_t id, const struct session_update *u);
/* Sets the session's row in the table `running`; NULL removes it. */
MI_MUST int writer_store_running_row(struct writer *s, int64_t session_id, const struct running *r);
/* These functions store, read and remove the position up to which the journal of a session is
 * stored. Call writer_store_journal_position() in the transaction that stores the entries before
 * the position, so that each entry is stored exactly once. writer_read_journal_position() returns 0
 * in *ret if no position is stored. */
MI_MUST int writer_store_journal_position(struct writer *s, int64_t session_id, uint64_t position);
MI_MUST int writer_read_journal_position(struct writer *s, int64_t session_id, uint64_t *ret);
MI_MUST int writer_remove_journal_position(struct writer *s, int64_t session_id);
/* Adds a message or an event. uid: the session's uid; its file of large bodies has this name. */
MI_MUST int writer_add_row(struct writer *s, int64_t session_id, const char *uid,
                           const struct row *r);
/* Whether the sanitizer did not change the body of the message that was added last. If so, parts of
 * the body may also be written to other files. */
bool writer_last_body_is_unchanged(const struct writer *s);
/* Returns the sanitized body of the message that was added last, wherever it is stored; {NULL, 0}:
 * the message has no body. Valid until the next call. */
struct slice writer_get_last_body(const struct writer *s);
/* These functions return the commitment, in hex, of the message that was added last, or of a stored
 * message. They return false if the message has no commitment. */
#define WRITER_COMMITMENT 65
MI_MUST bool writer_get_last_commitment(const struct writer *s, char ret[WRITER_COMMITMENT]);
MI_MUST bool writer_read_stored_commitment(struct writer *s, int64_t session_id, uint64_t seq,
                                           char ret[WRITER_COMMITMENT]);
/* Appends the target of a stored message, such as a tool's name, as JSON without quotes; nothing if
 * there is no target. */
void writer_append_message_target(struct writer *s, int64_t session_id, uint64_t seq,
                                  struct buf *b);
/* Adds the names of violated rules to the finding of a stored message. Does nothing if the message
 * does not exist. A second call would add the names twice. So call it in the same transaction that
 * stores the position after the journal entry with these rules. */
MI_MUST int writer_add_rules_to_message(struct writer *s, int64_t session_id, uint64_t seq,
                                        breaches rules);

/* Finds the first session with an event of this kind and detail. MI_ENOENT: there is none. Reads
 * the whole table. */
MI_MUST int writer_find_session_of_event(struct writer *s, const char *kind, struct slice detail,
                                         int64_t *ret_id, char ret_uid[UID_LEN + 1]);

/* Calls bodies_take_new_range() for the file of large bodies. */
bool writer_take_new_bodies_range(struct writer *s, int64_t *ret_from, int64_t *ret_to);

const char *writer_error(const struct writer *s); /* returns the reason why the last call failed */
bool writer_is_busy(const struct writer *s);
bool writer_is_damaged(const struct writer *s);
/* Whether the last call failed because disk space or memory ran out: the connection is still
 * usable. */
bool writer_is_full(const struct writer *s);
/* Whether the vault's path now leads to another database than the open one, or to no database. */
bool writer_database_vanished(const struct writer *s, const char *vault);
/* Returns the number of pages in the write-ahead log after the last commit. */
int64_t writer_get_wal_pages(const struct writer *s);
/* Makes a checkpoint and restarts the write-ahead log (vault/store/checkpoint.h). Waits for the
 * disk. Call it outside a transaction. Returns 0 or MI_ESTORE. If writer_is_busy() is then true,
 * another process prevents the checkpoint, and the log grows until a later call. */
MI_MUST int writer_checkpoint_wal(struct writer *s);

#endif
