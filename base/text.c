#include "base/text.h"

#include "base/width.h"

/* Counts eight bytes at a time. A continuation byte has bit 7 set and bit 6 clear. */
size_t text_count_utf8_chars(struct slice s)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), pairs = UINT64_C(0x00FF00FF00FF00FF);
    size_t behind = 0, i = 0;
    while (i + sizeof ones <= s.n) {
        /* Each byte of `sums` is a separate sum. A round adds at most 1 to it, so it is at most 255
         * after 255 rounds. */
        uint64_t sums = 0, v;
        size_t end = i + size_min((s.n - i) / sizeof v, 255) * sizeof v;
        for (; i < end; i += sizeof v) {
            memcpy(&v, s.p + i, sizeof v);
            sums += v >> 7 & ~(v >> 6) & ones;
        }
        sums = (sums & pairs) + (sums >> 8 & pairs);
        behind += (size_t)((sums * UINT64_C(0x0001000100010001)) >> 48);
    }
    for (; i < s.n; i++)
        behind += text_is_utf8_continuation(s.p + i);
    return s.n - behind;
}

static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */

void text_append_valid_utf8(struct buf *b, struct slice s)
{
    size_t from = 0; /* offset of the first byte that is not appended yet */
    size_t i = 0;
    while (i < s.n) {
        size_t len = s.p[i] == '\0' ? 0 : text_utf8_len(s.p + i, s.n - i);
        if (len == 0) {
            buf_add(b, s.p + from, i - from);
            buf_adds(b, replacement);
            from = ++i;
        } else {
            i += len;
        }
    }
    buf_add(b, s.p + from, s.n - from);
}

/* Returns true for characters that move the cursor, change colours, reorder text or end the
 * line. */
static bool char_controls_terminal(uint32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || (c >= 0x200B && c <= 0x200F) ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF ||
           (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE007F);
}

/* Writes c in hexadecimal, with at least two digits. Returns the number of digits. */
static size_t write_hex(uint32_t c, char *ret)
{
    size_t n = 2;
    while (n < 8 && c >> 4 * n != 0)
        n++;
    for (size_t i = 0; i < n; i++)
        ret[i] = "0123456789abcdef"[c >> 4 * (n - 1 - i) & 15];
    return n;
}

size_t text_escape_byte(char byte, char ret[TEXT_ESCAPE_MAX])
{
    memcpy(ret, "\\x", 2);
    return 2 + write_hex((unsigned char)byte, ret + 2);
}

size_t text_escape(uint32_t code, char ret[TEXT_ESCAPE_MAX])
{
    static const char names[] = {['\n'] = 'n', ['\t'] = 't', ['\r'] = 'r'};
    if (code < sizeof names && names[code] != 0) {
        ret[0] = '\\';
        ret[1] = names[code];
        return 2;
    }
    if (code < 0x80)
        return text_escape_byte((char)code, ret);
    memcpy(ret, "\\u{", 3);
    size_t n = 3 + write_hex(code, ret + 3);
    ret[n] = '}';
    return n + 1;
}

void text_append_visible(struct buf *b, struct slice s)
{
    size_t from = 0;
    size_t i = 0;
    while (i < s.n) {
        size_t len = text_utf8_len(s.p + i, s.n - i);
        uint32_t c = len != 0 ? text_utf8_code(s.p + i, len) : 0;
        if (len != 0 && !char_controls_terminal(c)) {
            i += len;
            continue;
        }
        char escape[TEXT_ESCAPE_MAX];
        buf_add(b, s.p + from, i - from);
        buf_add(b, escape, len == 0 ? text_escape_byte(s.p[i], escape) : text_escape(c, escape));
        i += len > 0 ? len : 1;
        from = i;
    }
    buf_add(b, s.p + from, s.n - from);
}

/* Appends a character outside of printable ASCII; escapes characters that control a terminal or end
 * a line. */
