/* gauge.h - durations at a glance: bars and sparklines.
 *
 * Scale     logarithmic, from 1 ms (GAUGE_LEAST_US) to the longest duration.
 * Text      UTF-8 block elements, or ASCII; each character takes one column.
 * Units     microseconds, columns.
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_GAUGE_GAUGE_H
#define MI_CLI_UI_GAUGE_GAUGE_H

#include "base/buf.h"

#define GAUGE_LEAST_US ((int64_t)1000)

/* Appends a bar of at most `columns` for a duration, and blanks up to `columns`. The longest duration has the full
 * length; 1 ms and less, the shortest bar; one below 0 (open), none. The end of the bar is exact to an eighth of a
 * column, in ASCII to a whole one. */
void gauge_bar(struct buf *b, int64_t us, int64_t longest_us, size_t columns, bool ascii);
/* Appends one character for each duration, the oldest first, and blanks before them up to `columns`; `us` has the newest
 * first. The highest character is the longest duration of those that are shown. One below 0 stands for a call that
 * failed, and is a cross. */
void gauge_spark(struct buf *b, const int64_t *us, size_t n, size_t columns, bool ascii);

#endif
