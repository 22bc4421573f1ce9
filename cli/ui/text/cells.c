#include "cli/ui/text/cells.h"

#include "base/grow.h"
#include "base/text.h"
#include "base/width.h"
#include "cli/ui/text/find.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void cells_begin_line(struct cells *c, size_t from, size_t width, bool ascii)
{
    struct cells begun = {.text = c->text, .span = c->span, .cap = c->cap, .failed = c->failed};
    *c = begun;
    buf_clear(&c->text);
    c->from = from;
    c->width = width;
    c->ascii = ascii;
}

void cells_close(struct cells *c)
{
    buf_close(&c->text);
    free(c->span);
    *c = (struct cells){0};
}

static size_t get_window_end_column(const struct cells *c)
{
    return c->width > SIZE_MAX - c->from ? SIZE_MAX : c->from + c->width;
}

bool cells_are_full(const struct cells *c)
{
    return c->column >= get_window_end_column(c);
}

struct slice cells_get_styled_text(const struct cells *c, size_t span)
{
    return (struct slice){c->text.p + c->span[span].at, c->span[span].n};
}

/* ---- characters ----------------------------------------------------------------------------- */

static bool cells_char_is_plain(char c)
{
    return c >= 0x20 && c < 0x7F;
}

/* Returns how many leading bytes, at most max, are plain: a plain byte is shown unchanged and takes
 * one column. */
static size_t count_leading_plain_bytes(struct slice s, size_t max)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    size_t n = 0;
    max = size_min(max, s.n);
    for (uint64_t v; n + sizeof v <= max; n += sizeof v) { /* each step tests eight bytes */
        memcpy(&v, s.p + n, sizeof v);
        /* in a byte below 0x20, the subtraction causes a borrow, which sets the highest bit of the
         * byte */
        uint64_t low = v - ones * 0x20;
        uint64_t high = v + ones * 0x01; /* a byte of 0x7F becomes 0x80 */
        if (((v | low | high) & ones * 0x80) != 0)
            break;
    }
    while (n < max && cells_char_is_plain(s.p[n]))
        n++;
    return n;
}

/* How a character is shown. */
struct shown {
    struct slice text; /* the character itself, or its escape in escape_text */
    size_t columns;
    bool escape;
    char escape_text[TEXT_ESCAPE_MAX];
};

/* Sets *ret to how the first character of s is shown. Returns how many bytes of s the character
 * has. */
static size_t cells_choose_display_of_char(struct slice s, bool ascii, struct shown *ret)
{
    size_t len = text_utf8_len(s.p, s.n);
    uint32_t code = len > 0 ? text_utf8_code(s.p, len) : 0;
    ret->escape = len == 0 || !width_char_is_printable(code) || (ascii && code > 0x7E);
    if (!ret->escape) {
        ret->text = (struct slice){s.p, len};
        ret->columns = width_of_char(code);
        return len;
    }
    ret->text.p = ret->escape_text;
    ret->text.n =
        len == 0 ? text_escape_byte(*s.p, ret->escape_text) : text_escape(code, ret->escape_text);
    ret->columns = ret->text.n;
    return len > 0 ? len : 1;
}

/* ---- spans ---------------------------------------------------------------------------------- */

static void cells_put_text(struct cells *c, enum cells_style style, struct slice text,
                           size_t columns)
{
    struct cells_span *last = c->n > 0 ? &c->span[c->n - 1] : NULL;
    if (last == NULL || last->style != style) {
        if (!GROW(c->span, c->n, c->cap)) {
            c->failed = true;
            return;
        }
        last = &c->span[c->n++];
        *last = (struct cells_span){.at = c->text.n, .style = style};
    }
    size_t before = c->text.n;
    buf_slice_add(&c->text, text);
    c->failed |= c->text.failed;
    last->n += c->text.n - before;
    last->columns += columns;
}

/* Adds characters of one byte and one column each, as far as their columns are visible. */
static void cells_add_plain_chars(struct cells *c, enum cells_style style, struct slice text)
{
    size_t hidden = c->column < c->from ? size_min(text.n, c->from - c->column) : 0;
    size_t shown = size_min(text.n - hidden, get_window_end_column(c) - (c->column + hidden));
    if (shown > 0)
        cells_put_text(c, style, (struct slice){text.p + hidden, shown}, shown);
    c->column += hidden + shown;
    c->more |= hidden + shown < text.n;
    c->join = shown > 0 ? CELLS_JOIN : CELLS_JOIN_HIDDEN;
    c->marks = 0;
}

