/* escape.h - decodes the escapes of JSON strings (RFC 8259, section 7), in text that was checked
 * before.
 *
 * Owns      nothing.
 * Units     bytes.
 * Blocks    never; pure. */
#ifndef MI_WIRE_JSON_ESCAPE_H
#define MI_WIRE_JSON_ESCAPE_H

#include "base/base.h"

/* Decodes one escape, or copies one byte: advances *p, writes up to JSON_CHAR_MAX bytes to ret and
 * returns their number. A decoded escape is never longer than the escape itself. */
#define JSON_CHAR_MAX 4
size_t json_decode_char(const char **p, const char *end, char *ret);
/* Unescapes a string without its quotes; raw.n bytes always suffice. A lone surrogate becomes
 * U+FFFD, \u0000 becomes a NUL byte. Returns 0 or MI_EFULL. */
MI_MUST int json_unescape_to(struct slice raw, char *ret, size_t max, size_t *ret_n);

#endif
