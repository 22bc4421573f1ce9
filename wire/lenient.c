#include "wire/lenient.h"

#include "base/chars.h"
#include "base/text.h"
#include "wire/json/nesting.h"

/* Kinds of tokens. The grammar is JSON, but any word or string may be a key or a value, and commas
 * may be repeated or stand before the end of a container. */
enum token {
    TOKEN_NONE, /* the text has ended, perhaps inside a string */
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_COMMA,
    TOKEN_COLON,
    TOKEN_VALUE, /* a string or a word */
    TOKEN_KEY,   /* a string or a word where a key, or an element of an array, is expected */
};

/* Closes the innermost container. Returns false if another kind of container is open, or none. */
static bool close_container(struct nesting *open, bool object)
{
    if (open->depth == 0)
        return false;
    bool same = nesting_is_in_object(open) == object;
    open->depth--;
    return same;
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

/* Whether the byte may be in a number, a literal or an unquoted key. */
static bool is_char_of_lenient_word(char c)
{
    return !char_is_space(c) && !is_quote(c) && memchr("{}[],:", c, 6) == NULL;
}

static enum token lenient_json_token_of_char(char c)
{
    switch (c) {
    case '{':
    case '[':
        return TOKEN_OPEN;
    case '}':
    case ']':
        return TOKEN_CLOSE;
    case ',':
        return TOKEN_COMMA;
    case ':':
        return TOKEN_COLON;
    default:
        return TOKEN_VALUE;
    }
}

/* ---- members ------------------------------------------------------------------------------ */

/* Stores an id, unless an id was stored before. An id in single quotes, as Python prints it, is
 * valid if it is short and has neither escapes nor double quotes. */
static void lenient_json_set_id(struct lenient *ret, struct slice value)
{
    struct json_scan scan;
    if (ret->id.type != JSON_NONE)
        return;
    if (value.p[0] == '\'') {
        if (value.n > LENIENT_ID_MAX || memchr(value.p, '"', value.n) != NULL ||
            memchr(value.p, '\\', value.n) != NULL)
            return;
        memcpy(ret->id_text, value.p, value.n);
        ret->id_text[0] = ret->id_text[value.n - 1] = '"';
        value.p = ret->id_text;
    }
    if (json_scan(value, NULL, NULL, &scan) == 0 &&
        (scan.type == JSON_NUMBER || scan.type == JSON_STRING))
        ret->id = (struct json_value){scan.type, scan.root};
}

/* Stores a member of the outer object. value: a string or a word; {NULL, 0} if the value is a
 * container or unknown. */
static void lenient_json_store_member(struct lenient *ret, struct slice key, struct slice value)
{
    if (key.n > 0 && is_quote(key.p[0]))
        key = (struct slice){key.p + 1, key.n - 2};
    if (slice_is(key, "id") && value.p != NULL)
        lenient_json_set_id(ret, value);
    ret->is_call |= slice_is(key, "method");
    ret->is_answer |= slice_is(key, "result") || slice_is(key, "error");
    ret->is_jsonrpc |= slice_is(key, "jsonrpc");
}

/* ---- from the beginning ------------------------------------------------------------------- */

/* Reads the token at p. Returns the address of the byte after it. */
static const char *lenient_json_read_token_forward(const char *p, const char *end, enum token *ret)
{
    *ret = lenient_json_token_of_char(*p);
    if (*ret != TOKEN_VALUE)
        return p + 1;
    if (!is_quote(*p)) {
        while (p < end && is_char_of_lenient_word(*p))
            p++;
        return p;
    }
    char quote = *p++;
    for (; p < end && *p != quote; p++)
        if (*p == '\\' && p + 1 < end)
            p++;
    if (p == end)
        *ret = TOKEN_NONE;
    return p < end ? p + 1 : end;
}

/* Whether a token of kind `b` may follow a token of kind `a`. */
static bool token_kind_may_follow(enum token a, enum token b)
{
    switch (b) {
    case TOKEN_OPEN:
    case TOKEN_VALUE:
        return a == TOKEN_OPEN || a == TOKEN_COMMA || a == TOKEN_COLON;
    case TOKEN_KEY:
        return a == TOKEN_OPEN || a == TOKEN_COMMA;
    case TOKEN_CLOSE:
        return a != TOKEN_COLON;
    case TOKEN_COMMA:
        return a != TOKEN_OPEN && a != TOKEN_COLON;
    case TOKEN_COLON:
        return a == TOKEN_KEY;
    case TOKEN_NONE:
        break;
    }
    return false;
}

/* Reads the line from its beginning. Returns true if a token does not fit, false if the object or
 * the line has ended. */
static bool scan_line_forward(struct slice line, struct lenient *ret)
{
    const char *p = line.p, *end = line.p + line.n, *from;
    struct nesting open = {0};
    /* begin as if a colon had been read, because an object may follow a colon */
    enum token before = TOKEN_COLON, t;
    struct slice key = {0}, last = {0};
    for (; p < end; before = t) {
        if (char_is_space(*p)) {
            p++;
            t = before;
            continue;
        }
        from = p;
        p = lenient_json_read_token_forward(p, end, &t);
        if (t == TOKEN_NONE)
            return false;
        if (!token_kind_may_follow(before, t))
            return true;
        if (t == TOKEN_VALUE && before != TOKEN_COLON)
            t = TOKEN_KEY;
        struct slice text = {from, (size_t)(p - from)};
        if (open.depth == 1 && t == TOKEN_COLON)
            key = last;
        if (open.depth == 1 && before == TOKEN_COLON && (t == TOKEN_VALUE || t == TOKEN_OPEN)) {
            /* the line may be truncated: the id 7 may be the beginning of 78 */
            bool whole = t == TOKEN_VALUE && (p < end || is_quote(*from));
            lenient_json_store_member(ret, key, whole ? text : (struct slice){0});
        }
        last = text;
        if (t == TOKEN_OPEN && !nesting_open(&open, *from == '{'))
            return true;
        if (t == TOKEN_CLOSE && !close_container(&open, *from == '}'))
            return true;
        if (open.depth == 0) { /* ignore the text after the object */
            ret->n = (size_t)(p - line.p);
            return false;
        }
    }
    return false;
}

/* ---- from the end ------------------------------------------------------------------------- */

/* Reads the token that ends before p. Returns the address of its first byte. */
static const char *lenient_json_read_token_backward(const char *p, const char *begin,
                                                    enum token *ret)
{
    char quote = *--p;
    *ret = lenient_json_token_of_char(quote);
    if (*ret != TOKEN_VALUE)
        return p;
    if (!is_quote(quote)) {
        while (p > begin && is_char_of_lenient_word(p[-1]))
            p--;
        return p;
    }
    while (p > begin) {
        if (*--p != quote)
            continue;
        const char *slashes = p;
        while (slashes > begin && slashes[-1] == '\\')
            slashes--;
        if ((p - slashes) % 2 == 0)
            return p;
        p = slashes;
    }
    *ret = TOKEN_NONE;
    return begin;
}

static bool brackets_are_balanced(struct slice line)
{
    ptrdiff_t braces = 0, brackets = 0;
    for (size_t i = 0; i < line.n; i++) {
        braces += (line.p[i] == '{') - (line.p[i] == '}');
        brackets += (line.p[i] == '[') - (line.p[i] == ']');
    }
    return braces == 0 && brackets == 0;
}

/* Reads the line from its end, until a token does not fit. */
static void scan_line_backward(struct slice line, struct lenient *ret)
{
    const char *p = line.p + line.n;
    struct nesting open = {0};
    /* begin as if a comma followed the line, because the end of an object may precede a comma */
    enum token after = TOKEN_COMMA, t;
    struct slice value = {0}, last = {0};
    for (; p > line.p; after = t) {
        if (char_is_space(p[-1])) {
            p--;
            t = after;
            continue;
        }
        const char *end = p;
        p = lenient_json_read_token_backward(p, line.p, &t);
        if (t == TOKEN_VALUE && after == TOKEN_COLON)
            t = TOKEN_KEY;
        if (t == TOKEN_NONE || !token_kind_may_follow(t, after) ||
            (open.depth == 0 && t != TOKEN_CLOSE))
            return;
        struct slice text = {p, (size_t)(end - p)};
        if (open.depth == 1 && t == TOKEN_COLON)
            value = last;
        /* Store a member only now: its key was read before, and now the token that precedes the key
         * was read as well, and a key may follow that token. */
        if (open.depth == 1 && after == TOKEN_KEY)
            lenient_json_store_member(ret, last, value);
        last = t == TOKEN_VALUE || t == TOKEN_KEY ? text : (struct slice){0};
        if (t == TOKEN_CLOSE && !nesting_open(&open, *p == '}'))
            return;
        if (t == TOKEN_OPEN && !close_container(&open, *p == '{'))
            return;
        if (open.depth == 0)
            return;
    }
}

bool lenient_json_line_is_answer(const struct lenient *l)
{
    return l->id.type != JSON_NONE && (l->is_answer || (l->is_jsonrpc && !l->is_call));
}

void lenient_json_read(struct slice line, struct lenient *ret)
{
    size_t space = 0;
    ret->id = (struct json_value){0};
    ret->is_call = ret->is_answer = ret->is_jsonrpc = false;
    ret->n = 0;
    while (space < line.n && char_is_space(line.p[space]))
        space++;
    line.p += space;
    line.n -= space;
    if (line.n == 0 || line.p[0] != '{')
        return;
    if (scan_line_forward(line, ret) && ret->id.type == JSON_NONE && brackets_are_balanced(line))
        scan_line_backward(line, ret);
    ret->n += ret->n > 0 ? space : 0;
}

bool lenient_json_read_next_object(struct slice *rest, struct lenient *ret)
{
    const char *p = rest->n > 0 ? memchr(rest->p, '{', rest->n) : NULL;
    if (p == NULL)
        return false;
    struct slice text = {p, (size_t)(rest->p + rest->n - p)};
    lenient_json_read(text, ret);
    size_t n = ret->n > 0 ? ret->n : text.n;
    *rest = (struct slice){p + n, text.n - n};
    return true;
}

/* ---- excerpts ----------------------------------------------------------------------------- */

void lenient_json_append_fault(enum json_fault_kind kind, struct slice text, size_t at,
                               struct buf *b)
{
    if (kind != JSON_SYNTAX || at >= text.n) {
        buf_adds(b, json_fault_text(kind));
        return;
    }
    bool escape = at > 0 && text.p[at - 1] == '\\';
    size_t from = escape ? at - 1 : at;
    size_t n = text_utf8_len(text.p + at, text.n - at);
    buf_adds(b, escape ? "invalid escape '" : "unexpected '");
    text_append_visible(b, (struct slice){text.p + from, at - from + (n > 0 ? n : 1)});
    buf_addc(b, '\'');
}

void lenient_json_append_excerpt(struct slice text, size_t at, struct buf *b)
{
    size_t from = at > LENIENT_EXCERPT / 2 ? at - LENIENT_EXCERPT / 2 : 0;
    size_t to = size_min(text.n, from + LENIENT_EXCERPT);
    for (int i = 0; i < 3 && from > 0 && from < to && text_is_utf8_continuation(text.p + from); i++)
        from++;
    for (int i = 0; i < 3 && to < text.n && to > from && text_is_utf8_continuation(text.p + to);
         i++)
        to--;
    if (from > to)
        from = to;
    if (from > 0)
        buf_adds(b, "…");
    text_append_visible(b, (struct slice){text.p + from, to - from});
    if (to < text.n)
        buf_adds(b, "…");
}