void cells_add_blanks(struct cells *c, size_t columns)
{
    static const char blanks[] = "                                ";
    while (columns > 0 && !cells_are_full(c)) {
        size_t n = size_min(columns, sizeof blanks - 1);
        cells_add_plain_chars(c, CELLS_PLAIN, (struct slice){blanks, n});
        columns -= n;
    }
}

/* Adds a character. A wide character of which only half is visible becomes a blank. */
static void cells_add_character(struct cells *c, enum cells_style style, const struct shown *s)
{
    size_t after = c->column + s->columns;
    c->marks = 0;
    if (after <= c->from) {
        c->column = after;
        c->join = CELLS_JOIN_HIDDEN;
    } else if (c->column < c->from || after > get_window_end_column(c)) {
        c->more |= after > get_window_end_column(c);
        cells_add_blanks(c, after - c->column);
        c->join = CELLS_JOIN_HIDDEN;
    } else {
        cells_put_text(c, style, s->text, s->columns);
        c->column = after;
        c->join = CELLS_JOIN;
    }
}

/* Adds a combining character to the last character. Returns false if the combining character must
 * become an escape. */
static bool cells_add_combining_character(struct cells *c, const struct shown *s)
{
    if (c->join == CELLS_JOIN_NONE || c->marks == CELLS_MARKS_MAX)
        return false;
    c->marks++;
    if (c->join == CELLS_JOIN && c->n > 0) {
        buf_slice_add(&c->text, s->text);
        c->failed |= c->text.failed;
        if (!c->text.failed)
            c->span[c->n - 1].n += s->text.n;
    }
    return true;
}

/* Adds the first character of the text: a character that is not a plain byte. Returns how many
 * bytes this character has. */
static size_t cells_add_special_character(struct cells *c, enum cells_style style,
                                          struct slice text)
{
    struct shown s;
    if (*text.p == '\t' && c->tabs) {
        cells_add_blanks(c, CELLS_TAB - (c->column - c->origin) % CELLS_TAB);
        return 1;
    }
    size_t len = cells_choose_display_of_char(text, c->ascii, &s);
    if (!s.escape && s.columns == 0) {
        if (cells_add_combining_character(c, &s))
            return len;
        (void)cells_choose_display_of_char(text, true, &s);
    }
    if (s.escape) {
        cells_add_plain_chars(c, CELLS_ESCAPE, s.text);
        c->join = CELLS_JOIN_NONE;
    } else {
        cells_add_character(c, style, &s);
    }
    return len;
}

/* Returns whether the first character of the text combines with the last character that was
 * added. */
static bool text_joins_last_character(const struct cells *c, struct slice text)
{
    struct shown s;
    if (c->join == CELLS_JOIN_NONE || c->marks == CELLS_MARKS_MAX || cells_char_is_plain(*text.p))
        return false;
    (void)cells_choose_display_of_char(text, c->ascii, &s);
    return !s.escape && s.columns == 0;
}

void cells_add_text(struct cells *c, enum cells_style style, struct slice text)
{
    c->join = CELLS_JOIN_NONE;
    while (text.n > 0) {
        if (cells_are_full(c) && !text_joins_last_character(c, text)) {
            c->more = true;
            return;
        }
        size_t n = count_leading_plain_bytes(text, get_window_end_column(c) - c->column);
        if (n > 0)
            cells_add_plain_chars(c, style, (struct slice){text.p, n});
        else
            n = cells_add_special_character(c, style, text);
        text.p += n;
        text.n -= n;
    }
}

void cells_add_str(struct cells *c, enum cells_style style, const char *text)
{
    cells_add_text(c, style, slice_of(text));
}

void cells_add_format(struct cells *c, enum cells_style style, const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    cells_add_str(c, style, text);
}

/* ---- highlighting ---------------------------------------------------------------------------- */

