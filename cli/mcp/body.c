#include "cli/mcp/body.h"

#include "base/text.h"
#include "wire/json/pointer.h"

#define MEMBERS_NAMED 20 /* maximum number of members that an error names */

/* ---- the value ---- */

static void append_member_names(struct buf *b, struct json_value v)
{
    struct slice key;
    struct json_value member;
    int64_t n = 0;
    for (struct json_walk w = json_walk_begin(v); json_walk_next(&w, &key, &member); n++) {
        if (v.type != JSON_OBJECT || n >= MEMBERS_NAMED)
            continue;
        struct buf name = {0};
        json_unescape(&name, key);
        buf_adds(b, n == 0 ? ", with the members " : ", ");
        append_quoted_text_or_dash(b, buf_slice(&name), SHOWN_NAME);
        buf_close(&name);
    }
    if (v.type == JSON_ARRAY)
        buf_printf(b, ", with %lld elements", (long long)n);
    else if (n > MEMBERS_NAMED)
        buf_adds(b, " and more");
}

static const char *mcp_body_type_name(enum json_type type)
{
    static const char *const names[] = {
        [JSON_NONE] = "text",    [JSON_NULL] = "null",     [JSON_FALSE] = "boolean",
        [JSON_TRUE] = "boolean", [JSON_NUMBER] = "number", [JSON_STRING] = "string",
        [JSON_ARRAY] = "array",  [JSON_OBJECT] = "object",
    };
    return names[type];
}

static struct json_value mcp_body_get_element(struct json_value array, struct slice index)
{
    struct slice key;
    struct json_value v;
    size_t want = 0;
    if (index.n == 0 || index.n > 9 || (index.n > 1 && index.p[0] == '0'))
        return (struct json_value){0};
    for (size_t i = 0; i < index.n; i++) {
        if (index.p[i] < '0' || index.p[i] > '9')
            return (struct json_value){0};
        want = 10 * want + (size_t)(index.p[i] - '0');
    }
    for (struct json_walk w = json_walk_begin(array); json_walk_next(&w, &key, &v); want--)
        if (want == 0)
            return v;
    return (struct json_value){0};
}

/* Finds the value that the pointer names. Returns 0, MI_EINVAL or MI_ENOMEM. */
static int find_value_at_pointer(struct tool_call *c, const char *pointer, struct json_value *v)
{
    struct slice rest = slice_of(pointer), token;
    struct buf name = {0};
    int st = 0;
    while (st == 0 && rest.n > 0) {
        struct slice here = {pointer, (size_t)(rest.p - pointer)};
        struct json_value next = {0};
        buf_clear(&name);
        if (pointer_read_next_token(&rest, &token) && pointer_unescape(&name, token))
            next = v->type == JSON_OBJECT  ? json_get(*v, buf_str(&name))
                   : v->type == JSON_ARRAY ? mcp_body_get_element(*v, buf_slice(&name))
                                           : (struct json_value){0};
        if (next.type == JSON_NONE) {
            buf_adds(&c->error, "the pointer leads to no value: at ");
            append_quoted_text_or_dash(&c->error, here, SHOWN_BRIEF);
            buf_printf(&c->error, " the type is %s", mcp_body_type_name(v->type));
            append_member_names(&c->error, *v);
            st = MI_EINVAL;
        }
        *v = next;
    }
    st = name.failed ? MI_ENOMEM : st;
    buf_close(&name);
    return st;
}

/* ---- images, audio and blobs ---- */

#define BASE64_MIN 100 /* minimum characters of a base64 text that is replaced by its size */

/* Returns the number of bytes that the base64 text encodes. Returns 0 if the text is not base64, or
 * has fewer than BASE64_MIN characters. An escaped slash counts as one character. */
static size_t base64_size_if_binary(struct slice text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && (c == '\0' || strchr("+/-_=\\", c) == NULL))
            return 0;
        n += c != '=' && c != '\\';
    }
    return n >= BASE64_MIN ? n * 3 / 4 : 0;
}

/* Whether the string that begins with the quote at `at` is the value of a member. */
static bool string_is_value_of_member(struct slice json, size_t at)
{
    while (at > 0 && strchr(" \t\r\n", json.p[at - 1]) != NULL)
        at--;
    return at > 0 && json.p[at - 1] == ':';
}

/* Appends valid JSON text, but leaves out base64 in its members `data` and `blob`. */
static void append_json_without_blobs(struct buf *b, struct slice json)
{
    struct slice name = {0};
    size_t done = 0;
    for (size_t i = 0; i < json.n; i++) {
        size_t begin = i + 1;
        if (json.p[i] != '"')
            continue;
        for (i = begin; json.p[i] != '"'; i++)
            i += json.p[i] == '\\';
        struct slice text = {json.p + begin, i - begin};
        bool is_blob = (slice_is(name, "data") || slice_is(name, "blob")) &&
                       string_is_value_of_member(json, begin - 1);
        size_t size = is_blob ? base64_size_if_binary(text) : 0;
        if (size > 0) {
            buf_slice_add(b, (struct slice){json.p + done, begin - done});
            buf_printf(b, "[base64 of %zu bytes: pass a pointer to this string to read it]", size);
            done = i;
        }
        name = text; /* if this string is the name of a member, the next string may be its value */
    }
    buf_slice_add(b, (struct slice){json.p + done, json.n - done});
}

