#include "cli/wrap/diff.h"

#define CONTEXT 3 /* lines around a change */

static size_t line_begin(struct slice text, size_t at)
{
    while (at > 0 && text.p[at - 1] != '\n')
        at--;
    return at;
}

/* The start of the next line. */
static size_t line_end(struct slice text, size_t at)
{
    const char *nl = at < text.n ? memchr(text.p + at, '\n', text.n - at) : NULL;
    return nl != NULL ? (size_t)(nl - text.p) + 1 : text.n;
}

static size_t lines_in(struct slice text)
{
    size_t n = 0;
    for (size_t at = 0; at < text.n; at = line_end(text, at))
        n++;
    return n;
}

static struct slice part(struct slice text, size_t from, size_t to)
{
    return (struct slice){text.p + from, to - from};
}

/* Prints the unchanged bytes to a pipe, for `patch`. On a terminal control characters other than tabs are escaped. */
static void print_text(struct out *o, struct slice line)
{
    if (!o->is_terminal) {
        buf_slice_add(&o->b, line);
        return;
    }
    if (line.n > 0 && line.p[line.n - 1] == '\r')
        line.n--;
    while (line.n > 0) {
        const char *tab = memchr(line.p, '\t', line.n);
        size_t n = tab != NULL ? (size_t)(tab - line.p) : line.n;
        out_text(o, (struct slice){line.p, n});
        if (tab != NULL)
            out_raw(o, "\t");
        n += tab != NULL;
        line = (struct slice){line.p + n, line.n - n};
    }
}

static void print_lines(struct out *o, char sign, enum out_style style, struct slice text)
{
    for (size_t at = 0; at < text.n;) {
        size_t end = line_end(text, at);
        bool whole = text.p[end - 1] == '\n';
        out_style(o, style);
        out_printf(o, "%c", sign);
        print_text(o, part(text, at, whole ? end - 1 : end));
        out_style(o, OUT_PLAIN);
        out_end_line(o);
        if (!whole) {
            out_raw(o, "\\ No newline at end of file");
            out_end_line(o);
        }
        at = end;
    }
}

/* The lines of edits that are near each other, with context. */
struct hunk {
    size_t from, to;      /* bytes of the old text, with context */
    size_t first, beyond; /* the edits first..beyond-1 */
    size_t change_end;    /* end of the last changed line */
};

static size_t lines_before(struct slice text, size_t at, size_t lines)
{
    while (lines-- > 0 && at > 0)
        at = line_begin(text, at - 1);
    return at;
}

static size_t lines_behind(struct slice text, size_t at, size_t lines)
{
    while (lines-- > 0 && at < text.n)
        at = line_end(text, at);
    return at;
}

static struct hunk hunk_at(struct slice old, const struct edits *e, size_t first)
{
    struct hunk h = {.first = first, .beyond = first};
    h.from = lines_before(old, line_begin(old, e->edit[first].at), CONTEXT);
    for (;;) {
        const struct edit *edit = &e->edit[h.beyond++];
        h.change_end = line_end(old, edit->at + edit->del);
        h.to = lines_behind(old, h.change_end, CONTEXT);
        if (h.beyond == e->n)
            return h;
        size_t next = line_begin(old, e->edit[h.beyond].at);
        if (lines_before(old, next, CONTEXT) > h.to)
            return h;
    }
}

static void print_changes(struct out *o, struct slice old, const struct edits *e,
                          const struct hunk *h)
{
    size_t at = h->from;
    for (size_t i = h->first; i < h->beyond;) {
        size_t from = line_begin(old, e->edit[i].at);
        size_t to = from;
        /* edits of the same or adjacent lines are one change */
        for (; i < h->beyond && line_begin(old, e->edit[i].at) <= to; i++)
            to = line_end(old, e->edit[i].at + e->edit[i].del);
        struct buf new = {0};
        edits_apply_part(e, old, from, to, &new);
        print_lines(o, ' ', OUT_PLAIN, part(old, at, from));
        print_lines(o, '-', OUT_RED, part(old, from, to));
        print_lines(o, '+', OUT_GREEN, buf_slice(&new));
        buf_close(&new);
        at = to;
    }
    print_lines(o, ' ', OUT_PLAIN, part(old, at, h->to));
}

void diff_print(struct out *o, const char *path, struct slice old, const struct edits *e)
{
    size_t put_n = 0; /* lines of the new text before the hunk */
    size_t old_n = 0;
    size_t at = 0;
    out_style(o, OUT_BOLD);
    out_raw(o, "--- ");
    out_text(o, slice_of(path));
    out_end_line(o);
    out_raw(o, "+++ ");
    out_text(o, slice_of(path));
    out_style(o, OUT_PLAIN);
    out_end_line(o);
    for (size_t i = 0; i < e->n;) {
        struct hunk h = hunk_at(old, e, i);
        struct buf new = {0};
        edits_apply_part(e, old, h.from, h.to, &new);
        size_t between = lines_in(part(old, at, h.from));
        size_t old_lines = lines_in(part(old, h.from, h.to));
        size_t new_lines = lines_in(buf_slice(&new));
        out_style(o, OUT_CYAN);
        out_printf(o, "@@ -%zu,%zu +%zu,%zu @@", old_n + between + 1, old_lines,
                   put_n + between + 1, new_lines);
        out_style(o, OUT_PLAIN);
        out_end_line(o);
        print_changes(o, old, e, &h);
        old_n += between + old_lines;
        put_n += between + new_lines;
        at = h.to;
        i = h.beyond;
        buf_close(&new);
    }
}