/* Splits the span at byte `at` of the text, so that a span begins there. */
static bool cells_split_styled_text(struct cells *c, size_t at)
{
    size_t i = 0;
    while (i < c->n && at >= c->span[i].at + c->span[i].n)
        i++;
    if (i == c->n || c->span[i].at == at)
        return true;
    if (!GROW(c->span, c->n, c->cap))
        return false;
    struct cells_span *s = &c->span[i];
    memmove(s + 1, s, (c->n - i) * sizeof *s);
    c->n++;
    s[0].n = at - s[0].at;
    s[1].at = at;
    s[1].n -= s[0].n;
    s[0].columns = text_count_columns((struct slice){c->text.p + s[0].at, s[0].n});
    s[1].columns -= s[0].columns;
    return true;
}

void cells_mark_matches(struct cells *c, struct slice needle)
{
    struct slice text = buf_slice(&c->text);
    size_t at = 0;
    while ((at = find_next_match(text, at, needle)) != FIND_NONE) {
        size_t end = at + needle.n;
        /* extends the match to whole characters, in both directions */
        while (at > 0 && text_is_utf8_continuation(text.p + at))
            at--;
        while (end < text.n && text_is_utf8_continuation(text.p + end))
            end++;
        if (!cells_split_styled_text(c, at) || !cells_split_styled_text(c, end)) {
            c->failed = true;
            return;
        }
        for (size_t i = 0; i < c->n; i++)
            c->span[i].found |= c->span[i].at >= at && c->span[i].at < end;
        at = end;
    }
}

void cells_cut_with_ellipsis(struct cells *c)
{
    struct cells_span *last = c->n > 0 ? &c->span[c->n - 1] : NULL;
    if (!c->more || last == NULL || last->columns == 0)
        return;
    size_t end = c->text.n, columns;
    do { /* removes the last character and its combining characters */
        do
            end--;
        while (end > last->at && text_is_utf8_continuation(c->text.p + end));
        columns = text_count_columns((struct slice){c->text.p + end, c->text.n - end});
    } while (columns == 0 && end > last->at);
    c->text.n = end;
    last->n = end - last->at;
    last->columns -= size_min(columns, last->columns);
    c->column -= columns;
    c->more = false;
    cells_add_blanks(c, columns - 1);
    cells_add_str(c, CELLS_DIM, c->ascii ? "." : "\xE2\x80\xA6");
}

/* ---- measures ------------------------------------------------------------------------------- */

size_t cells_count_text_columns(struct slice text, bool ascii, size_t max)
{
    /* The visible columns begin at `max`: text before them is only counted, not stored. */
    struct cells c = {.from = max, .ascii = ascii};
    cells_add_text(&c, CELLS_PLAIN, text);
    return size_min(c.column, max);
}

size_t cells_count_columns_with_tabs(struct slice text, bool ascii)
{
    struct cells c = {.from = SIZE_MAX, .ascii = ascii, .tabs = true};
    cells_add_text(&c, CELLS_PLAIN, text);
    return c.column;
}

size_t cells_count_fitting_bytes(struct slice text, bool ascii, size_t columns)
{
    struct cells c = {.from = SIZE_MAX, .ascii = ascii, .tabs = true, .join = CELLS_JOIN_NONE};
    size_t i = 0;
    while (i < text.n && text.p[i] != '\n') {
        struct slice rest = {text.p + i, text.n - i};
        size_t n = count_leading_plain_bytes(rest, columns - c.column);
        if (n > 0) {
            cells_add_plain_chars(&c, CELLS_PLAIN, (struct slice){rest.p, n});
        } else {
            n = cells_add_special_character(&c, CELLS_PLAIN, rest);
            if (c.column > columns && i > 0)
                break;
        }
        i += n;
        if (c.column > columns)
            break; /* the first character alone is wider than the line */
    }
    return i;
}

size_t cells_line_len(struct slice text, bool ascii, size_t columns, size_t *ret_next)
{
    size_t n = text.n > 0 ? cells_count_fitting_bytes(text, ascii, columns) : 0;
    *ret_next = n;
    if (n < text.n && (text.p[n] == '\n' || text.p[n] == ' ')) {
        *ret_next = n + 1;
    } else if (n < text.n) {
        /* The cut is inside a word: the line ends before this word, unless the line begins with
         * this word. */
        size_t blank = n;
        while (blank > 0 && text.p[blank - 1] != ' ')
            blank--;
        if (blank > 1)
            *ret_next = blank;
    }
    return *ret_next < n ? *ret_next - 1 : n;
}
