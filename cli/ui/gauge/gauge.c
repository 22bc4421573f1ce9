#include "cli/ui/gauge/gauge.h"

#include "base/text.h"

#include <math.h>

/* Returns the length of a duration on the scale, 1 to `steps`; 0 if the duration is below 0. */
static size_t gauge_scale_duration_to_steps(int64_t us, int64_t longest_us, size_t steps)
{
    if (us < 0 || steps == 0)
        return 0;
    if (us <= GAUGE_LEAST_US)
        return 1;
    if (us >= longest_us)
        return steps;
    double least = log((double)GAUGE_LEAST_US);
    double part = (log((double)us) - least) / (log((double)longest_us) - least);
    return 1 + (size_t)(part * (double)(steps - 1) + 0.5);
}

static void gauge_add_char(struct buf *b, uint32_t code)
{
    char c[4];
    buf_add(b, c, text_put_utf8_char(code, c));
}

void gauge_append_bar(struct buf *b, int64_t us, int64_t longest_us, size_t columns, bool ascii)
{
    size_t parts = ascii ? 1 : 8;
    size_t steps = gauge_scale_duration_to_steps(us, longest_us, columns * parts);
    size_t i = 0;
    for (; i < steps / parts; i++)
        if (ascii)
            buf_addc(b, '#');
        else
            gauge_add_char(b, 0x2588); /* full block */
    if (steps % parts != 0) {
        /* 0x2589 is seven eighths of a column wide, 0x258F is one eighth */
        gauge_add_char(b, 0x2590 - (uint32_t)(steps % parts));
        i++;
    }
    for (; i < columns; i++)
        buf_addc(b, ' ');
}

void gauge_append_sparkline(struct buf *b, const int64_t *us, size_t n, size_t columns, bool ascii)
{
    /* characters ordered by how much of their cell they fill */
    static const char levels[] = "_.-=+*%#";
    int64_t longest = 0;
    n = size_min(n, columns);
    for (size_t i = 0; i < n; i++)
        longest = us[i] > longest ? us[i] : longest;
    for (size_t i = n; i < columns; i++)
        buf_addc(b, ' ');
    for (size_t i = n; i > 0; i--) {
        size_t step = gauge_scale_duration_to_steps(us[i - 1], longest, 8);
        if (ascii)
            buf_addc(b, step == 0 ? 'x' : levels[step - 1]);
        else if (step == 0)
            gauge_add_char(b, 0xD7);
        else
            /* 0x2581 is one eighth of a line high, 0x2588 has the full height */
            gauge_add_char(b, 0x2580 + (uint32_t)step);
    }
}
