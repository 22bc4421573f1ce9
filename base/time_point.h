/* time_point.h - reads points in time as users write them.
 *
 * Forms     `2h`, `7d`, `90s`: a duration before now, with a unit; `now`; `today` and `yesterday`,
 *           which begin at midnight; `2026-01-31`, `2026-01-31 17:05`, `2026-01-31T17:05:09` in the
 *           local time zone (TZ), or in UTC with `Z` at the end. Seconds may have a fraction:
 *           `17:05:09.250`.
 * Units     microseconds since the Unix epoch.
 * Errors    MI_EINVAL: none of these forms, or an invalid date.
 * Blocks    only to read the time zone file, once. */
#ifndef MI_BASE_TIME_POINT_H
#define MI_BASE_TIME_POINT_H

#include "base/base.h"

MI_MUST int time_point_parse_text(const char *text, int64_t now_us, int64_t *ret_us);

#endif
