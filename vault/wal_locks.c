#include "vault/wal_locks.h"

enum { LOCK_WRITE = 0, LOCK_READ_1 = 4, LOCK_READ_LAST = 7 };
#define MARKS (LOCK_READ_LAST - LOCK_READ_1 + 1)

static int below(const struct wal_locks *l, int at, int n, int flags)
{
    return l->below->pMethods->xShmLock(l->below, at, n, flags);
}

void wal_locks_rest(struct wal_locks *l)
{
    if (!wal_locks_kept(l))
        return;
    int at = l->held;
    l->held = 0;
    (void)below(l, at, 1, SQLITE_SHM_UNLOCK | SQLITE_SHM_SHARED);
}

static int lock_shared(struct wal_locks *l, int at)
{
    l->refused = 0;
    if (at == l->held) {
        l->in_use = true;
        return SQLITE_OK;
    }
    wal_locks_rest(l);
    int rc = below(l, at, 1, SQLITE_SHM_LOCK | SQLITE_SHM_SHARED);
    if (rc == SQLITE_OK && at >= LOCK_READ_1) {
        l->held = at;
        l->in_use = true;
    }
    return rc;
}

static int unlock_shared(struct wal_locks *l, int at)
{
    if (at == l->held) {
        l->in_use = false;
        if (l->keep && !l->crowded)
            return SQLITE_OK;
        l->held = 0;
        l->crowded = false;
    }
    return below(l, at, 1, SQLITE_SHM_UNLOCK | SQLITE_SHM_SHARED);
}

/* A reader that wants to move a mark tries all of them once, then takes what it has. Should it come
 * again without having got any, the kept one is in its way. */
static int lock_exclusive(struct wal_locks *l, int at, int n)
{
    if (wal_locks_kept(l)) {
        if (n == 1 && at >= LOCK_READ_1 && l->refused < MARKS) {
            l->refused++;
            return SQLITE_BUSY;
        }
        if (at != LOCK_WRITE)
            wal_locks_rest(l);
    }
    int rc = below(l, at, n, SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE);
    if (rc == SQLITE_BUSY && at == LOCK_WRITE)
        l->crowded = true;
    return rc;
}

int wal_locks_lock(struct wal_locks *l, int at, int n, int flags)
{
    switch (flags) {
    case SQLITE_SHM_LOCK | SQLITE_SHM_SHARED:
        return lock_shared(l, at);
    case SQLITE_SHM_UNLOCK | SQLITE_SHM_SHARED:
        return unlock_shared(l, at);
    case SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE:
        return lock_exclusive(l, at, n);
    default:
        return below(l, at, n, flags);
    }
}
