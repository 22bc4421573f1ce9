/* liveness.h - decides whether a session runs, from facts that vault/store/running.h gathers.
 *
 * Lock      the processes of a session hold a lock on a byte of VAULT/running.lock, which the
 *           kernel releases when the last of these processes exits. Every process of the machine
 *           can see the lock, from any container. A session of an older version, or on a file
 *           system without such locks, has no lock.
 * Pids      without a lock, a process is identified by its id and start time. An id means something
 *           only in its PID namespace and until the machine is booted again.
 * Blocks    never. Pure. */
#ifndef MI_MODEL_LIVENESS_H
#define MI_MODEL_LIVENESS_H

#include "base/base.h"

enum session_state {
    SESSION_ENDED,
    SESSION_LIVE, /* no end is recorded, and the session runs */
    SESSION_DIED, /* no end is recorded, and the session's processes are gone */
    /* no end is recorded, and this process cannot see the session's processes */
    SESSION_ELSEWHERE,
};

enum liveness_lock { LIVENESS_NO_LOCK, LIVENESS_LOCKED, LIVENESS_UNLOCKED };
enum liveness_place { LIVENESS_PLACE_UNKNOWN, LIVENESS_HERE, LIVENESS_NOT_HERE };

struct liveness {
    bool ended; /* the record has the end of the session */
    /* UNLOCKED: the session had a lock, and no process holds this lock any more */
    enum liveness_lock lock;
    enum liveness_place boot; /* whether the session ran in the present boot of this machine */
    enum liveness_place pids; /* whether the session ran in the PID namespace of this process */
    bool host;                /* the session's machine has the same host name as this machine */
    /* a process with the id and start time of the session's proxy runs on this machine */
    bool process;
};

enum session_state session_state_by_liveness(const struct liveness *f);

#endif
