#include "wire/json_repair.h"

#include "base/text.h"

/* The kind of token that may come next. */
enum expect {
    EXPECT_ROOT,
    EXPECT_FIRST_KEY, /* next comes a key, or the end of the object */
    EXPECT_KEY,
    EXPECT_COLON,
    EXPECT_FIRST_VALUE, /* next comes a value, or the end of the array */
    EXPECT_VALUE,
    EXPECT_COMMA,   /* next comes a comma, or the end of the container */
    EXPECT_STRING,  /* next comes the rest of a string whose beginning was read */
    EXPECT_NOTHING, /* the value is complete: no token may come next */
};

/* ---- repairs ------------------------------------------------------------------------------ */

void repairs_add_repair(struct repairs *r, enum finding finding, size_t at, struct slice replaced)
{
    size_t i = 0;
    while (i < r->n && r->list[i].finding != finding)
        i++;
    if (i == REPAIRS_MAX)
        return;
    if (i == r->n)
        r->list[r->n++] = (struct repair){.finding = finding, .at = at};
    struct repair *x = &r->list[i];
    size_t n = size_min(replaced.n, REPAIR_BYTES_MAX - x->bytes_n);
    if (n > 0)
        memcpy(x->bytes + x->bytes_n, replaced.p, n);
    x->bytes_n += n;
    x->count++;
}

findings repairs_get_findings(const struct repairs *r)
{
    findings set = 0;
    for (size_t i = 0; i < r->n; i++)
        set |= FINDING(r->list[i].finding);
    return set;
}

/* ---- reading ------------------------------------------------------------------------------ */

/* A line while it is read. Functions take a pointer to the next byte and return one past what they
 * have read, or NULL if the text cannot be repaired. */
struct json_repair_line {
    struct json_repair *m;
    const char *begin, *end;
};

static const char *json_repair_set_flaw_offset(struct json_repair_line *l, const char *p)
{
    l->m->flaw_at = l->m->taken + (size_t)(p - l->begin);
    return NULL;
}

static void json_repair_record_change(struct json_repair_line *l, enum finding finding,
                                      const char *p, size_t n)
{
    repairs_add_repair(&l->m->repairs, finding, l->m->taken + (size_t)(p - l->begin),
                       (struct slice){p, n});
}

/* Returns the number of bytes that a decoder replaces with one U+FFFD: the longest part that can
 * begin a valid character (Unicode 16, 3.9, table 3-7), or one byte. No complete character may
 * begin at `p`. */
static size_t count_invalid_utf8_bytes(const char *p, const char *end)
{
    unsigned char a = (unsigned char)p[0];
    unsigned char low = 0x80, high = 0xBF;
    if (a < 0xC2 || a > 0xF4)
        return 1;
    if (a == 0xE0)
        low = 0xA0;
    if (a == 0xED)
        high = 0x9F;
    if (a == 0xF0)
        low = 0x90;
    if (a == 0xF4)
        high = 0x8F;
    size_t n = 1;
    while (p + n < end && (unsigned char)p[n] >= low && (unsigned char)p[n] <= high) {
        low = 0x80;
        high = 0xBF;
        n++;
    }
    return n;
}

