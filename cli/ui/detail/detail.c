#include "cli/ui/detail/detail.h"

#include "cli/ui/detail/detail_parts.h"
#include "cli/ui/detail/token.h"
#include "wire/json/pointer.h"

#include <stdlib.h>

#define TEXTS_MAX 16 /* maximum number of texts that are unfolded when a result is opened */
/* maximum length in bytes of a line of noise that is checked for JSON */
#define NOISE_MAX ((size_t)1 << 20)

/* ---- opening -------------------------------------------------------------------------------- */

static bool body_is_json(const struct detail_message *m)
{
    struct json_scan scan;
    size_t at = token_skip_blank(m->body, 0);
    if (at >= m->body.n || !token_opens_container(m->body.p[at]))
        return false;
    if (m->kind != KIND_NOISE && m->kind != KIND_STDERR)
        return true;
    return m->body.n <= NOISE_MAX && json_scan(m->body, NULL, NULL, &scan) == 0;
}

/* Unfolds the text `member` of element i of a list in a result. Returns false if there is no such
 * element, or its text cannot be unfolded. */
static bool unfold_result_text(struct view *v, const char *list, size_t i, const char *member)
{
    struct buf pointer = {0};
    struct view_path path;
    struct view_target t = {.view = v};
    buf_adds(&pointer, list);
    pointer_add_index(&pointer, i);
    bool found = view_find_pointer(v, buf_slice(&pointer), &t.at);
    buf_adds(&pointer, member);
    if (found && view_find_pointer(v, buf_slice(&pointer), &t.at) &&
        view_should_unfold_string(v, t.at)) {
        view_find_path_at_offset(v, t.at, &path);
        t.depth = path.n;
        if (view_toggle_fold(v, &t, DETAIL_TEXT_MAX) < 0 || view_unfold_to_show_byte(v, t.at) < 0)
            found = false; /* a text that cannot be unfolded stays folded */
    }
    buf_close(&pointer);
    return found;
}

static void unfold_result_texts(struct view *v)
{
    static const char *const places[][2] = {
        {"/result/content", "/text"},
        {"/result/contents", "/text"},
        {"/result/messages", "/content/text"},
    };
    for (size_t k = 0; k < MI_COUNT(places); k++)
        for (size_t i = 0; i < TEXTS_MAX; i++)
            if (!unfold_result_text(v, places[k][0], i, places[k][1]))
                break;
}

/* Adds a part for a message. In a call, the part is folded if the message is neither the request
 * nor the answer, or if its values have parts of their own. */
static void add_message_part(struct detail *d, size_t message)
{
    const struct detail_message *m = &d->s.message[message];
    struct part *p = detail_add_part(d, PART_MESSAGE);
    p->message = message;
    p->folded = d->s.is_call && m->kind != KIND_RESULT && m->kind != KIND_ERROR && message > 0;
    for (size_t i = 0; i < d->n; i++)
        p->folded |= d->part[i].kind == PART_VALUE && d->part[i].message == message;
    if (m->body.p == NULL) {
        head_add_text(&p->rows, NULL, CELLS_DIM,
                      slice_of(m->body_error != NULL ? m->body_error : "not recorded"));
        return;
    }
    p->has_view = true;
    view_open(&p->view, body_is_json(m) ? VIEW_JSON : VIEW_TEXT, m->body);
    view_fold_for_first_display(&p->view);
    if (m->kind == KIND_RESULT && m->body.n <= 4 * DETAIL_TEXT_MAX)
        unfold_result_texts(&p->view);
}

static void add_post_mortem_part(struct detail *d)
{
    struct part *p = detail_add_part(d, PART_POST_MORTEM);
    struct slice text = d->s.post_mortem;
    size_t at = token_skip_blank(text, 0);
    bool json = at < text.n && token_opens_container(text.p[at]);
    p->has_view = true;
    view_open(&p->view, json ? VIEW_JSON : VIEW_TEXT, text);
}

static void add_stderr_part(struct detail *d)
{
    struct part *p = detail_add_part(d, PART_STDERR);
    for (size_t i = 0; i < d->s.stderr_n; i++) {
        head_add_text(&p->rows, NULL, CELLS_PLAIN, d->s.stderr_line[i].text);
        if (!p->rows.failed)
            p->rows.row[p->rows.n - 1].t_us = d->s.stderr_line[i].t_us;
    }
}

