#include "wire/json/text.h"

#include "base/text.h"
#include "wire/json/decimal.h"

#include <stdio.h>
#include <stdlib.h>

void json_unescape(struct buf *b, struct slice raw)
{
    if (raw.n == 0 || memchr(raw.p, '\\', raw.n) == NULL) {
        buf_slice_add(b, raw);
        return;
    }
    size_t n;
    if (!buf_reserve(b, raw.n) || json_unescape_to(raw, b->p + b->n, raw.n, &n) < 0)
        /* out of memory: buf_reserve() has set b->failed; the text fits, so json_unescape_to() does
         * not fail */
        return;
    b->n += n;
}

struct slice json_string_raw(struct json_value v)
{
    if (v.type != JSON_STRING)
        return (struct slice){0};
    return (struct slice){v.text.p + 1, v.text.n - 2};
}

bool json_key_is_escaped(struct slice raw, const char *text, size_t n)
{
    if (memchr(raw.p, '\\', raw.n) == NULL)
        return false;
    const char *p = raw.p;
    const char *end = raw.p + raw.n;
    while (p < end) {
        char c[JSON_CHAR_MAX];
        size_t len = json_decode_char(&p, end, c);
        if (len > n || memcmp(c, text, len) != 0)
            return false;
        text += len;
        n -= len;
    }
    return n == 0;
}