static void add_escaped_control_char(struct buf *b, char c)
{
    static const char letters[0x20] = {
        ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    if (letters[(unsigned char)c] != 0) {
        buf_addc(b, '\\');
        buf_addc(b, letters[(unsigned char)c]);
    } else {
        buf_printf(b, "\\u%04x", (unsigned)(unsigned char)c);
    }
}

/* Skips an escape. p points to the backslash. A wrong escape is not repaired: `C:\new` has two
 * readings. */
static const char *json_repair_skip_escape(struct json_repair_line *l, const char *p)
{
    static const char hex[] = "0123456789abcdefABCDEF";
    if (++p == l->end || memchr("\"\\/bfnrtu", *p, 9) == NULL)
        return json_repair_set_flaw_offset(l, p);
    if (*p++ != 'u')
        return p;
    for (int i = 0; i < 4; i++, p++)
        if (p == l->end || memchr(hex, *p, sizeof hex - 1) == NULL)
            return json_repair_set_flaw_offset(l, p);
    return p;
}

/* Reads a string. p points into the string, after its opening quote. The line may end before the
 * string does. */
static const char *json_repair_read_string(struct json_repair_line *l, const char *p)
{
    struct buf *b = &l->m->text;
    const char *from = p; /* first byte of the text that was not copied yet */
    while (p < l->end && *p != '"') {
        unsigned char c = (unsigned char)*p;
        size_t n = c >= 0x80 ? text_utf8_len(p, (size_t)(l->end - p)) : 1;
        if (c == '\\') {
            if ((p = json_repair_skip_escape(l, p)) == NULL)
                return NULL;
        } else if (n > 0 && c >= 0x20) {
            p += n;
        } else {
            buf_add(b, from, (size_t)(p - from));
            n = n > 0 ? 1 : count_invalid_utf8_bytes(p, l->end);
            json_repair_record_change(l, c < 0x20 ? FIND_CONTROL_CHARACTER : FIND_INVALID_UTF8, p,
                                      n);
            if (c < 0x20)
                add_escaped_control_char(b, *p);
            else
                buf_adds(b, "\xEF\xBF\xBD");
            from = p += n;
        }
    }
    bool ended = p < l->end;
    p += ended;
    buf_add(b, from, (size_t)(p - from));
    if (ended)
        l->m->expect = l->m->is_key ? EXPECT_COLON : EXPECT_COMMA;
    return p;
}

/* Reads a number, true, false or null, or one of the numbers that JSON does not have. */
static const char *json_repair_read_bare_word(struct json_repair_line *l, const char *p)
{
    static const char *const not_numbers[] = {"NaN", "Infinity", "-Infinity"};
    struct slice word = {p, 0};
    while (p < l->end && memchr(" \t\r\n,:[]{}\"", *p, 11) == NULL)
        p++;
    word.n = (size_t)(p - word.p);
    l->m->expect = EXPECT_COMMA;
    for (size_t i = 0; i < MI_COUNT(not_numbers); i++)
        if (slice_is(word, not_numbers[i])) {
            json_repair_record_change(l, FIND_NOT_A_NUMBER, word.p, word.n);
            buf_adds(&l->m->text, "null");
            return p;
        }
    struct json_scan scan;
    if (json_scan(word, NULL, NULL, &scan) < 0)
        return json_repair_set_flaw_offset(l, word.p + scan.fault.at);
    buf_slice_add(&l->m->text, word);
    return p;
}

static bool json_repair_may_close_container(const struct json_repair *m, char c)
{
    if (m->open.depth == 0 || nesting_is_in_object(&m->open) != (c == '}'))
        return false;
    return m->expect == EXPECT_COMMA ||
           m->expect == (c == '}' ? EXPECT_FIRST_KEY : EXPECT_FIRST_VALUE);
}

/* Handles the character at p, which is a brace, a bracket, a comma or a colon. */
static const char *json_repair_read_punctuation(struct json_repair_line *l, const char *p)
{
    struct json_repair *m = l->m;
    switch (*p) {
    case '{':
    case '[':
        if ((m->expect != EXPECT_ROOT && m->expect != EXPECT_VALUE &&
             m->expect != EXPECT_FIRST_VALUE) ||
            !nesting_open(&m->open, *p == '{'))
            return json_repair_set_flaw_offset(l, p);
        m->expect = *p == '{' ? EXPECT_FIRST_KEY : EXPECT_FIRST_VALUE;
        break;
    case '}':
    case ']':
        if (!json_repair_may_close_container(m, *p))
            return json_repair_set_flaw_offset(l, p);
        m->open.depth--;
        m->expect = m->open.depth > 0 ? EXPECT_COMMA : EXPECT_NOTHING;
        break;
    case ',':
        if (m->expect != EXPECT_COMMA)
            return json_repair_set_flaw_offset(l, p);
        m->expect = nesting_is_in_object(&m->open) ? EXPECT_KEY : EXPECT_VALUE;
        break;
    default:
        if (m->expect != EXPECT_COLON)
            return json_repair_set_flaw_offset(l, p);
        m->expect = EXPECT_VALUE;
    }
    buf_addc(&m->text, *p);
    return p + 1;
}

static const char *json_repair_read_token(struct json_repair_line *l, const char *p)
{
    struct json_repair *m = l->m;
    bool key = m->expect == EXPECT_FIRST_KEY || m->expect == EXPECT_KEY;
    bool value = m->expect == EXPECT_FIRST_VALUE || m->expect == EXPECT_VALUE;
    if (memchr("{}[],:", *p, 6) != NULL)
        return json_repair_read_punctuation(l, p);
    if (*p == '"' && (key || value)) {
        m->is_key = key;
        m->expect = EXPECT_STRING;
        buf_addc(&m->text, '"');
        return p + 1;
    }
    return value ? json_repair_read_bare_word(l, p) : json_repair_set_flaw_offset(l, p);
}

static void json_repair_cut_trailing_text(struct json_repair_line *l, const char *p)
{
    const char *end = l->end;
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
        p++;
    while (end > p && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
        end--;
    if (p == end)
        return;
    l->m->trailing = (struct slice){p, (size_t)(end - p)};
    json_repair_record_change(l, FIND_TRAILING_TEXT, p, 0);
}

/* ---- interface ---------------------------------------------------------------------------- */

void json_repair_open(struct json_repair *m, size_t max)
{
    m->text = (struct buf){.max = max};
    m->repairs.n = 0;
    m->trailing = (struct slice){0};
    m->flaw_at = m->taken = m->lines = 0;
    m->expect = EXPECT_ROOT;
    m->open.depth = 0;
}

void json_repair_close(struct json_repair *m)
{
    buf_close(&m->text);
}

enum json_repair_result json_repair_add_line(struct json_repair *m, struct slice line)
{
    struct json_repair_line l = {m, line.p, line.p + line.n};
    if (m->lines++ > 0) {
        repairs_add_repair(&m->repairs, FIND_SEVERAL_LINES, m->taken, slice_of("\n"));
        m->taken++;
        if (m->expect == EXPECT_STRING)
            buf_adds(&m->text, "\\n");
    }
    const char *p = line.p;
    while (p != NULL && p < l.end && m->expect != EXPECT_NOTHING) {
        const char *from = p;
        if (m->expect == EXPECT_STRING) {
            p = json_repair_read_string(&l, p);
            continue;
        }
        while (p < l.end && (*p == ' ' || *p == '\t' || *p == '\r'))
            p++;
        if (p > from)
            buf_add(&m->text, from, (size_t)(p - from));
        else
            p = json_repair_read_token(&l, p);
    }
    if (p != NULL && m->text.failed)
        p = json_repair_set_flaw_offset(&l, l.end);
    if (p == NULL)
        return JSON_REPAIR_FLAWED;
    if (m->expect == EXPECT_NOTHING)
        json_repair_cut_trailing_text(&l, p);
    m->taken += line.n;
    return m->expect == EXPECT_NOTHING ? JSON_REPAIR_WHOLE
           : m->expect == EXPECT_ROOT  ? JSON_REPAIR_FLAWED
                                       : JSON_REPAIR_MORE;
}
