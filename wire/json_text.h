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

/* One character of such a text, an escape as what it stands for: *p moves behind it, its bytes go to ret, their number
 * comes back. An escape never has more bytes resolved than written. What is no escape is one byte at a time. */
#define JSON_CHAR_MAX 4
size_t json_char(const char **p, const char *end, char *ret);
/* The text between the quotes of a string, escapes resolved. A lone surrogate becomes U+FFFD; \u0000
 * becomes a NUL byte. The first needs a place of raw.n bytes at most. 0 or MI_EFULL. */
MI_MUST int json_unescape_to(struct slice raw, char *ret, size_t max, size_t *ret_n);
void json_unescape(struct buf *b, struct slice raw);
/* Between the quotes of a string value; {NULL, 0} for anything else. Escapes stand as written. */
struct slice json_string_raw(struct json_value v);
/* Is the text between the quotes, escapes resolved, exactly this? {NULL, 0} is nothing. */
bool json_key_is(struct slice raw, const char *text);

/* Walk an object or array. A peek tells where the next value begins and does not look for its end, so
 * that the head of a long value costs nothing; a step goes past it. false: there are no more. Keys are
 * {NULL, 0} in an array. */
struct json_walk {
    const char *p; /* behind the last value, or the opening bracket; NULL: no container */
    bool object;
};
struct json_walk json_walk_begin(struct json_value container);
struct json_walk json_walk_at(const char *bracket); /* on the first byte of an object or array */
bool json_walk_peek(struct json_walk *w, struct slice *ret_key, const char **ret_value);
bool json_walk_next(struct json_walk *w, struct slice *ret_key, struct json_value *ret_value);
/* The head, of at most max bytes, of the text between the quotes of the string that begins here. It ends
 * between two characters and never inside an escape. */
struct slice json_string_head(const char *quote, size_t max);

/* The last member of this name (as most parsers do), or type JSON_NONE. */
struct json_value json_get(struct json_value object, const char *name);
/* The same, for a name as it stands between its quotes: however either is spelt. */
struct json_value json_get_raw(struct json_value object, struct slice name);
/* The same value, whatever the order of members, the white space and the spelling of strings and numbers?
 * Of a name that stands twice in an object the last value counts, as with json_get(). Of values that are longer
 * than JSON_EQUAL_MAX bytes only the same text is. */
#define JSON_EQUAL_MAX ((size_t)16 << 10)
bool json_equal(struct json_value a, struct json_value b);
/* A number without a fraction, however written (1.0, 1e3) and however large. */
bool json_is_integer(struct json_value v);
/* The same when it fits, exactly. false otherwise. */
bool json_int(struct json_value v, int64_t *ret);

#endif
