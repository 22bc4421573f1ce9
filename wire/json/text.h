/* text.h - reads values in JSON text that json_scan() has accepted.
 *
 * The functions do not check their input: pass only text that json_scan() accepted, or values that
 * it reported. No tree is built: each look-up walks the text.
 *
 * Owns      nothing. Slices point into the caller's text.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_JSON_TEXT_H
#define MI_WIRE_JSON_TEXT_H

#include "base/buf.h"
#include "wire/json/escape.h"
#include "wire/json/scan.h"

/* Appends a string without its quotes, unescaped as by json_unescape_to(). */
void json_unescape(struct buf *b, struct slice raw);
/* Returns a string value without its quotes, with escapes as written; {NULL, 0} for other types. */
struct slice json_string_raw(struct json_value v);
/* Does the work of json_key_is() if `raw` is longer than the text. Such a `raw` can equal the text
 * only if it has escapes. n: length of the text. */
bool json_key_is_escaped(struct slice raw, const char *text, size_t n);
/* Whether the unescaped form of `raw` is exactly this text. {NULL, 0} equals nothing. The function
 * is inline, so that the compiler knows the length of a constant text. */
static inline bool json_key_is(struct slice raw, const char *text)
{
    size_t n = strlen(text);
    if (raw.n <= n)
        return raw.n == n && raw.p != NULL && memcmp(raw.p, text, n) == 0 &&
               memchr(text, '\\', n) == NULL;
    return json_key_is_escaped(raw, text, n);
}

/* Iterates over an object or array. json_walk_peek() returns the start of the next value without
 * searching for its end, so reading only the head of a long value is cheap; json_walk_next()
 * advances past the value. Both return false if there are no more values. In an array, keys are
 * {NULL, 0}. */
struct json_walk {
    /* position after the value that was read last, or after the opening bracket; NULL: the value is
     * not a container */
    const char *p;
    bool object;
};
struct json_walk json_walk_begin(struct json_value container);
struct json_walk
json_walk_begin_at_bracket(const char *bracket); /* bracket: first byte of an object or array */
bool json_walk_peek(struct json_walk *w, struct slice *ret_key, const char **ret_value);
bool json_walk_next(struct json_walk *w, struct slice *ret_key, struct json_value *ret_value);
/* Returns one past the container's closing bracket. Call it after json_walk_next() or
 * json_walk_peek() has returned false. */
const char *json_walk_get_container_end(const struct json_walk *w);
/* Returns at most the first max bytes of the string that begins at `quote`, without the quote.
 * Never splits a character or an escape. */
struct slice json_string_first_bytes(const char *quote, size_t max);

/* Returns the last member with this name, which most parsers use; type JSON_NONE if there is
 * none. */
struct json_value json_get(struct json_value object, const char *name);
/* Like json_get(), for a raw name: the name and the keys are compared unescaped. */
struct json_value json_get_by_raw_name(struct json_value object, struct slice name);
/* Whether the values are equal, regardless of the order of members, white space and the spelling of
 * strings and numbers. Of duplicate members the last one is compared, as with json_get(). Values
 * longer than JSON_EQUAL_MAX bytes, and those in more than JSON_TREE_DEPTH levels, are equal only
 * if their text is equal. */
#define JSON_EQUAL_MAX ((size_t)16 << 10)
bool json_equal(struct json_value a, struct json_value b);
/* Whether v is a number without a fraction, in any spelling (1.0, 1e3) and of any size. */
bool json_is_integer(struct json_value v);
/* Reads an integer. Returns false if v is not an integer, or does not fit. */
bool json_int(struct json_value v, int64_t *ret);

#endif
