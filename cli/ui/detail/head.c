/* head.c - the parts of a document with facts about the call or message, and the titles of all
 * parts. */
#include "cli/ui/detail/detail_parts.h"

#include "base/clock.h"
#include "base/grow.h"
#include "base/units.h"
#include "wire/mcp/rule.h"

#include <stdlib.h>

/* ---- rows ----------------------------------------------------------------------------------- */

void head_close(struct head_rows *r)
{
    free(r->row);
    buf_close(&r->text);
    *r = (struct head_rows){0};
}

static struct row *detail_head_add_row(struct head_rows *r, const char *label,
                                       enum cells_style style)
{
    if (!GROW(r->row, r->n, r->cap)) {
        r->failed = true;
        return NULL;
    }
    struct row *row = &r->row[r->n++];
    *row = (struct row){.label = label, .t_us = -1, .at = r->text.n, .style = style};
    return row;
}

/* Begins a row. The row's text is what is added to r->text until head_end_row(). */
static void head_begin_row(struct head_rows *r, const char *label, enum cells_style style)
{
    (void)detail_head_add_row(r, label, style);
}

static void head_end_row(struct head_rows *r)
{
    r->failed |= r->text.failed;
    if (r->n > 0 && !r->failed)
        r->row[r->n - 1].n = r->text.n - r->row[r->n - 1].at;
}

void head_add_text(struct head_rows *r, const char *label, enum cells_style style,
                   struct slice borrowed)
{
    struct row *row = detail_head_add_row(r, label, style);
    if (row != NULL)
        row->text = borrowed.p != NULL ? borrowed : slice_of("");
}

struct slice head_get_row_text(const struct head_rows *r, size_t i)
{
    const struct row *row = &r->row[i];
    if (row->text.p != NULL)
        return row->text;
    return (struct slice){r->text.p != NULL ? r->text.p + row->at : "", row->n};
}

void head_write_label(const struct head_rows *r, size_t i, struct buf *b)
{
    const struct row *row = &r->row[i];
    if (row->t_us >= 0) {
        buf_addc(b, '+');
        units_show_duration(b, row->t_us);
    } else if (row->label != NULL) {
        buf_adds(b, row->label);
    }
}

size_t head_get_value_column(const struct head_rows *r, size_t i)
{
    struct buf label = {0};
    bool labels = r->row[0].label != NULL || r->row[i].t_us >= 0;
    head_write_label(r, i, &label);
    size_t width = labels ? (label.n < ROW_LABEL ? ROW_LABEL : label.n + 1) : 0;
    buf_close(&label);
    return ROW_INDENT + width;
}

/* ---- the head ------------------------------------------------------------------------------- */

static void head_add_call_status(const struct detail_subject *s, struct head_rows *r)
{
    if (!s->is_call)
        return;
    head_begin_row(r, "Status",
                   s->status == CALL_OK            ? CELLS_GOOD
                   : call_status_failed(s->status) ? CELLS_BAD
                                                   : CELLS_WAIT);
    bool never = s->status == CALL_OPEN && s->ended;
    buf_adds(&r->text,
             never ? "no answer; the recording ends after " : call_status_name(s->status));
    if (never) {
        units_show_duration(&r->text, s->waited_us);
    } else if (s->status == CALL_OPEN) {
        buf_adds(&r->text, ", waiting for ");
        units_show_duration(&r->text, s->waited_us);
    } else if (s->duration_us >= 0) {
        buf_adds(&r->text, " after ");
        units_show_duration(&r->text, s->duration_us);
    }
    head_end_row(r);
}

static void detail_head_add_time(const struct detail_subject *s, struct head_rows *r)
{
    const struct detail_message *m = &s->message[0];
    head_begin_row(r, "Time", CELLS_PLAIN);
    if (s->started_at_us != 0) {
        char text[CLOCK_TEXT_MAX];
        int64_t at = s->started_at_us + m->t_us;
        clock_write_local_time(at, text);
        buf_printf(&r->text, "%s.%03d, ", text, (int)(at / 1000 % 1000));
    }
    buf_addc(&r->text, '+');
    units_show_duration(&r->text, m->t_us);
    head_end_row(r);
}

static void head_add_redactions(const struct detail_subject *s, struct head_rows *r)
{
    int64_t redactions = 0;
    for (size_t i = 0; i < s->messages_n; i++)
        redactions += s->message[i].redactions;
    if (redactions == 0)
        return;
    head_begin_row(r, "Redacted", CELLS_PLAIN);
    buf_printf(&r->text, "%lld secret%s", (long long)redactions, redactions == 1 ? "" : "s");
    head_end_row(r);
}

/* Adds a text that is not from a recording as rows, wrapped to the columns. */
static void head_add_wrapped_text(const struct detail *d, struct head_rows *r, const char *label,
                                  enum cells_style style, struct slice text)
{
    size_t columns = d->columns > ROW_INDENT + ROW_LABEL + VIEW_WIDTH_MIN
                         ? d->columns - ROW_INDENT - ROW_LABEL
                         : SIZE_MAX;
    for (size_t next; text.n > 0; text = (struct slice){text.p + next, text.n - next}) {
        head_begin_row(r, label, style);
        buf_add(&r->text, text.p, cells_line_len(text, d->ascii, columns, &next));
        head_end_row(r);
        label = NULL;
    }
}

