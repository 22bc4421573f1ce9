/* pace.h - when the next thing is said.
 *
 * Units     microseconds. `live` is the monotonic clock of now, `t` is the recording's.
 * Rules     speed 0: at once, but PACE_GAP_US between a notification and the answer that follows it, for SDK
 *           clients lose progress that arrives in one tick with the answer. Any other speed: the recorded
 *           distance divided by it, never less than that gap.
 * Blocks    never. Pure. */
#ifndef MI_REPLAY_PACE_H
#define MI_REPLAY_PACE_H

#include "base/base.h"

#define PACE_GAP_US 3000
#define PACE_SLACK_US 2000000     /* more than the recorded client waited, before we tell of it */
#define PACE_OPEN_MAX_US 10000000 /* waited at most for a client that never got its answer */

struct pace {
    double speed; /* 0: at once; 1: as recorded; 2: twice as fast */
};

/* A moment known on both clocks: the request, or the client's answer that a step waited for. */
struct pace_mark {
    int64_t live_us, t_us;
};

/* When a step recorded at t_us is due. last_us: when this play last said something, 0: not yet;
 * gap: that was a notification, and this is an answer. */
int64_t pace_due(const struct pace *p, struct pace_mark mark, int64_t t_us, int64_t last_us,
                 bool gap);
/* How long a request stays without an answer that never came in the recording. cancelled: the client gave
 * up after waited_us; else the recording ended waited_us later. */
int64_t pace_patience(int64_t waited_us, bool cancelled);
/* "0", "1", "2.5", up to 1e6. 0 or MI_EINVAL. */
MI_MUST int pace_read(const char *text, struct pace *ret);

#endif