static int detail_add_notes(struct detail *d)
{
    static const enum cells_style styles[] = {CELLS_NOTE, CELLS_WAIT, CELLS_BAD};
    int st = 0;
    for (size_t i = 0; i < d->s.notes_n && st == 0; i++) {
        const struct detail_note *n = &d->s.note[i];
        struct view_note note = {.text = n->text, .style = styles[n->severity]};
        for (size_t k = 0; k < d->n && st == 0; k++) {
            struct part *p = &d->part[k];
            size_t skip = strlen(p->pointer);
            struct slice pointer = n->pointer;
            if ((p->kind != PART_MESSAGE && p->kind != PART_VALUE) || p->message != n->message ||
                !p->has_view || !slice_begins(pointer, p->pointer))
                continue;
            pointer.p += skip;
            pointer.n -= skip;
            if (pointer.n > 0 && *pointer.p != '/')
                continue;
            if (!view_find_pointer(&p->view, pointer, &note.at))
                continue;
            st = view_add_note(&p->view, &note);
            if (st == 0)
                st = view_unfold_to_show_byte(&p->view, note.at);
        }
    }
    return st == MI_EFULL ? 0 : st;
}

/* Whether head_make_rows() makes the rows of this part. */
static bool part_has_head_rows(const struct part *p)
{
    return p->kind == PART_HEAD || p->kind == PART_FINDINGS || p->kind == PART_ABOUT;
}

/* Adds the parts in the order in which they are shown. */
static void detail_add_all_parts(struct detail *d)
{
    const struct detail_subject *s = &d->s;
    bool found = false;
    detail_add_part(d, PART_HEAD);
    if (s->is_call) {
        values_add_parts_of_call(d);
        for (size_t i = 0; i < s->messages_n; i++)
            found |= s->message[i].finding.n > 0;
        if (found)
            detail_add_part(d, PART_FINDINGS);
    }
    for (size_t i = 0; i < s->messages_n && !s->is_call; i++)
        add_message_part(d, i);
    if (s->post_mortem.p != NULL)
        add_post_mortem_part(d);
    if (s->stderr_n > 0)
        add_stderr_part(d);
    if (s->is_call)
        detail_add_part(d, PART_ABOUT)->folded = true;
    for (size_t i = 0; i < s->messages_n && s->is_call; i++)
        add_message_part(d, i);
}

int detail_open(struct detail **ret, const struct detail_subject *subject)
{
    size_t max = subject->messages_n + DETAIL_CONTENTS_MAX + 8;
    struct detail *d = calloc(1, sizeof *d);
    struct part *part = calloc(max, sizeof *part);
    if (d == NULL || part == NULL) {
        free(d);
        free(part);
        return MI_ENOMEM;
    }
    d->s = *subject;
    d->part = part;
    d->cap = max;
    detail_add_all_parts(d);
    int st = detail_add_notes(d);
    for (size_t i = 0; i < d->n; i++) {
        if (part_has_head_rows(&part[i]))
            head_make_rows(d, &part[i]);
        if (part[i].rows.failed)
            st = MI_ENOMEM;
    }
    if (st == 0)
        *ret = d;
    else
        detail_close(d);
    return st;
}

void detail_close(struct detail *d)
{
    if (d == NULL)
        return;
    for (size_t i = 0; i < d->n; i++) {
        if (d->part[i].has_view)
            view_close(&d->part[i].view);
        head_close(&d->part[i].rows);
        buf_close(&d->part[i].text);
    }
    free(d->part);
    buf_close(&d->needle);
    buf_close(&d->escaped_needle);
    buf_close(&d->ascii_needle);
    free(d);
}

void detail_set_width(struct detail *d, size_t columns, bool ascii)
{
    d->columns = columns;
    d->ascii = ascii;
    for (size_t i = 0; i < d->n; i++)
        if (part_has_head_rows(&d->part[i]))
            head_make_rows(d, &d->part[i]);
        else if (d->part[i].has_view)
            view_set_width(&d->part[i].view, columns > ROW_INDENT ? columns - ROW_INDENT : columns,
                           ascii);
}

void detail_update_open_call(struct detail *d, int64_t waited_us, bool ended)
{
    d->s.ended = ended;
    d->s.waited_us = waited_us;
    head_make_rows(d, &d->part[0]);
}

/* ---- lines ---------------------------------------------------------------------------------- */

size_t detail_count_hidden_brackets(const struct part *p)
{
    struct slice s = p->view.text;
    if (p->kind != PART_VALUE || p->view.kind != VIEW_JSON || !token_opens_container(s.p[0]))
        return 0;
    return !token_closes_container(s.p[token_skip_blank(s, 1)]) && !view_is_folded(&p->view, 0, 0);
}

