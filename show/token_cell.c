#include "show/token_cell.h"

void show_append_tokens(struct buf *b, int64_t tokens)
{
    static const struct {
        int64_t from, unit;
        const char *name;
    } units[] = {{999500, 1000000, "M"}, {1000, 1000, "k"}};
    for (size_t i = 0; i < MI_COUNT(units); i++) {
        if (tokens < units[i].from)
            continue;
        double n = (double)tokens / (double)units[i].unit;
        buf_printf(b, n < 99.95 ? "~%.1f%s" : "~%.0f%s", n, units[i].name);
        return;
    }
    buf_printf(b, tokens > 0 ? "~%lld" : "%lld", (long long)tokens);
}

void token_cell_append_or_dash(struct buf *b, const void *row, struct cell v)
{
    (void)row;
    if (v.type == CELL_INT)
        show_append_tokens(b, v.number);
    else
        buf_addc(b, '-');
}
