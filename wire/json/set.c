#include "wire/json/set.h"

#include "base/text.h"
#include "wire/json/pointer.h"
#include "wire/json/text.h"

/* ---- finding ---- */

/* Writes the unescaped token to `b`, as a string that ends with a NUL. Returns false if the token
 * is invalid, or if out of memory. */
static bool read_token(struct buf *b, struct slice token)
{
    buf_clear(b);
    bool valid = pointer_unescape(b, token);
    return valid && buf_str(b) != NULL && !b->failed;
}

/* Reads an index in the form of RFC 6901. Returns false if it is not an index. */
static bool read_array_index(struct slice token, size_t *ret)
{
    size_t n = 0;
    if (token.n == 0 || token.n > 9 || (token.n > 1 && token.p[0] == '0'))
        return false;
    for (size_t i = 0; i < token.n; i++) {
        if (token.p[i] < '0' || token.p[i] > '9')
            return false;
        n = n * 10 + (size_t)(token.p[i] - '0');
    }
    *ret = n;
    return true;
}

/* Returns the element with this index; type JSON_NONE if there is none: then *ret_n is the number
 * of elements of the array. */
static struct json_value json_find_element(struct json_value array, size_t index, size_t *ret_n)
{
    struct json_walk w = json_walk_begin(array);
    struct slice key;
    struct json_value v;
    for (*ret_n = 0; json_walk_next(&w, &key, &v); ++*ret_n)
        if (*ret_n == index)
            return v;
    return (struct json_value){0};
}

/* Returns the member or element that a token names. b: the unescaped token, as read_token() writes
 * it. */
static struct json_value find_child_by_token(struct json_value parent, struct slice token,
                                             struct buf *b)
{
    size_t index, n;
    if (parent.type == JSON_OBJECT)
        return json_get(parent, buf_str(b));
    if (parent.type == JSON_ARRAY && read_array_index(token, &index))
        return json_find_element(parent, index, &n);
    return (struct json_value){0};
}

struct json_value json_find_at_pointer(struct json_value root, struct slice pointer)
{
    struct json_value at = root;
    struct slice token;
    struct buf b = {0};
    while (at.type != JSON_NONE && pointer_read_next_token(&pointer, &token))
        at = read_token(&b, token) ? find_child_by_token(at, token, &b) : (struct json_value){0};
    buf_close(&b);
    return pointer.n == 0 ? at : (struct json_value){0};
}

/* ---- changing ---- */

/* Appends the value, wrapped in new objects for the missing tokens of the pointer. */
static bool append_value_in_new_objects(struct buf *out, struct slice rest, struct slice value,
                                        struct buf *b)
{
    struct slice token;
    size_t depth = 0;
    for (; pointer_read_next_token(&rest, &token); depth++) {
        if (!read_token(b, token))
            return false;
        buf_addc(out, '{');
        text_append_json(out, buf_slice(b));
        buf_addc(out, ':');
    }
    buf_slice_add(out, value);
    for (; depth > 0; depth--)
        buf_addc(out, '}');
    return rest.n == 0;
}

/* Adds a member or an element at the end of `into`, which is an object or array inside `text`. */
static int json_insert_at_end(struct buf *out, struct slice text, struct json_value into,
                              struct slice token, struct slice rest, struct slice value,
                              struct buf *b)
{
    size_t end = (size_t)(into.text.p + into.text.n - text.p) - 1;
    struct json_walk w = json_walk_begin(into);
    struct slice key;
    const char *first;
    buf_add(out, text.p, end);
    buf_adds(out, json_walk_peek(&w, &key, &first) ? "," : "");
    if (into.type == JSON_OBJECT && read_token(b, token)) {
        text_append_json(out, buf_slice(b));
        buf_addc(out, ':');
    }
    bool good = append_value_in_new_objects(out, rest, value, b);
    buf_add(out, text.p + end, text.n - end);
    return good ? 0 : MI_EINVAL;
}

static int json_replace_value(struct buf *out, struct slice text, struct slice old,
                              struct slice rest, struct slice value, struct buf *b)
{
    size_t at = (size_t)(old.p - text.p);
    buf_add(out, text.p, at);
    bool good = append_value_in_new_objects(out, rest, value, b);
    buf_add(out, text.p + at + old.n, text.n - at - old.n);
    return good ? 0 : MI_EINVAL;
}

/* Whether `token` names the element after the last one of the array. If not, appends the reason to
 * `error`. */
static bool token_is_next_index(struct json_value array, struct slice token, struct buf *error)
{
    size_t index = SIZE_MAX, n;
    bool is_index = read_array_index(token, &index);
    (void)json_find_element(array, SIZE_MAX, &n);
    if (slice_is(token, "-") || (is_index && index == n))
        return true;
    if (is_index)
        buf_printf(error, "is beyond the end of an array of length %zu", n);
    else
        buf_adds(error, "names a member of an array; write an index, or - to add an element");
    return false;
}

static int set_value_at_pointer(struct buf *out, struct slice text, struct slice pointer,
                                struct slice value, struct buf *b, struct buf *error)
{
    struct json_value at = {json_type_at(*text.p), text};
    struct slice token, rest = pointer;
    for (struct slice here = pointer; pointer_read_next_token(&rest, &token); here = rest) {
        if (!read_token(b, token)) {
            buf_adds(error, "is not a JSON pointer: write ~0 for ~, and ~1 for / in a name");
            return MI_EINVAL;
        }
        if (at.type == JSON_NULL) /* null counts as missing: replace it by an object */
            return json_replace_value(out, text, at.text, here, value, b);
        if (at.type != JSON_OBJECT && at.type != JSON_ARRAY) {
            buf_printf(error, "is inside of %s",
                       at.type == JSON_STRING   ? "a string"
                       : at.type == JSON_NUMBER ? "a number"
                                                : "true or false");
            return MI_EINVAL;
        }
        struct json_value next = find_child_by_token(at, token, b);
        if (next.type == JSON_NONE && at.type == JSON_ARRAY &&
            !token_is_next_index(at, token, error))
            return MI_EINVAL;
        if (next.type == JSON_NONE)
            return json_insert_at_end(out, text, at, token, rest, value, b);
        at = next;
    }
    return json_replace_value(out, text, at.text, (struct slice){"", 0}, value, b);
}

int json_set_value_at_pointer(struct buf *out, struct slice text, struct slice pointer,
                              struct slice value, struct buf *error)
{
    struct json_scan scan;
    struct buf b = {0};
    buf_clear(out);
    if (pointer.n > 0 && pointer.p[0] != '/') {
        buf_adds(error, "is not a JSON pointer: use the form /arguments/path");
        return MI_EINVAL;
    }
    int st = json_scan(text, NULL, NULL, &scan) < 0
                 ? MI_EINVAL
                 : set_value_at_pointer(out, scan.root, pointer, value, &b, error);
    if (st == MI_EINVAL && error->n == 0)
        buf_adds(error, "is not a JSON pointer: write ~0 for ~, and ~1 for / in a name");
    if (b.failed || out->failed)
        st = MI_ENOMEM;
    buf_close(&b);
    return st;
}
