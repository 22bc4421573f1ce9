/* decimal.h - exact comparison of JSON numbers of any length.
 *
 * Rules     digits are compared, because 2^53 and 2^53 + 1 are equal as doubles (RFC 8259, 6).
 *           Numbers must have passed json_scan(). Exponents are limited to 10^15.
 * Owns      nothing: digits point into the caller's text.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_JSON_DECIMAL_H
#define MI_WIRE_JSON_DECIMAL_H

#include "base/base.h"

/* A number: its digits without trailing zeros, possibly with a decimal point, and the power of ten
 * of its last digit. Zero has no digits. */
struct decimal {
    struct slice digits;
    int64_t exp10;
    bool minus;
};

struct decimal decimal_read(struct slice number); /* JSON text of a number */
/* Returns a number < 0 if a < b, 0 if they are equal, > 0 if a > b. */
int decimal_compare(struct decimal a, struct decimal b);
/* Whether `a` is an integer multiple of `b`, which must not be zero. Always true if `b` has more
 * than 17 digits. */
bool decimal_is_multiple(struct decimal a, struct decimal b);

#endif
