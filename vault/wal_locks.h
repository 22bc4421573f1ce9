/* wal_locks.h - keep a connection's read lock on the write-ahead log from one transaction to the next.
 *
 * A transaction of one row costs SQLite six fcntl(2) calls: it moves a read mark, locks it, locks the
 * log for writing, and lets both go. In a burst the read lock alone is four of them. Here it stays in the
 * kernel when SQLite lets it go, and is there already when SQLite wants it again.
 *
 * Rules     locks 0 to 7 of the shared memory are WRITE, CKPT, RECOVER and READ(0) to READ(4) (SQLite,
 *           "WAL-mode File Format", 2.2). What the kernel holds for us is always what SQLite believes to
 *           hold, or one shared lock on READ(1) to READ(4) more: to everybody else we are a reader that is
 *           still in its transaction. So nothing can go wrong that a reader could not do; but a
 *           checkpoint stops at our mark, and the log does not start anew.
 *           While the lock is kept, SQLite is told that no mark can be moved, and takes the one it
 *           has: an older mark than its snapshot is what it uses as well when all of them are in use.
 *           The kept lock is let go before SQLite checkpoints, recovers or starts the log anew, when
 *           it takes another mark, and when somebody else holds the lock for writing.
 * Lifetime  whoever asks to keep it must call wal_locks_rest() soon, when no transaction is open.
 * Blocks    never. */
#ifndef MI_VAULT_WAL_LOCKS_H
#define MI_VAULT_WAL_LOCKS_H

#include "base/base.h"

#include <sqlite3.h>

struct wal_locks {
    sqlite3_file *below; /* borrowed: the database file of the VFS below */
    bool keep;           /* asked for */
    int held;            /* the READ lock that the kernel holds for us; 0: none */
    bool in_use;         /* SQLite believes to hold it, too */
    bool crowded;        /* somebody else writes: let it go with the transaction */
    int refused;         /* marks that could not be moved since SQLite last had a read lock */
};

/* What the method xShmLock is to do. */
int wal_locks_lock(struct wal_locks *l, int at, int n, int flags);
/* Whether a lock is held without a transaction. */
static inline bool wal_locks_kept(const struct wal_locks *l)
{
    return l->held != 0 && !l->in_use;
}
void wal_locks_rest(struct wal_locks *l); /* lets the kept lock go; does nothing without one */

#endif
