#include "replay/mock/pace.h"

#include <stdlib.h>

int64_t pace_compute_send_time(const struct pace *p, struct pace_mark mark, int64_t t_us,
                               int64_t last_us, bool gap)
{
    int64_t earliest = gap ? last_us + PACE_GAP_US : mark.live_us;
    if (earliest < last_us)
        earliest = last_us;
    if (p->speed <= 0 || t_us <= mark.t_us)
        return earliest;
    double wait = (double)(t_us - mark.t_us) / p->speed;
    int64_t due = wait < 1e15 ? mark.live_us + (int64_t)wait : INT64_MAX / 2;
    return due > earliest ? due : earliest;
}

int64_t pace_get_wait_before_error_us(int64_t waited_us, bool cancelled)
{
    if (waited_us < 0)
        waited_us = 0;
    if (!cancelled && waited_us > PACE_OPEN_MAX_US)
        waited_us = PACE_OPEN_MAX_US;
    return waited_us + PACE_SLACK_US;
}

int64_t pace_compute_client_deadline_us(const struct pace *p, struct pace_mark mark, int64_t t_us,
                                        int64_t due_us)
{
    double wait = (double)(t_us - mark.t_us) / (p->speed > 0 ? p->speed : 1);
    wait = wait < 0 ? 0 : wait < PACE_LATE_MAX_US ? wait : PACE_LATE_MAX_US;
    int64_t until = mark.live_us + (int64_t)wait;
    return (until > due_us ? until : due_us) + PACE_LATE_US;
}

int pace_parse_speed(const char *text, struct pace *ret)
{
    size_t digits = 0, points = 0;
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '.')
            points++;
        else if (*c >= '0' && *c <= '9')
            digits++;
        else
            return MI_EINVAL;
    }
    if (digits == 0 || digits > 12 || points > 1)
        return MI_EINVAL;
    double speed = strtod(text, NULL);
    if (speed > 1e6 || (speed > 0 && speed < 1e-3))
        return MI_EINVAL;
    ret->speed = speed;
    return 0;
}
