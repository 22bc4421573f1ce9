#include "model/liveness.h"

enum session_state session_state_by_liveness(const struct liveness *f)
{
    if (f->ended)
        return SESSION_ENDED;
    if (f->lock == LIVENESS_LOCKED)
        return SESSION_LIVE;
    /* A lock that is free proves the end only on the machine of the session: another machine may
     * share the file, but does not see the locks of this machine. */
    if (f->lock == LIVENESS_UNLOCKED && f->boot == LIVENESS_HERE)
        return SESSION_DIED;
    /* Another boot of a machine with the same host name: the machine was rebooted after the session
     * began. */
    if (f->boot == LIVENESS_NOT_HERE)
        return f->host ? SESSION_DIED : SESSION_ELSEWHERE;
    if (f->boot == LIVENESS_HERE ? f->pids != LIVENESS_HERE
                                 : !f->host || f->pids == LIVENESS_NOT_HERE)
        return SESSION_ELSEWHERE;
    return f->process ? SESSION_LIVE : SESSION_DIED;
}
