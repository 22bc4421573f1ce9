/* liveness.h - whether a session runs: the judgement, from facts that others gather (vault/store/running.h).
 *
 * Lock      the processes of a session hold a lock on a byte of VAULT/running.lock, which the kernel drops with the last
 *           of them. It is seen by every process of the machine, in whichever container. A session of an older version,
 *           or on a file system without such locks, has none.
 * Pids      without a lock, a process is identified by its id and start time. An id means something only in its PID
 *           namespace and until the machine is booted again.
 * Blocks    never. Pure. */
#ifndef MI_MODEL_LIVENESS_H
#define MI_MODEL_LIVENESS_H

#include "base/base.h"

enum session_state {
    SESSION_ENDED,
    SESSION_LIVE,      /* no end is recorded, and it runs */
    SESSION_DIED,      /* no end is recorded, and its processes are gone */
    SESSION_ELSEWHERE, /* no end is recorded; its processes cannot be seen from here */
};

enum liveness_lock { LIVENESS_NO_LOCK, LIVENESS_LOCKED, LIVENESS_UNLOCKED };
enum liveness_place { LIVENESS_PLACE_UNKNOWN, LIVENESS_HERE, LIVENESS_NOT_HERE };

struct liveness {
    bool ended;               /* an end is recorded */
    enum liveness_lock lock;  /* UNLOCKED: it had a lock, and no process holds it any more */
    enum liveness_place boot; /* the boot of a machine in which it ran: is it this one? */
    enum liveness_place pids; /* the same of its PID namespace */
    bool host;                /* its machine has the name of this one */
    bool process;             /* a process with the id and start time of its proxy runs here */
};

enum session_state liveness_of(const struct liveness *f);

#endif
