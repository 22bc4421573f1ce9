/* store.h - the database: one connection, statements prepared once, one writing transaction at a time.
 *
 * Owns      the connection, its statements and the file of large bodies.
 * Errors    MI_ESTORE; store_error() says why, store_busy() whether another process held the lock.
 *           After a failed call inside a transaction the transaction is over: store_rollback().
 * Blocks    store_begin() waits for the write lock at most as long as told; otherwise on disk I/O only.
 *           Automatic checkpoints are off: store_checkpoint() is somebody's decision. */
#ifndef MI_VAULT_STORE_H
#define MI_VAULT_STORE_H

#include "vault/dir.h"
#include "vault/keep.h"
#include "vault/row.h"
#include "vault/running.h"

#define STORE_BODY_MAX ((size_t)64 << 10) /* longer bodies lie in VAULT/Bodies */

struct store;

/* A session as it begins. Borrowed for the call. */
struct store_session {
    const char *uid, *name, *command, *host, *record_level;
    const char *redact_rules; /* JSON: redact_rules(); NULL: they are not known */
    int64_t started_at_us, pid;
};

/* What is learnt of a session later; {NULL, 0} and has_* false leave the column as it is. */
struct store_update {
    struct slice client_name, client_version, server_name, server_version, protocol_version;
    struct slice end_reason;
    bool has_exit_status;
    int exit_status;
    int64_t ended_at_us; /* 0: not ended */
};

/* sync_full: every commit survives a power cut. 0, MI_ENOMEM or MI_ESTORE with a sentence in error. */
MI_MUST int store_open(struct store **ret, const struct vault_dir *dir, bool sync_full,
                       struct buf *error);
void store_close(struct store *s); /* NULL is fine */
/* A long body that cannot be written fails its row, which else is kept without it (`body-lost`). */
void store_want_bodies(struct store *s);
/* How much is kept of what comes from here on; KEEP_FULL at first. */
void store_level(struct store *s, enum keep_level level);

/* How long the next call may wait for the lock. For a row added outside a transaction, which is one. */
void store_wait(struct store *s, int64_t wait_us);
MI_MUST int store_begin(struct store *s, int64_t wait_us);
MI_MUST int store_commit(struct store *s);
void store_rollback(struct store *s);

/* A session whose uid is there already is that session, and a row whose seq is there is left as it is:
 * a commit that failed may have been made after all. */
MI_MUST int store_session_add(struct store *s, const struct store_session *n, int64_t *ret_id);
MI_MUST int store_session_update(struct store *s, int64_t id, const struct store_update *u);
/* The session's row in the table `running`; NULL: it has ended, and has none. */
MI_MUST int store_running(struct store *s, int64_t session_id, const struct running *r);
/* uid names the file of large bodies. */
MI_MUST int store_add(struct store *s, int64_t session_id, const char *uid, const struct row *r);

/* Whether transactions leave a lock behind for the next one (vault/wal_locks.h); off at first. While they
 * do, store_rest() must be called soon after the last of them. */
void store_keep_lock(struct store *s, bool keep);
bool store_keeps_lock(const struct store *s); /* one is held now */
void store_rest(struct store *s);

bool store_new_bodies(struct store *s, int64_t *ret_from, int64_t *ret_to); /* vault/bodies.h */

const char *store_error(const struct store *s); /* of the last failed call */
bool store_busy(const struct store *s);
bool store_full(const struct store *s); /* no space left, or a quota: the connection is fine */
/* The database that is open is no longer what the vault's path leads to. */
bool store_vanished(const struct store *s, const char *vault);
int64_t store_wal_pages(const struct store *s); /* in the write-ahead log after the last commit */
/* Moves what it can from the write-ahead log into the database, in the calling process: it syncs
 * files. vault/checkpoint.h is for another process. 0 or MI_ESTORE. */
MI_MUST int store_checkpoint(struct store *s);

#endif