static void append_non_ascii_character(struct buf *b, const char *p, size_t len)
{
    uint32_t c = text_utf8_code(p, len);
    if (!char_controls_terminal(c))
        buf_add(b, p, len);
    else if (c < 0x10000)
        buf_printf(b, "\\u%04x", (unsigned)c);
    else
        buf_printf(b, "\\u%04x\\u%04x", (unsigned)(0xD7C0 + (c >> 10)),
                   (unsigned)(0xDC00 | (c & 0x3FF)));
}

static void append_json_char(struct buf *b, const char *p, size_t len)
{
    unsigned char c = (unsigned char)*p;
    if (len == 0)
        buf_adds(b, replacement);
    else if (c == '"' || c == '\\')
        buf_add(b, (char[]){'\\', (char)c}, 2);
    else if (c == '\n')
        buf_adds(b, "\\n");
    else if (c >= 0x20 && c < 0x7F)
        buf_addc(b, (char)c);
    else
        append_non_ascii_character(b, p, len);
}

/* These functions test eight bytes at a time. mark_bytes_less_than() sets the highest bit of each
 * byte that is less than `least`. (If there is such a byte, the highest bit of other bytes may be
 * set as well.) */
#define EACH(byte) (UINT64_C(0x0101010101010101) * (uint64_t)(unsigned char)(byte))
#define HIGH EACH(0x80)

static uint64_t mark_bytes_less_than(uint64_t w, unsigned char least)
{
    return (w - EACH(least)) & ~w;
}

static bool is_plain_word(uint64_t w, char a, char b)
{
    uint64_t marked = w | mark_bytes_less_than(w, 0x20) | mark_bytes_less_than(w ^ EACH(0x7F), 1) |
                      mark_bytes_less_than(w ^ EACH(a), 1) | mark_bytes_less_than(w ^ EACH(b), 1);
    return (marked & HIGH) == 0;
}

size_t text_count_leading_plain_bytes(struct slice s, char a, char b)
{
    size_t n = 0;
    for (uint64_t w; s.n - n >= sizeof w; n += sizeof w) {
        memcpy(&w, s.p + n, sizeof w);
        if (!is_plain_word(w, a, b))
            break;
    }
    while (n < s.n && s.p[n] >= 0x20 && s.p[n] < 0x7F && s.p[n] != a && s.p[n] != b)
        n++;
    return n;
}

/* Returns how many leading bytes of s, at most max, need no escape in a JSON string, and are
 * characters of one byte. */
static size_t count_leading_plain_json_bytes(struct slice s, size_t max)
{
    return text_count_leading_plain_bytes((struct slice){s.p, size_min(s.n, max)}, '"', '\\');
}

void text_append_json_truncated(struct buf *b, struct slice s, size_t max_chars)
{
    size_t chars = 0;
    buf_addc(b, '"');
    for (size_t i = 0; i < s.n;) {
        size_t max = max_chars - size_min(chars, max_chars);
        size_t run = count_leading_plain_json_bytes((struct slice){s.p + i, s.n - i}, max);
        buf_add(b, s.p + i, run);
        i += run;
        chars += run;
        if (run > 0)
            continue;
        size_t len = text_utf8_len(s.p + i, s.n - i);
        if (chars < max_chars)
            append_json_char(b, s.p + i, len);
        chars++;
        i += len != 0 ? len : 1;
    }
    if (chars > max_chars)
        buf_printf(b, "… [+%zu chars]", chars - max_chars);
    buf_addc(b, '"');
}

void text_append_visible_json(struct buf *b, struct slice valid)
{
    size_t from = 0; /* offset of the first byte that is not appended yet */
    for (size_t i = 0;;) {
        i += text_count_leading_plain_bytes((struct slice){valid.p + i, valid.n - i}, 0, 0);
        if (i == valid.n)
            break;
        unsigned char c = (unsigned char)valid.p[i];
        size_t len = c < 0x20 ? 1 : text_utf8_len(valid.p + i, valid.n - i);
        bool space = c < 0x20; /* valid JSON has these characters only outside strings */
        if (space || (len > 0 && char_controls_terminal(text_utf8_code(valid.p + i, len)))) {
            buf_add(b, valid.p + from, i - from);
            if (space)
                buf_addc(b, ' ');
            else
                append_non_ascii_character(b, valid.p + i, len);
            from = i + len;
        }
        i += len > 0 ? len : 1;
    }
    buf_add(b, valid.p + from, valid.n - from);
}

