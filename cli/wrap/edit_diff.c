#include "cli/wrap/edit_diff.h"

#include "base/text.h"
#include "cli/wrap/mcpfile/string.h"
#include "redact/sanitizer.h"

#define CONTEXT 3 /* number of lines shown before and after a change */

static size_t find_line_begin(struct slice text, size_t at)
{
    while (at > 0 && text.p[at - 1] != '\n')
        at--;
    return at;
}

/* Returns the offset of the line after the line that contains `at`. */
static size_t find_next_line_begin(struct slice text, size_t at)
{
    const char *nl = at < text.n ? memchr(text.p + at, '\n', text.n - at) : NULL;
    return nl != NULL ? (size_t)(nl - text.p) + 1 : text.n;
}

static size_t count_lines_of_text(struct slice text)
{
    size_t n = 0;
    for (size_t at = 0; at < text.n; at = find_next_line_begin(text, at))
        n++;
    return n;
}

static struct slice slice_between_offsets(struct slice text, size_t from, size_t to)
{
    return (struct slice){text.p + from, to - from};
}

/* Appends the arguments of all servers as one JSON array. */
static void add_args(const struct mcpfile *f, struct buf *b)
{
    struct buf word = {0};
    for (size_t i = 0; i < f->args; i++) {
        buf_clear(&word);
        mcpfile_append_string(f, f->arg[i], &word);
        buf_addc(b, i == 0 ? '[' : ',');
        text_append_json(b, buf_slice(&word));
        b->failed |= word.failed;
    }
    buf_addc(b, ']');
    buf_close(&word);
}

/* Returns the next string of a JSON array, with its quotes, and advances *array. */
static struct slice take_next_json_string(struct slice *array)
{
    const char *from = array->p, *end = array->p + array->n;
    while (from < end && *from != '"')
        from++;
    const char *p = from < end ? from + 1 : end;
    while (p < end && *p != '"')
        p += *p == '\\' && end - p > 1 ? 2 : 1;
    p += p < end;
    *array = (struct slice){p, (size_t)(end - p)};
    return (struct slice){from, (size_t)(p - from)};
}

/* Appends the text with the arguments `clean` in place of `args`. Line breaks of the replaced
 * arguments are kept. */
static void replace_secret_arguments(const struct mcpfile *f, struct slice args, struct slice clean,
                                     struct buf *b)
{
    size_t at = 0;
    for (size_t i = 0; i < f->args; i++) {
        struct slice was = take_next_json_string(&args), is = take_next_json_string(&clean);
        if (slice_eq(was, is) || f->arg[i].at < at)
            continue;
        buf_slice_add(b, slice_between_offsets(f->text, at, f->arg[i].at));
        buf_slice_add(b, is);
        at = f->arg[i].at + f->arg[i].n;
        for (size_t c = f->arg[i].at; c < at; c++)
            if (f->text.p[c] == '\n')
                buf_addc(b, '\n');
    }
    buf_slice_add(b, slice_between_offsets(f->text, at, f->text.n));
}

/* Appends the text with the secrets in its arguments replaced. The arguments are sanitized as a
 * JSON array, because the sanitizer recognizes an option and its value in JSON, but not in the
 * lists and quotes of TOML, YAML and JSON5. A text that cannot be parsed is appended unchanged. */
static int append_sanitized_args(struct slice text, enum mcpfile_format format, struct buf *b)
{
    struct mcpfile f = {0};
    struct buf args = {0}, clean = {0};
    int st = mcpfile_read_servers(&f, text, format);
    if (st == 0)
        add_args(&f, &args);
    if (st == 0)
        st = args.failed ? MI_ENOMEM : redact_append_sanitized_text(buf_slice(&args), &clean);
    if (st == 0)
        replace_secret_arguments(&f, buf_slice(&args), buf_slice(&clean), b);
    else if (st == MI_EINVAL)
        buf_slice_add(b, text);
    mcpfile_close(&f);
    buf_close(&args);
    buf_close(&clean);
    return st == MI_ENOMEM || b->failed ? MI_ENOMEM : 0;
}

