#include "proxy/stall.h"

void stall_open(struct stall *s, int64_t now_us)
{
    *s = (struct stall){.woke_us = now_us, .most_us = -1};
}

void stall_set_expected_wait(struct stall *s, int64_t most_us)
{
    s->most_us = most_us;
}

int64_t stall_measure_turn_delay(struct stall *s, int64_t now_us)
{
    int64_t late_us = s->most_us < 0 ? 0 : now_us - s->woke_us - s->most_us;
    s->woke_us = now_us;
    return late_us >= STALL_US ? late_us : 0;
}
