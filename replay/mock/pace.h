/* pace.h - computes when the next message is sent.
 *
 * Units     microseconds. `live` is a time of the monotonic clock, `t` a time in the recording.
 * Rules     speed 0: at once, but with PACE_GAP_US between a notification and an answer after it,
 *           because SDK clients lose progress that arrives in the same tick as the answer. Other
 *           speeds: the recorded interval divided by the speed, but at least that gap.
 * Blocks    never. Pure. */
#ifndef MI_REPLAY_MOCK_PACE_H
#define MI_REPLAY_MOCK_PACE_H

#include "base/base.h"

#define PACE_GAP_US 3000
#define PACE_SLACK_US 2000000 /* time that is added to the recorded waiting time of a client */
/* maximum waiting time for a request that was pending at the end of the recording */
#define PACE_OPEN_MAX_US 10000000
#define PACE_LATE_US 50000 /* a client's poll may come later than in the recording by this time */
#define PACE_LATE_MAX_US 2000000 /* maximum waiting time for a client that may not poll at all */

struct pace {
    double speed; /* speed 0: at once; 1: as recorded; 2: twice as fast */
};

/* The moment of a request, or of the client's answer for which a step waited. It is given twice: as
 * a time of the replay (live_us) and as a time of the recording (t_us). */
struct pace_mark {
    int64_t live_us, t_us;
};

/* Returns the time at which a step that was recorded at t_us is due. last_us: time of the
 * playback's last message; 0: there was none. gap: the last message was a notification, and the
 * step is an answer. */
int64_t pace_compute_send_time(const struct pace *p, struct pace_mark mark, int64_t t_us,
                               int64_t last_us, bool gap);
/* Returns how long a request without a recorded answer waits for its error. cancelled: the client
 * cancelled the request after waited_us; else the recording ended waited_us after the request. */
int64_t pace_get_wait_before_error_us(int64_t waited_us, bool cancelled);
/* Returns the time until which a message waits for the client. The message was recorded at t_us and
 * is due at due_us. mark: the moment at which the client reached its last position in the
 * recording. */
int64_t pace_compute_client_deadline_us(const struct pace *p, struct pace_mark mark, int64_t t_us,
                                        int64_t due_us);
/* Parses a speed such as "0", "1" or "2.5", up to 1e6. 0 or MI_EINVAL. */
MI_MUST int pace_parse_speed(const char *text, struct pace *ret);

#endif