/* A text without secrets, whose lines are read in order. The text is sanitized in one piece,
 * because in a list of arguments the name of a secret is on one line and the secret on the next. */
struct clean_text {
    struct buf text;
    size_t line, at; /* line: number of the next line to print; at: its offset in the text */
    /* true: `text` is sanitized. false: sanitizing would change the number of lines, so each line
     * is sanitized when it is read. */
    bool sanitized;
    bool failed; /* out of memory */
};

static void open_sanitized_text(struct clean_text *c, struct slice text, enum mcpfile_format format)
{
    struct buf args = {0};
    *c = (struct clean_text){.line = 0};
    c->failed = append_sanitized_args(text, format, &args) < 0 ||
                redact_append_sanitized_text(buf_slice(&args), &c->text) < 0;
    c->sanitized = count_lines_of_text(buf_slice(&c->text)) == count_lines_of_text(text);
    if (!c->sanitized) {
        buf_close(&c->text);
        c->text = args;
        args = (struct buf){0};
    }
    buf_close(&args);
}

/* Appends line `number` without its newline. Returns 0 or MI_ENOMEM. */
static int append_sanitized_line(struct clean_text *c, size_t number, struct buf *b)
{
    struct slice text = buf_slice(&c->text);
    while (c->line < number) {
        c->at = find_next_line_begin(text, c->at);
        c->line++;
    }
    size_t end = find_next_line_begin(text, c->at);
    size_t n = end - c->at - (end > c->at && text.p[end - 1] == '\n');
    if (c->failed)
        return MI_ENOMEM;
    if (!c->sanitized)
        return redact_append_sanitized_text((struct slice){text.p + c->at, n}, b);
    buf_add(b, text.p + c->at, n);
    return b->failed ? MI_ENOMEM : 0;
}

/* Prints a line. On a terminal, escapes control characters other than tabs. */
static void wrap_diff_print_text(struct out *o, struct slice line)
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
        out_add_text(o, (struct slice){line.p, n});
        if (tab != NULL)
            out_add_raw(o, "\t");
        n += tab != NULL;
        line = (struct slice){line.p + n, line.n - n};
    }
}

/* Prints the lines of `text` without secrets. The first line of `text` is line `number` of c.
 * Returns how many lines were printed. */
static size_t print_lines(struct out *o, char sign, enum out_style style, struct clean_text *c,
                          size_t number, struct slice text)
{
    size_t n = 0;
    for (size_t at = 0; at < text.n; n++) {
        size_t end = find_next_line_begin(text, at);
        bool has_newline = text.p[end - 1] == '\n';
        struct buf line = {0};
        if (append_sanitized_line(c, number + n, &line) < 0) {
            buf_clear(&line);
            buf_adds(&line, "[out of memory]");
        }
        out_style(o, style);
        out_printf(o, "%c", sign);
        wrap_diff_print_text(o, buf_slice(&line));
        out_style(o, OUT_PLAIN);
        out_end_line(o);
        if (!has_newline) {
            out_add_raw(o, "\\ No newline at end of file");
            out_end_line(o);
        }
        buf_close(&line);
        at = end;
    }
    return n;
}

/* Edits that are printed together, because their lines are close to each other. */
struct hunk {
    size_t from, to;      /* range of the hunk in the old text, including context lines */
    size_t first, beyond; /* the hunk contains the edits first..beyond-1 */
    size_t change_end;    /* end of the last changed line of the hunk */
};

static size_t skip_lines_back(struct slice text, size_t at, size_t lines)
{
    while (lines-- > 0 && at > 0)
        at = find_line_begin(text, at - 1);
    return at;
}

static size_t skip_lines_forward(struct slice text, size_t at, size_t lines)
{
    while (lines-- > 0 && at < text.n)
        at = find_next_line_begin(text, at);
    return at;
}

