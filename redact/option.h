/* option.h - options in command lines, which are arrays of strings. Internal to redact/.
 *
 * Strings are raw, with the escapes of JSON.
 * Blocks    never. Pure. */
#ifndef MI_REDACT_OPTION_H
#define MI_REDACT_OPTION_H

#include "redact/key.h"

#define OPTION_MAX 256 /* bytes of the longest option that is recognized */

/* Returns the rule for an option such as `--api-key`, whose value is the next string. Returns NULL
 * for other options, and for an option without a value, such as `--no-password`. */
const struct key_rule *option_find_rule(const struct keys *k, struct slice raw);
/* Whether the value of this option is a header: `--header`, `--extra-headers`, `-H`. *ret_header is
 * the header in `--header=NAME: VALUE`, or {NULL, 0} if the next string is the header. */
bool option_takes_header(struct slice raw, struct slice *ret_header);
/* Returns the rule for a header in a command line. *ret_value: the header's value without a scheme
 * such as `Bearer `; the whole text if it is a JSON object. Headers whose names are not names of
 * secrets match as well, except those in key_plain_headers. Returns NULL if the value is not
 * replaced. */
const struct key_rule *option_find_header_rule(const struct keys *k, struct slice header,
                                               struct slice *ret_value);

#endif
