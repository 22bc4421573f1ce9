#include "model/liveness.h"

enum session_state session_state_by_liveness(const struct liveness *f)
{
    if (f->ended)
        return SESSION_ENDED;
    if (f->lock == LIVENESS_LOCKED)
        return SESSION_LIVE;
    /* A lock that is free proves the end only on the machine of the session: another machine may
     * share the file, but does not see the locks of that machine. */
    if (f->lock == LIVENESS_UNLOCKED && f->boot == LIVENESS_HERE)
        return SESSION_DIED;
    /* The session ran in another boot. If the host name is the same, this machine was rebooted
     * after the session began, so the session has died. */
    if (f->boot == LIVENESS_NOT_HERE)
        return f->host ? SESSION_DIED : SESSION_ELSEWHERE;
    if (f->boot == LIVENESS_HERE ? f->pids != LIVENESS_HERE
                                 : !f->host || f->pids == LIVENESS_NOT_HERE)
        return SESSION_ELSEWHERE;
    return f->process ? SESSION_LIVE : SESSION_DIED;
}
