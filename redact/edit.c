/* edit.c - the list of edits to a text, collected before anything is written. */
#include "redact/walk.h"

#include "wire/json/text.h"

#include <stdlib.h>

#define MARK "[redacted:"

/* ---- collecting --------------------------------------------------------------------------- */

static bool make_room_for_edit(struct redact *r)
{
    if (r->edit_n < r->edit_cap)
        return true;
    size_t cap = r->edit_cap == 0 ? 64 : r->edit_cap * 2;
    struct edit *more = realloc(r->edit, cap * sizeof *more);
    if (more == NULL) {
        r->failed = true;
        return false;
    }
    r->edit = more;
    r->edit_cap = cap;
    return true;
}

void edit_add_replacement(struct redact *r, size_t from, size_t to, struct slice text)
{
    if (!make_room_for_edit(r))
        return;
    r->edit[r->edit_n++] = (struct edit){from, to, r->texts.n, text.n};
    buf_slice_add(&r->texts, text);
}

void add_mark(struct redact *r, size_t from, size_t to, const char *rule, bool quoted)
{
    if (!make_room_for_edit(r))
        return;
    size_t at = r->texts.n;
    r->again = true;
    buf_adds(&r->texts, quoted ? "\"" MARK : MARK);
    buf_slice_add(&r->texts, (struct slice){rule, strnlen(rule, SHAPE_NAME_MAX)});
    buf_adds(&r->texts, quoted ? "]\"" : "]");
    r->edit[r->edit_n++] = (struct edit){from, to, at, r->texts.n - at};
}

void edit_insert_mark(struct redact *r, size_t first, size_t from, size_t to, const char *rule,
                      bool quoted)
{
    /* Drop the edits that overlap [from, to). They are almost always among the last few. */
    size_t n = r->edit_n;
    while (n > first && r->edit[n - 1].to > from)
        n--;
    for (size_t i = n; i < r->edit_n; i++)
        if (r->edit[i].to <= from || r->edit[i].from >= to)
            r->edit[n++] = r->edit[i];
    r->edit_n = n;
    add_mark(r, from, to, rule, quoted);
    if (r->edit_n == n) /* out of memory */
        return;
    /* Move the new edit to its position. */
    struct edit e = r->edit[n];
    size_t i = n;
    while (i > first && r->edit[i - 1].from > e.from)
        i--;
    memmove(&r->edit[i + 1], &r->edit[i], (n - i) * sizeof e);
    r->edit[i] = e;
}

/* ---- mapping from unescaped text to the bytes between the quotes ----------------------------- */

/* An offset in a string, both in its raw text and in its unescaped text. */
struct place {
    size_t raw, plain;
};

static void edit_find_raw_position(struct place *at, struct slice raw, size_t plain)
{
    const char *end = raw.p + raw.n;
    while (at->plain < plain && at->raw < raw.n) {
        const char *p = raw.p + at->raw;
        size_t left = size_min(plain - at->plain, raw.n - at->raw);
        const char *slash = memchr(p, '\\', left);
        size_t run = slash != NULL ? (size_t)(slash - p) : left;
        at->raw += run;
        at->plain += run;
        if (slash == NULL)
            continue;
        char c[JSON_CHAR_MAX];
        at->plain += json_decode_char(&slash, end, c);
        at->raw = (size_t)(slash - raw.p);
    }
}

static bool edit_needs_escape(const struct redact *r, const struct edit *e)
{
    for (size_t i = 0; i < e->text_n; i++) {
        unsigned char c = (unsigned char)r->texts.p[e->text + i];
        if (c == '"' || c == '\\' || c < 0x20)
            return true;
    }
    return false;
}

static void escape_edit_text(struct redact *r, struct edit *e)
{
    static const char hex[] = "0123456789abcdef";
    size_t at = r->texts.n;
    for (size_t i = 0; i < e->text_n; i++) {
        /* use an offset, not a pointer: buf_addc() may move the buffer */
        char c = r->texts.p[e->text + i];
        if (c == '"' || c == '\\')
            buf_addc(&r->texts, '\\');
        if ((unsigned char)c < 0x20)
            buf_add(&r->texts, (char[]){'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]}, 6);
        else
            buf_addc(&r->texts, c);
    }
    e->text = at;
    e->text_n = r->texts.n - at;
}

void edit_move_to_outer_text(struct redact *r, size_t first, struct slice raw, size_t base,
                             bool escaped)
{
    struct place at = {0};
    if (r->texts.failed)
        return;
    for (size_t i = first; i < r->edit_n; i++) {
        struct edit *e = &r->edit[i];
        if (escaped) {
            edit_find_raw_position(&at, raw, e->from);
            e->from = at.raw;
            edit_find_raw_position(&at, raw, e->to);
            e->to = at.raw;
        }
        e->from += base;
        e->to += base;
        if (edit_needs_escape(r, e))
            escape_edit_text(r, e);
    }
}

void edit_shift_offsets(struct redact *r, size_t first, size_t base)
{
    for (size_t i = first; i < r->edit_n; i++) {
        r->edit[i].from += base;
        r->edit[i].to += base;
    }
}

/* ---- writing ------------------------------------------------------------------------------ */

void edit_apply(const struct redact *r, size_t first, struct slice text, struct buf *b)
{
    size_t done = 0;
    if (r->texts.failed) {
        b->failed = true;
        return;
    }
    for (size_t i = first; i < r->edit_n; i++) {
        const struct edit *e = &r->edit[i];
        buf_add(b, text.p + done, e->from - done);
        buf_add(b, r->texts.p + e->text, e->text_n);
        done = e->to;
    }
    buf_add(b, text.p + done, text.n - done);
}

static bool is_mark_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

size_t get_redaction_mark_len(struct slice s)
{
    size_t n = sizeof MARK - 1;
    if (!slice_begins(s, MARK))
        return 0;
    while (n < s.n && n < REDACT_MARK_MAX && is_mark_name_char(s.p[n]))
        n++;
    return n > sizeof MARK - 1 && n < s.n && s.p[n] == ']' ? n + 1 : 0;
}