/* Returns the exact number of lines of a part below its title. */
static size_t count_content_lines(struct part *p)
{
    return p->folded     ? 0
           : p->has_view ? view_count_lines(&p->view) - 2 * detail_count_hidden_brackets(p)
                         : p->rows.n;
}

size_t detail_get_line_below_title(struct part *p, size_t line)
{
    size_t n = count_content_lines(p);
    line -= size_min(line, detail_count_hidden_brackets(p));
    return n > 0 ? size_min(line, n - 1) : 0;
}

size_t detail_find_part_title_line(struct detail *d, size_t part)
{
    size_t line = 0;
    for (size_t i = 0; i < part; i++)
        line += 1 + count_content_lines(&d->part[i]);
    return line;
}

bool detail_find_part_of_line(struct detail *d, size_t line, struct spot *ret)
{
    size_t base = 0;
    for (size_t i = 0; i < d->n; i++) {
        struct part *p = &d->part[i];
        size_t inside = line - base - 1;
        *ret = (struct spot){.part = p, .base = base, .title = line == base, .row = inside};
        if (ret->title)
            return true;
        size_t bare = detail_count_hidden_brackets(p);
        if (!p->folded && (bare == 0 || inside < count_content_lines(p)) &&
            (p->has_view ? view_find_line_by_number(&p->view, inside + bare, &ret->place)
                         : inside < p->rows.n))
            return true;
        base += 1 + count_content_lines(p);
        if (line < base)
            return false; /* cannot happen */
    }
    return false;
}

size_t detail_count_lines(struct detail *d, bool *exact)
{
    size_t lines = 0;
    bool known;
    *exact = true;
    for (size_t i = 0; i < d->n; i++) {
        struct part *p = &d->part[i];
        lines++;
        if (p->folded)
            continue;
        if (!p->has_view) {
            lines += p->rows.n;
        } else {
            lines += view_estimate_lines(&p->view, &known) - 2 * detail_count_hidden_brackets(p);
            *exact &= known;
        }
    }
    return lines;
}

size_t detail_count_exact_lines(struct detail *d)
{
    return detail_find_part_title_line(d, d->n);
}

size_t detail_get_next_part(struct detail *d, size_t line, bool forward)
{
    struct spot s;
    if (!detail_find_part_of_line(d, line, &s))
        return line;
    size_t i = (size_t)(s.part - d->part);
    if (forward)
        return i + 1 < d->n ? detail_find_part_title_line(d, i + 1) : line;
    if (!s.title)
        return s.base;
    return i > 0 ? detail_find_part_title_line(d, i - 1) : line;
}

int64_t detail_seq_at_line(struct detail *d, size_t line)
{
    struct spot s;
    if (!detail_find_part_of_line(d, line, &s) ||
        (s.part->kind != PART_MESSAGE && s.part->kind != PART_VALUE))
        return 0;
    return d->s.message[s.part->message].seq;
}

/* ---- drawing -------------------------------------------------------------------------------- */

static void draw_part_row(const struct head_rows *r, size_t i, struct cells *c)
{
    struct buf label = {0};
    head_write_label(r, i, &label);
    cells_add_blanks(c, ROW_INDENT);
    cells_add_text(c, r->row[i].t_us >= 0 ? CELLS_DIM : CELLS_LABEL, buf_slice(&label));
    cells_add_blanks(c, head_get_value_column(r, i) - ROW_INDENT - label.n);
    buf_close(&label);
    c->tabs = true;
    c->origin = head_get_value_column(r, i);
    cells_add_text(c, r->row[i].style, head_get_row_text(r, i));
    c->tabs = false;
}

bool detail_draw_line(struct detail *d, size_t line, size_t from, size_t width, struct cells *c)
{
    struct spot s;
    cells_begin_line(c, from, width, d->ascii);
    if (!detail_find_part_of_line(d, line, &s))
        return false;
    if (s.title) {
        cells_add_str(c, CELLS_FOLD,
                      d->ascii         ? s.part->folded ? "+ " : "- "
                      : s.part->folded ? "▸ "
                                       : "▾ ");
        head_draw_part_title(d, s.part, c);
    } else if (s.part->has_view) {
        view_draw_line(&s.part->view, &s.place, ROW_INDENT, c);
    } else {
        draw_part_row(&s.part->rows, s.row, c);
    }
    if (d->needle.n > 0)
        cells_mark_matches(c, buf_slice(&d->needle));
    return true;
}
