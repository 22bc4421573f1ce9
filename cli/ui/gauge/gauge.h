/* gauge.h - durations at a glance: bars, sparklines and percentiles.
 *
 * Scale     logarithmic, from 1 ms (GAUGE_LEAST_US) to the longest duration.
 * Text      UTF-8 block elements, or ASCII; each character takes one column.
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_GAUGE_GAUGE_H
#define MI_CLI_UI_GAUGE_GAUGE_H

#include "base/buf.h"

#define GAUGE_LEAST_US ((int64_t)1000)
#define GAUGE_SAMPLE 512 /* the last durations that are kept */

/* Appends a bar of at most `columns` for a duration, padded with blanks to `columns`. A duration below 1 ms has the
 * shortest bar, one below 0 (open) none. In UTF-8 an eighth of a column is visible, in ASCII a whole one, `#`. */
void gauge_bar(struct buf *b, int64_t us, int64_t longest_us, size_t columns, bool ascii);

/* The last durations of a tool, oldest first. Initialize with zeros. */
struct gauge_sample {
    int64_t us[GAUGE_SAMPLE]; /* a ring; below 0: failed, with -1 - us */
    size_t n;                 /* all that were added, also those no longer kept */
};
void gauge_add(struct gauge_sample *s, int64_t us, bool failed);
/* Appends one character for each of the last `columns` durations, padded with blanks on the left. */
void gauge_spark(struct buf *b, const struct gauge_sample *s, size_t columns, bool ascii);
/* The percentile of the kept durations (nearest rank), also of failed calls; -1: there are none. */
int64_t gauge_percentile(const struct gauge_sample *s, int percent);
int64_t gauge_longest(const struct gauge_sample *s); /* of the kept; 0: none */

#endif