void text_append_shortened_json(struct buf *b, struct slice s, size_t max_chars)
{
    size_t i = 0;
    size_t chars = 0;
    buf_addc(b, '"');
    while (i < s.n && chars < max_chars) {
        size_t run =
            count_leading_plain_json_bytes((struct slice){s.p + i, s.n - i}, max_chars - chars);
        buf_add(b, s.p + i, run);
        i += run;
        chars += run;
        if (i == s.n || chars == max_chars)
            break;
        size_t len = text_utf8_len(s.p + i, s.n - i);
        append_json_char(b, s.p + i, len);
        i += len != 0 ? len : 1;
        chars++;
    }
    buf_adds(b, i < s.n ? "…\"" : "\"");
}

void text_append_json(struct buf *b, struct slice s)
{
    text_append_json_truncated(b, s, SIZE_MAX);
}

size_t text_columns_of_char(const char *p, size_t len)
{
    if (len <= 1)
        return 1;
    return width_of_char(text_utf8_code(p, len));
}

size_t text_count_columns(struct slice s)
{
    size_t columns = 0;
    for (size_t i = 0; i < s.n;) {
        size_t len = text_utf8_len(s.p + i, s.n - i);
        columns += text_columns_of_char(s.p + i, len);
        i += len > 0 ? len : 1;
    }
    return columns;
}

void text_append_wrapped(struct buf *b, struct slice text, size_t indent, size_t columns)
{
    size_t at = indent;
    for (bool first = true; text.n > 0; first = false) {
        const char *blank = memchr(text.p, ' ', text.n);
        struct slice word = {text.p, blank != NULL ? (size_t)(blank - text.p) : text.n};
        size_t width = text_count_columns(word);
        if (!first && at + 1 + width > columns) {
            buf_printf(b, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first) {
            buf_addc(b, ' ');
            at++;
        }
        buf_slice_add(b, word);
        at += width;
        size_t taken = word.n + (blank != NULL);
        text = (struct slice){text.p + taken, text.n - taken};
    }
}

void text_append_as_sentence(struct buf *b, struct slice clause)
{
    if (clause.n == 0)
        return;
    char c = clause.p[0];
    buf_addc(b, c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c);
    buf_add(b, clause.p + 1, clause.n - 1);
    if (clause.p[clause.n - 1] != '.')
        buf_addc(b, '.');
}

struct slice text_prefix(struct slice s, size_t max)
{
    if (s.n <= max)
        return s;
    while (max > 0 && text_is_utf8_continuation(s.p + max))
        max--;
    return (struct slice){s.p, max};
}

void text_append_xml(struct buf *b, struct slice text)
{
    struct buf v = {0};
    text_append_visible(&v, text);
    struct slice s = buf_slice(&v);
    for (size_t i = 0; i < s.n; i++) {
        switch (s.p[i]) {
        case '&':
            buf_adds(b, "&amp;");
            break;
        case '<':
            buf_adds(b, "&lt;");
            break;
        case '>':
            buf_adds(b, "&gt;");
            break;
        case '"':
            buf_adds(b, "&quot;");
            break;
        case '\xEF': /* XML forbids U+FFFE and U+FFFF */
            if (s.n - i >= 3 && s.p[i + 1] == '\xBF' && (unsigned char)s.p[i + 2] >= 0xBE) {
                buf_addc(b, '?');
                i += 2;
                break;
            }
            buf_addc(b, s.p[i]);
            break;
        default:
            buf_addc(b, s.p[i]);
            break;
        }
    }
    if (v.failed)
        b->failed = true;
    buf_close(&v);
}
