/* json_text.h - reading inside JSON text that json_scan() has already found valid.
 *
 * Every function here trusts its input: give it only text that passed json_scan(), or a value handed
 * out from there. Nothing is parsed into a tree; a look-up walks the text.
 *
 * Owns      nothing. Slices lie in the text given.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_JSON_TEXT_H
#define MI_WIRE_JSON_TEXT_H

#include "base/buf.h"
#include "wire/json.h"

/* The text between the quotes of a string, escapes resolved. A lone surrogate becomes U+FFFD; \u0000
 * becomes a NUL byte. The first needs a place of raw.n bytes at most. 0 or MI_EFULL. */
MI_MUST int json_unescape_to(struct slice raw, char *ret, size_t max, size_t *ret_n);
void json_unescape(struct buf *b, struct slice raw);
/* Between the quotes of a string value; {NULL, 0} for anything else. Escapes stand as written. */
struct slice json_string_raw(struct json_value v);
/* Is the text between the quotes, escapes resolved, exactly this? */
bool json_key_is(struct slice raw, const char *text);

/* Walk an object or array: *at starts as {text.p + 1, …} by json_walk_begin(). false at the end. */
struct json_walk {
    const char *p;
    const char *end;
    bool object;
};
struct json_walk json_walk_begin(struct json_value container);
bool json_walk_next(struct json_walk *w, struct slice *ret_key, struct json_value *ret_value);

/* The last member of this name (as most parsers do), or type JSON_NONE. */
struct json_value json_get(struct json_value object, const char *name);
/* A number without a fraction, however written (1.0, 1e3) and however large. */
bool json_is_integer(struct json_value v);
/* The same when it fits, exactly. false otherwise. */
bool json_int(struct json_value v, int64_t *ret);

#endif