static struct hunk make_hunk_from_edits(struct slice old, const struct edits *e, size_t first)
{
    struct hunk h = {.first = first, .beyond = first};
    h.from = skip_lines_back(old, find_line_begin(old, e->edit[first].at), CONTEXT);
    for (;;) {
        const struct edit *edit = &e->edit[h.beyond++];
        h.change_end = find_next_line_begin(old, edit->at + edit->del);
        h.to = skip_lines_forward(old, h.change_end, CONTEXT);
        if (h.beyond == e->n)
            return h;
        size_t next = find_line_begin(old, e->edit[h.beyond].at);
        if (skip_lines_back(old, next, CONTEXT) > h.to)
            return h;
    }
}

/* The old and the new text, both without secrets, and for each of them the number of the next line
 * to print. */
struct diff_texts {
    struct clean_text old_text, new_text;
    size_t old_line, new_line;
};

static void print_unchanged_lines(struct out *o, struct diff_texts *s, struct slice text)
{
    size_t n = print_lines(o, ' ', OUT_PLAIN, &s->old_text, s->old_line, text);
    s->old_line += n;
    s->new_line += n;
}

static void print_changes(struct out *o, struct diff_texts *s, struct slice old,
                          const struct edits *e, const struct hunk *h)
{
    size_t at = h->from;
    for (size_t i = h->first; i < h->beyond;) {
        size_t from = find_line_begin(old, e->edit[i].at);
        size_t to = from;
        /* edits on the same line or adjacent lines are one change */
        for (; i < h->beyond && find_line_begin(old, e->edit[i].at) <= to; i++)
            to = find_next_line_begin(old, e->edit[i].at + e->edit[i].del);
        struct buf new = {0};
        edits_apply_in_range(e, old, from, to, &new);
        print_unchanged_lines(o, s, slice_between_offsets(old, at, from));
        s->old_line += print_lines(o, '-', OUT_RED, &s->old_text, s->old_line,
                                   slice_between_offsets(old, from, to));
        s->new_line += print_lines(o, '+', OUT_GREEN, &s->new_text, s->new_line, buf_slice(&new));
        buf_close(&new);
        at = to;
    }
    print_unchanged_lines(o, s, slice_between_offsets(old, at, h->to));
}

void edit_diff_print(struct out *o, const char *path, struct slice old, const struct edits *e)
{
    struct diff_texts s = {.old_line = 0};
    struct buf new = {0};
    size_t at = 0;
    edits_apply_in_range(e, old, 0, old.n, &new);
    open_sanitized_text(&s.old_text, old, mcpfile_format_by_name(path));
    open_sanitized_text(&s.new_text, buf_slice(&new), mcpfile_format_by_name(path));
    buf_close(&new);
    out_style(o, OUT_BOLD);
    out_add_raw(o, "--- ");
    out_add_text(o, slice_of(path));
    out_end_line(o);
    out_add_raw(o, "+++ ");
    out_add_text(o, slice_of(path));
    out_style(o, OUT_PLAIN);
    out_end_line(o);
    for (size_t i = 0; i < e->n;) {
        struct hunk h = make_hunk_from_edits(old, e, i);
        edits_apply_in_range(e, old, h.from, h.to, &new);
        size_t between = count_lines_of_text(slice_between_offsets(old, at, h.from));
        s.old_line += between;
        s.new_line += between;
        out_style(o, OUT_CYAN);
        out_printf(o, "@@ -%zu,%zu +%zu,%zu @@", s.old_line + 1,
                   count_lines_of_text(slice_between_offsets(old, h.from, h.to)), s.new_line + 1,
                   count_lines_of_text(buf_slice(&new)));
        out_style(o, OUT_PLAIN);
        out_end_line(o);
        print_changes(o, &s, old, e, &h);
        at = h.to;
        i = h.beyond;
        buf_close(&new);
    }
    buf_close(&s.old_text.text);
    buf_close(&s.new_text.text);
}