static const char *skip_space(const char *p)
{
    while (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')
        p++;
    return p;
}

/* Skips from the opening quote to one past the closing quote, which is the first quote after an
 * even number of backslashes. */
static const char *skip_string(const char *p)
{
    for (;;) {
        /* The string ends with a quote, so memchr() does not read past the text. */
        p = memchr(p + 1, '"', PTRDIFF_MAX / 2);
        size_t slashes = 0;
        while (p[-1 - (ptrdiff_t)slashes] == '\\')
            slashes++;
        if (slashes % 2 == 0)
            return p + 1;
    }
}

/* Skips a value in a container. At least one byte, such as a bracket, follows the value. */
static const char *skip_value(const char *p)
{
    if (*p == '"')
        return skip_string(p);
    if (*p != '{' && *p != '[') {
        while (*p != ',' && *p != ']' && *p != '}' && *p != ' ' && *p != '\t' && *p != '\n' &&
               *p != '\r')
            p++;
        return p;
    }
    int depth = 0;
    do {
        if (*p == '"') {
            p = skip_string(p);
            continue;
        }
        if (*p == '{' || *p == '[')
            depth++;
        else if (*p == '}' || *p == ']')
            depth--;
        p++;
    } while (depth > 0);
    return p;
}

struct json_walk json_walk_begin_at_bracket(const char *bracket)
{
    return (struct json_walk){.p = bracket + 1, .object = *bracket == '{'};
}

struct json_walk json_walk_begin(struct json_value container)
{
    if (container.type != JSON_OBJECT && container.type != JSON_ARRAY)
        return (struct json_walk){0};
    return json_walk_begin_at_bracket(container.text.p);
}

bool json_walk_peek(struct json_walk *w, struct slice *ret_key, const char **ret_value)
{
    if (w->p == NULL)
        return false;
    const char *p = skip_space(w->p);
    if (*p == ',')
        p = skip_space(p + 1);
    if (*p == '}' || *p == ']')
        return false;
    *ret_key = (struct slice){0};
    if (w->object) {
        const char *after = skip_string(p);
        *ret_key = (struct slice){p + 1, (size_t)(after - p) - 2};
        p = skip_space(skip_space(after) + 1);
    }
    *ret_value = p;
    return true;
}

bool json_walk_next(struct json_walk *w, struct slice *ret_key, struct json_value *ret_value)
{
    const char *p;
    if (!json_walk_peek(w, ret_key, &p))
        return false;
    w->p = skip_value(p);
    *ret_value = (struct json_value){json_type_at(*p), {p, (size_t)(w->p - p)}};
    return true;
}

const char *json_walk_get_container_end(const struct json_walk *w)
{
    return skip_space(w->p) + 1;
}

static size_t json_char_len(const char *p)
{
    return *p != '\\' ? text_utf8_len(p, 4) : p[1] == 'u' ? 6 : 2;
}

struct slice json_string_first_bytes(const char *quote, size_t max)
{
    struct slice head = {quote + 1, 0};
    const char *quote_end = memchr(head.p, '"', max);
    size_t n = quote_end != NULL ? (size_t)(quote_end - head.p) : max;
    /* without a backslash in these n bytes, the string ends at `quote_end`; without a quote, the
     * string has at least `max` bytes */
    if (memchr(head.p, '\\', n) == NULL)
        return text_prefix((struct slice){head.p, quote_end != NULL ? n : max + 1}, n);
    /* Finds the next quotation mark, which may be escaped, or the end of the first `max` bytes. */
    const char *end = NULL;
    for (;;) {
        const char *at = head.p + head.n;
        if (end == NULL || end < at) {
            end = memchr(at, '"', max - head.n);
            end = end != NULL ? end : at + (max - head.n);
        }
        head.n += text_count_leading_plain_bytes((struct slice){at, (size_t)(end - at)}, '\\', 0);
        if (head.n == max || head.p[head.n] == '"' || json_char_len(head.p + head.n) > max - head.n)
            return head;
        head.n += json_char_len(head.p + head.n);
    }
}

struct json_value json_get(struct json_value object, const char *name)
{
    struct json_value found = {0};
    if (object.type != JSON_OBJECT)
        return found;
    struct json_walk w = json_walk_begin(object);
    struct slice key;
    struct json_value v;
    while (json_walk_next(&w, &key, &v))
        if (json_key_is(key, name))
            found = v;
    return found;
}

/* Reads an integer of up to 18 characters without a fraction or an exponent: most integers are
 * written like this. */
static bool read_short_integer(struct json_value v, int64_t *ret)
{
    int64_t i = 0;
    if (v.type != JSON_NUMBER || v.text.n > 18)
        return false;
    bool minus = v.text.p[0] == '-';
    for (size_t k = minus; k < v.text.n; k++) {
        unsigned digit = (unsigned)(v.text.p[k] - '0');
        if (digit > 9)
            return false;
        i = i * 10 + (int64_t)digit;
    }
    *ret = minus ? -i : i;
    return true;
}

bool json_is_integer(struct json_value v)
{
    int64_t i;
    if (v.type != JSON_NUMBER || read_short_integer(v, &i))
        return v.type == JSON_NUMBER;
    struct decimal d = decimal_read(v.text);
    return d.digits.n == 0 || d.exp10 >= 0;
}

bool json_int(struct json_value v, int64_t *ret)
{
    if (read_short_integer(v, ret))
        return true;
    if (!json_is_integer(v))
        return false;
    struct decimal d = decimal_read(v.text);
    int64_t i = 0; /* the number is negative while it is read, so that INT64_MIN fits */
    for (size_t k = 0; k < d.digits.n; k++)
        if (d.digits.p[k] != '.' && (__builtin_mul_overflow(i, 10, &i) ||
                                     __builtin_sub_overflow(i, d.digits.p[k] - '0', &i)))
            return false;
    for (; i != 0 && d.exp10 > 0; d.exp10--)
        if (__builtin_mul_overflow(i, 10, &i))
            return false;
    if (!d.minus && __builtin_sub_overflow(0, i, &i))
        return false;
    *ret = i;
    return true;
}

static bool string_has_escape(struct slice raw)
{
    return raw.n > 0 && memchr(raw.p, '\\', raw.n) != NULL;
}

/* Compares two strings unescaped. Returns false if memory runs out. */
static bool strings_equal(struct slice a, struct slice b)
{
    struct buf x = {0}, y = {0};
    if (!string_has_escape(a) && !string_has_escape(b))
        return slice_eq(a, b);
    json_unescape(&x, a);
    json_unescape(&y, b);
    bool equal = !x.failed && !y.failed && slice_eq(buf_slice(&x), buf_slice(&y));
    buf_close(&x);
    buf_close(&y);
    return equal;
}

struct json_value json_get_by_raw_name(struct json_value object, struct slice name)
{
    struct slice key;
    struct json_value v, found = {0};
    for (struct json_walk w = json_walk_begin(object); json_walk_next(&w, &key, &v);)
        if (strings_equal(key, name))
            found = v;
    return found;
}

/* Compares two numbers as doubles, as most parsers read them. */
static bool numbers_equal(struct slice a, struct slice b)
{
    char x[64], y[64];
    if (a.n >= sizeof x || b.n >= sizeof y)
        return false;
    snprintf(x, sizeof x, "%.*s", (int)a.n, a.p);
    snprintf(y, sizeof y, "%.*s", (int)b.n, b.p);
    return strtod(x, NULL) == strtod(y, NULL);
}

static bool json_values_equal(struct json_value a, struct json_value b, int depth);

static bool arrays_equal(struct json_value a, struct json_value b, int depth)
{
    struct slice key;
    struct json_value x, y;
    struct json_walk wa = json_walk_begin(a), wb = json_walk_begin(b);
    for (;;) {
        bool has_x = json_walk_next(&wa, &key, &x), has_y = json_walk_next(&wb, &key, &y);
        if (!has_x || !has_y)
            return has_x == has_y;
        if (!json_values_equal(x, y, depth))
            return false;
    }
}

/* Compares two objects: each object must have all names of the other object. Of duplicate names,
 * the last value counts. */
static bool objects_equal(struct json_value a, struct json_value b, int depth)
{
    struct slice key;
    struct json_value x, y;
    for (struct json_walk w = json_walk_begin(b); json_walk_next(&w, &key, &y);)
        if (json_get_by_raw_name(a, key).type == JSON_NONE)
            return false;
    for (struct json_walk w = json_walk_begin(a); json_walk_next(&w, &key, &x);) {
        bool last = json_get_by_raw_name(a, key).text.p == x.text.p;
        y = json_get_by_raw_name(b, key);
        if (y.type == JSON_NONE || (last && !json_values_equal(x, y, depth)))
            return false;
    }
    return true;
}

static bool json_values_equal(struct json_value a, struct json_value b, int depth)
{
    if (a.type != b.type)
        return false;
    if (slice_eq(a.text, b.text))
        return true;
    if (a.text.n > JSON_EQUAL_MAX || b.text.n > JSON_EQUAL_MAX || depth == JSON_TREE_DEPTH)
        return false;
    switch (a.type) {
    case JSON_NUMBER:
        return numbers_equal(a.text, b.text);
    case JSON_STRING:
        return strings_equal(json_string_raw(a), json_string_raw(b));
    case JSON_ARRAY:
        return arrays_equal(a, b, depth + 1);
    case JSON_OBJECT:
        return objects_equal(a, b, depth + 1);
    default:
        return true;
    }
}

bool json_equal(struct json_value a, struct json_value b)
{
    return json_values_equal(a, b, 0);
}
