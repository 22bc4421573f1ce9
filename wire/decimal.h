/* decimal.h - numbers as JSON writes them, compared exactly, however long they are.
 *
 * Rules     a double would take 2^53 and 2^53 + 1 for one number: digits are compared, not values (RFC 8259, 6).
 *           The number is one that passed json_scan(); an exponent past what an int64_t holds is cut to that.
 * Owns      nothing: the digits lie in the text given.
 * Blocks    never. Pure; the digits are walked where they stand. */
#ifndef MI_WIRE_DECIMAL_H
#define MI_WIRE_DECIMAL_H

#include "base/base.h"

/* A number without the zeros at its end: what is left of its digits, with the point still among
 * them, and the power of ten of the last one. Zero has no digits left. */
struct decimal {
    struct slice digits;
    int64_t exp10;
    bool minus;
};

struct decimal decimal_of(struct slice number); /* JSON text of a number */
/* < 0, 0, > 0. */
int decimal_compare(struct decimal a, struct decimal b);
/* Is a a whole multiple of b, which is not zero? True when b has more than 17 digits: it is not known. */
bool decimal_is_multiple(struct decimal a, struct decimal b);

#endif
