/* gauge.h - draws durations as bars and sparklines.
 *
 * Scale     logarithmic, from 1 ms (GAUGE_LEAST_US) to the longest duration.
 * Text      UTF-8 block elements, or ASCII; each character takes one column.
 * Units     microseconds, columns.
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_GAUGE_GAUGE_H
#define MI_CLI_UI_GAUGE_GAUGE_H

#include "base/buf.h"

#define GAUGE_LEAST_US ((int64_t)1000)

/* Appends a bar for a duration, padded with blanks to `columns`. The longest duration has a bar of
 * all columns; 1 ms or less has the shortest bar; a negative duration (an open call) has no bar.
 * The bar is exact to an eighth of a column; in ASCII, to a column. */
void gauge_append_bar(struct buf *b, int64_t us, int64_t longest_us, size_t columns, bool ascii);
/* Appends one character for each duration, the oldest first; before them, blanks that fill
 * `columns`. `us` has the newest duration first. The longest duration has the highest character. A
 * negative duration means a failed call and becomes a cross. */
void gauge_append_sparkline(struct buf *b, const int64_t *us, size_t n, size_t columns, bool ascii);

#endif
