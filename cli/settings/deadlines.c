#include "cli/settings/deadlines.h"

int settings_read_deadlines(const struct settings *s, struct deadlines *ret, struct buf *error)
{
    int st = 0;
    size_t at = 0;
    deadlines_open(ret);
    for (const char *v; st == 0 && (v = settings_next_value(s, "timeout", &at)) != NULL;)
        st = deadlines_add(ret, v, error);
    if (st == 0 && s->set.overflow) {
        buf_printf(error, "at most %d rules", OPT_MANY_MAX);
        st = MI_EFULL;
    }
    return st;
}