/* Adds a row for each finding of a message. `names` has the findings, separated by commas. */
static void detail_head_add_findings(const struct detail *d, struct head_rows *r,
                                     struct slice names)
{
    const char *label = "Finding";
    while (names.n > 0) {
        const char *comma = memchr(names.p, ',', names.n);
        struct slice name = {names.p, comma != NULL ? (size_t)(comma - names.p) : names.n};
        struct finding_info info;
        if (finding_by_name(name, &info)) {
            struct buf text = {0};
            enum severity s = info.severity;
            buf_printf(&text, "%s: %s", info.name, info.meaning);
            head_add_wrapped_text(d, r, label,
                                  s == SEVERITY_ERROR     ? CELLS_BAD
                                  : s == SEVERITY_WARNING ? CELLS_WAIT
                                                          : CELLS_DIM,
                                  buf_slice(&text));
            r->failed |= text.failed;
            buf_close(&text);
        } else {
            head_add_text(r, label, CELLS_WAIT, name);
        }
        size_t taken = name.n + (comma != NULL);
        names = (struct slice){names.p + taken, names.n - taken};
    }
}

void head_make_rows(const struct detail *d, struct part *p)
{
    const struct detail_subject *s = &d->s;
    struct head_rows *r = &p->rows;
    head_close(r);
    if (s->messages_n == 0)
        return;
    if (p->kind == PART_HEAD) {
        head_add_call_status(s, r);
        if (s->operation.n > 0)
            head_add_text(r, "Requests", CELLS_PLAIN, s->operation);
        if (s->message[0].by_interposer)
            head_add_text(r, "Sender", CELLS_WAIT, slice_of("the interposer"));
        if (s->message[0].action == ROW_REFUSED)
            head_add_text(r, "Action", CELLS_BAD, slice_of("rejected"));
        else if (s->message[0].action == ROW_SWALLOWED)
            head_add_text(r, "Action", CELLS_BAD, slice_of("dropped"));
    }
    if (p->kind == PART_ABOUT || !s->is_call) {
        detail_head_add_time(s, r);
        head_add_redactions(s, r);
    }
    for (size_t i = 0; i < s->messages_n && (p->kind == PART_FINDINGS || !s->is_call); i++)
        if (s->message[i].finding.p != NULL)
            detail_head_add_findings(d, r, s->message[i].finding);
}

/* ---- titles --------------------------------------------------------------------------------- */

static void draw_message_title(const struct detail *d, const struct detail_message *m,
                               struct cells *c)
{
    struct buf text = {0};
    const char *arrow = d->ascii ? (m->from_client ? "->" : "<-") : (m->from_client ? "→" : "←");
    buf_printf(&text, "%s %s %lld", arrow, row_kind_name(m->kind), (long long)m->seq);
    cells_add_str(c, CELLS_TITLE, buf_str(&text));
    buf_clear(&text);
    buf_adds(&text, "  +");
    units_show_duration(&text, m->t_us);
    buf_adds(&text, "  ");
    units_show_size(&text, m->size);
    if (m->is_beginning) {
        buf_adds(&text, ", the first ");
        units_show_size(&text, (int64_t)m->body.n);
    }
    cells_add_str(c, CELLS_DIM, buf_str(&text));
    c->failed |= text.failed;
    buf_close(&text);
    if (m->id.p != NULL) {
        cells_add_str(c, CELLS_DIM, "  id ");
        cells_add_text(c, CELLS_DIM, m->id);
    }
    if (m->kind == KIND_NOTIFICATION && m->method.p != NULL) {
        cells_add_blanks(c, 2);
        cells_add_text(c, CELLS_DIM, m->method);
    }
}

static void draw_title_of_first_message(const struct detail_subject *s, struct cells *c)
{
    const struct detail_message *m = s->messages_n > 0 ? &s->message[0] : NULL;
    if (m == NULL || m->method.p == NULL) {
        cells_add_str(c, CELLS_TITLE, m != NULL ? row_kind_name(m->kind) : "event");
        return;
    }
    cells_add_text(c, CELLS_TITLE, m->method);
    if (m->target.p != NULL) {
        cells_add_str(c, CELLS_TITLE, " ");
        cells_add_text(c, CELLS_TITLE, m->target);
    }
}

void head_draw_part_title(const struct detail *d, const struct part *p, struct cells *c)
{
    const struct detail_subject *s = &d->s;
    switch (p->kind) {
    case PART_HEAD:
        draw_title_of_first_message(s, c);
        break;
    case PART_VALUE:
        cells_add_str(c, CELLS_TITLE, p->title);
        break;
    case PART_FINDINGS:
        cells_add_str(c, CELLS_TITLE, "findings");
        break;
    case PART_ABOUT:
        cells_add_str(c, CELLS_TITLE, "about the call");
        break;
    case PART_MESSAGE:
        draw_message_title(d, &s->message[p->message], c);
        break;
    case PART_POST_MORTEM:
        cells_add_text(c, CELLS_TITLE, s->post_mortem_title);
        break;
    case PART_STDERR:
        cells_add_format(c, CELLS_TITLE, "stderr, %s%zu line%s", s->stderr_more ? "the last " : "",
                         s->stderr_n, s->stderr_n == 1 ? "" : "s");
        break;
    }
}
