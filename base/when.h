/* when.h - points in time as people write them.
 *
 * Forms     `2h`, `7d`, `90s`: so long ago, with a unit; `now`, `today`, `yesterday` (their midnight);
 *           `2026-01-31`, `2026-01-31 17:05`, `2026-01-31T17:05:09`: in the time zone of the person (TZ);
 *           with `Z` at the end in UTC.
 * Units     microseconds since the Unix epoch.
 * Errors    MI_EINVAL: none of these, or a date that no calendar has.
 * Blocks    never, but for the first look at the time zone's file. */
#ifndef MI_BASE_WHEN_H
#define MI_BASE_WHEN_H

#include "base/base.h"

MI_MUST int when_parse(const char *text, int64_t now_us, int64_t *ret_us);

#endif
