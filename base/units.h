/* units.h - reads and writes durations and sizes as users write them.
 *
 * Durations `30s`, `500ms`, `5m`, `2h`, `1d`, `2w`, `1mo` (30 days), `250us`, `1.5s`; a bare number
 * is seconds.
 * Sizes     `64MiB`, `10KiB`, `1GiB`, `500kB`, `2MB`, `1GB`, `512B`; a bare number is bytes.
 * Errors    MI_EINVAL: invalid form, or out of range (durations up to 10 years, sizes up to 2^62
 *           bytes).
 * Blocks    never. Pure. */
#ifndef MI_BASE_UNITS_H
#define MI_BASE_UNITS_H

#include "base/buf.h"

MI_MUST int units_parse_duration(const char *text, int64_t *ret_us);
MI_MUST int units_parse_size(const char *text, size_t *ret_bytes);
/* Returns true if the text of a duration or a size has a unit. */
bool units_text_has_unit(const char *text);
/* appends a duration, such as 850us, 12.3ms, 4.20s, 3m12s or 2h05m */
void units_show_duration(struct buf *b, int64_t us);
/* appends a size, such as 512B, 1.5KiB, 16.0MiB or 128MiB */
void units_show_size(struct buf *b, int64_t bytes);
/* A text that can be returned by value: units_format_bytes(n).s is valid until the end of the
 * expression. */
struct units_text {
    char s[32];
};
struct units_text units_format_duration(int64_t us);
struct units_text units_format_bytes(int64_t bytes);

#endif
