/* recorder.h - record before forward: gathers the rows of a loop turn and commits them together.
 *
 * The traffic appends rows as it reads; at the end of the turn recorder_commit() writes them in one
 * transaction, and only then may the bytes go on. What happens when the database cannot take them:
 *
 *   on_error = pass   the traffic goes on. Rows wait in memory, up to RECORDER_QUEUE_MAX bytes while
 *                     another process merely holds the lock, and a full queue first stops the readers
 *                     for RECORDER_PAUSE_US; up to RECORDER_BROKEN_MAX bytes after any other error, so
 *                     that they fit into what little room comes back. What does not fit is lost, and
 *                     said: a `gap` event.
 *   on_error = stop   nothing goes on unrecorded. A held lock is waited for, RECORDER_PAUSE_US at most;
 *                     any other error ends the session.
 *
 * Owns      the vault's directory, the store, copies of the rows that wait, its session.
 * Lifetime  a row's slices must stay good until the next recorder_commit(); row.hold is held until
 *           then.
 * Blocks    for a held lock 250 ms at most, at the first commit that meets it; otherwise on disk
 *           I/O. */
#ifndef MI_VAULT_RECORDER_H
#define MI_VAULT_RECORDER_H

#include "vault/row.h"
#include "vault/store.h"
#include "vault/uid.h"

#define RECORDER_QUEUE_MAX ((size_t)16 << 20)
#define RECORDER_BROKEN_MAX ((size_t)4 << 20)
#define RECORDER_WAIT_US 250000
#define RECORDER_PAUSE_US 10000000

enum recorder_result {
    RECORDER_STORED, /* everything appended so far is committed */
    RECORDER_BEHIND, /* rows wait or were lost; go on (pass) */
    RECORDER_HOLD,   /* rows wait; send nothing, read nothing, call again soon */
    RECORDER_FAILED, /* stop serving (stop) */
};

struct recorder_config {
    const char *vault;   /* directory */
    const char *name;    /* of the server */
    const char *command; /* JSON array of its argv */
    enum keep_level level;
    bool sync_full;
    bool stop_on_error;
    bool keep_lock; /* recorder_rest() is called as it says */
};

struct recorder;

/* Never fails for want of a vault: under `pass` the first commit tries again. Strings are copied.
 * 0, MI_ENOMEM; under stop_on_error MI_ESTORE when the vault cannot be opened, told on stderr. */
MI_MUST int recorder_open(struct recorder **ret, const struct recorder_config *cfg);
/* Commits what it can and closes; waits up to a second for a held lock, for there is no later. NULL is fine. */
void recorder_close(struct recorder *r);

/* Appends a message; gives it its seq and time. The seq is what answers refer to. */
uint64_t recorder_add(struct recorder *r, const struct row *row);
/* Appends an event; detail is JSON or NULL, and copied. */
void recorder_event(struct recorder *r, const char *kind, const char *detail);
/* Learns something about the session; written with the next commit. Text is copied. */
void recorder_learn(struct recorder *r, const struct store_update *u);

/* Which processes these are: written with the session, or with the next commit. Copied. At the end of
 * the session the row goes by itself. */
void recorder_running(struct recorder *r, const struct running *running);

enum recorder_result recorder_commit(struct recorder *r);
/* Call recorder_commit() again in RECORDER_RETRY_US. */
bool recorder_behind(const struct recorder *r);
#define RECORDER_RETRY_US 20000

/* A burst of commits is cheaper when the database's lock for reading stays from one to the next. When it
 * has stayed after a commit, recorder_rest() is due within RECORDER_REST_US: it keeps checkpoints back. */
bool recorder_keeps_lock(const struct recorder *r);
void recorder_rest(struct recorder *r);
#define RECORDER_REST_US 2000
/* The part of this session's file of bodies that is new since the last call and worth writing out. */
bool recorder_new_bodies(struct recorder *r, int64_t *ret_from, int64_t *ret_to);

int64_t recorder_now_us(const struct recorder *r); /* since the session's start */
const char *recorder_uid(const struct recorder *r);
enum keep_level recorder_level(const struct recorder *r);
const char *recorder_vault(const struct recorder *r); /* absolute path; NULL while it is not open */
int recorder_dir_fd(const struct recorder *r);        /* of the vault; -1 while it is not open */
int64_t recorder_wal_pages(const struct recorder *r);
void recorder_checkpoint(struct recorder *r);

#endif