/* ---- the bytes from the offset on ---- */

/* Sets *ret to the whole text of the value that v->pointer names; the text is stored in `own`. If
 * `body` is not JSON, sets *ret to `body` itself. */
static int body_find_value(struct tool_call *c, const struct body_view *v, struct slice body,
                           struct buf *own, struct slice *ret, const char **ret_type)
{
    struct json_scan scan;
    struct json_value value = {0};
    *ret = body;
    if (json_scan(body, NULL, NULL, &scan) == 0)
        value = (struct json_value){scan.type, scan.root};
    int st = find_value_at_pointer(c, v->pointer, &value);
    *ret_type = mcp_body_type_name(value.type);
    if (st < 0 || value.type == JSON_NONE)
        return st;
    if (value.type == JSON_STRING) {
        json_unescape(own, json_string_raw(value));
    } else {
        struct buf visible = {0};
        text_append_visible_json(&visible, value.text);
        append_json_without_blobs(own, buf_slice(&visible));
        own->failed |= visible.failed;
        buf_close(&visible);
    }
    *ret = buf_slice(own);
    return own->failed ? MI_ENOMEM : 0;
}

/* Returns the first bytes of s, at most `max`. Does not split a character. Invalid UTF-8 may be cut
 * anywhere. */
static struct slice body_get_text_prefix(struct slice s, size_t max)
{
    struct slice head = text_prefix(s, max);
    bool is_text = head.n == s.n || (head.n > 0 && head.n + JSON_CHAR_MAX > max);
    return is_text ? head : (struct slice){s.p, max};
}

/* Returns the part that begins at `offset`. Sets ret_text to the text of this part, with `prefix`
 * before each line. */
static struct slice body_cut_part_at_offset(const struct body_view *v, struct slice whole,
                                            const char *prefix, struct buf *ret_text)
{
    size_t max = (size_t)v->max_bytes;
    struct slice from = {whole.p + v->offset, whole.n - (size_t)v->offset};
    struct slice part = body_get_text_prefix(from, max);
    do {
        buf_clear(ret_text);
        append_lines_with_prefix(ret_text, part, prefix);
        if (ret_text->n <= 2 * max || part.n <= max / 8)
            break;
        part = body_get_text_prefix(from, part.n / 2);
    } while (true);
    return part;
}

static int add_bytes_at_offset(struct tool_call *c, const struct body_view *v, struct slice whole,
                               const char *type)
{
    struct buf plain = {0}, lines = {0};
    struct slice part = body_cut_part_at_offset(v, whole, "", &plain);
    append_lines_with_prefix(&lines, part, "| ");
    size_t end = (size_t)(part.p + part.n - whole.p);
    if (v->pointer[0] != '\0')
        json_out_str(&c->j, "pointer", v->pointer);
    json_out_str(&c->j, "type", type);
    json_out_int(&c->j, "offset", v->offset);
    json_out_uint(&c->j, "length", whole.n);
    /* 0: json_out_text() only quotes `plain` as JSON, because body_cut_part_at_offset() has already
     * cut the text and escaped its special characters */
    c->j.max_text = 0;
    json_out_text(&c->j, "text", buf_slice(&plain));
    c->j.max_text = SHOWN_MAX;
    buf_slice_add(&c->text, buf_slice(&lines));
    buf_addc(&c->text, '\n');
    if (end < whole.n) {
        json_out_uint(&c->j, "next_offset", end);
        buf_printf(&c->text, "Cut: these are the bytes %lld to %zu of %zu. For the rest: ",
                   (long long)v->offset, end, whole.n);
        if (v->part != NULL)
            buf_printf(&c->text, "get_call with part \"%s\" and offset %zu.\n", v->part, end);
        else
            buf_printf(&c->text, "get_call with offset %zu.\n", end);
    }
    bool failed = plain.failed || lines.failed;
    buf_close(&plain);
    buf_close(&lines);
    return failed ? MI_ENOMEM : 0;
}

int body_add_members(struct tool_call *c, const struct body_view *v, struct slice body)
{
    struct buf own = {0};
    struct slice whole;
    const char *type;
    int st = body_find_value(c, v, body, &own, &whole, &type);
    if (st == 0 && v->offset > 0 && (uint64_t)v->offset >= whole.n) {
        buf_printf(&c->error, "offset %lld is beyond the end: there are %zu bytes",
                   (long long)v->offset, whole.n);
        st = MI_EINVAL;
    }
    if (st == 0)
        st = add_bytes_at_offset(c, v, whole, type);
    buf_close(&own);
    return st;
}
