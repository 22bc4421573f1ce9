#include "cli/look/timeline/timeline.h"

#include "base/clock.h"
#include "base/units.h"
#include "cli/frame/event_words.h"
#include "cli/frame/pretty.h"
#include "cli/frame/preview.h"
#include "cli/frame/record_json.h"
#include "cli/look/timeline/message_notes.h"
#include "wire/json/text.h"

#define ID_MIN 2
#define ID_MAX 8
/* assumed width of METHOD in lines of several sessions: printed lines cannot be widened later */
#define MANY_METHOD 25
/* assumed width of METHOD without `tools/call` in lines of several sessions */
#define MANY_SHORT_METHOD 16
/* minimum columns of the content; with fewer columns, the content is omitted */
#define CONTENT_MIN 4
#define NOTES_MIN 8 /* minimum columns of the notes; with fewer columns, dots replace the notes */
#define NOTES_DOTS 3
#define CONTENT_HEAD 12    /* columns that notes must leave for the content */
#define PREVIEW_BYTES 2048 /* maximum bytes of a preview; more than a line of a terminal holds */
#define LARGE_HEAD 4096    /* bytes of a large body that are read for its preview on a terminal */

void timeline_open(struct timeline *t, struct out *o, struct query *q,
                   const struct query_session *s, const struct session_view *v,
                   enum timeline_bodies bodies)
{
    *t = (struct timeline){.out = o, .q = q, .session = s, .view = v, .bodies = bodies};
    t->widths = (struct layout_widths){
        .columns = o->columns,
        .arrow = o->utf8 ? 1 : 2,
        .id = ID_MIN,
        .seq = 3,
        /* width of 999.999 or 12:34:56.789 */
        .time = v->summary.last_t_us < 1000 * (int64_t)1000000 ? 7 : 12,
    };
    for (int64_t n = v->summary.last_seq; n >= 1000; n /= 10)
        t->widths.seq++;
    layout_choose_level(&t->layout, &t->widths);
}

void timeline_prepare_many_sessions(struct timeline *t)
{
    t->widths.of_many = true;
    t->widths.method = MANY_METHOD;
    t->widths.short_method = MANY_SHORT_METHOD;
    layout_choose_level(&t->layout, &t->widths);
}

void timeline_close(struct timeline *t)
{
    buf_close(&t->text);
    buf_close(&t->content);
    buf_close(&t->body);
}

/* ---- cells ---- */

static bool timeline_has_unlimited_width(const struct timeline *t)
{
    return t->widths.columns == OUT_UNLIMITED;
}

/* Returns the number of free columns in the line. */
static size_t timeline_count_free_columns(const struct timeline *t)
{
    size_t columns = t->widths.columns;
    return timeline_has_unlimited_width(t) ? OUT_UNLIMITED
           : columns > t->taken            ? columns - t->taken
                                           : 0;
}

static void timeline_add_spaces(struct timeline *t, size_t n)
{
    n = size_min(n, timeline_count_free_columns(t));
    out_printf(t->out, "%*s", (int)n, "");
    t->taken += n;
}

static void timeline_add_cell(struct timeline *t, struct slice text, size_t width, bool right,
                              enum out_style style)
{
    width = size_min(width, timeline_count_free_columns(t));
    out_add_fixed_cell(t->out, style, text, width, right);
    t->taken += width;
}

/* Adds text without padding; on a terminal, at most `max` columns of the text. */
static void timeline_add_text(struct timeline *t, struct slice text, size_t max,
                              enum out_style style)
{
    t->taken +=
        out_add_fitting_text(t->out, style, text, size_min(max, timeline_count_free_columns(t)));
}

static void timeline_add_number(struct timeline *t, int64_t n, size_t width)
{
    buf_clear(&t->text);
    if (n > 0)
        buf_int(&t->text, n);
    timeline_add_cell(t, buf_slice(&t->text), width, true, OUT_DIM);
}

/* ---- METHOD ---- */

/* Whether the row is a line of stderr, or a line that is not a message (noise). The text of such a
 * line replaces METHOD and the columns after METHOD. */
static bool is_stderr_or_noise(const struct query_message *m)
{
    return m->kind == KIND_STDERR || m->kind == KIND_NOISE;
}

/* Returns the method without the part that the column WHAT and the target already imply. */
static struct slice short_method(const struct query_message *m)
{
    static const char prefix[] = "notifications/";
    struct slice method = session_method_of_message(m);
    size_t n = sizeof prefix - 1;
    if (slice_is(method, "tools/call") && session_target_of_message(m).p != NULL)
        return (struct slice){0};
    if (m->kind == KIND_NOTIFICATION && method.n > n && memcmp(method.p, prefix, n) == 0)
        return (struct slice){method.p + n, method.n - n};
    return method;
}

static struct slice timeline_make_method_text(struct timeline *t, const struct query_message *m,
                                              bool is_short)
{
    struct slice method = is_short ? short_method(m) : session_method_of_message(m);
    struct slice target = session_target_of_message(m);
    buf_clear(&t->text);
    if (method.p != NULL)
        buf_slice_add(&t->text, method);
    if (target.p != NULL) {
        buf_adds(&t->text, method.p != NULL ? " " : "");
        buf_slice_add(&t->text, target);
    }
    return buf_slice(&t->text);
}

void timeline_measure_columns(struct timeline *t, const struct query_message *m)
{
    struct layout_widths *w = &t->widths;
    if (is_stderr_or_noise(m))
        return;
    size_t method = out_width(t->out, timeline_make_method_text(t, m, false));
    layout_add_method(w, method, out_width(t->out, timeline_make_method_text(t, m, true)));
    if (m->rpc_id.p != NULL) {
        size_t id = size_min(out_width(t->out, m->rpc_id), ID_MAX);
        w->id = id > w->id ? id : w->id;
    }
    if (w->of_many)
        /* The layout keeps its level, because lines with the columns of this level were already
         * printed. */
        layout_set_columns(&t->layout, w, t->layout.level);
    else
        layout_choose_level(&t->layout, w);
}

/* ---- the beginning of a line ---- */

/* Adds the columns up to the arrow, and the gap after the arrow. */
static void timeline_begin_line(struct timeline *t, int64_t seq, int64_t t_us, const char *arrow,
                                enum out_style style)
{
    const struct layout *l = &t->layout;
    t->taken = 0;
    if (t->widths.of_many) {
        int64_t at_us = t->session->started_at_us + t_us;
        buf_clear(&t->text);
        buf_printf(&t->text, "%s.%03d", clock_format_local_time(at_us).s + 11,
                   (int)(at_us / 1000 % 1000));
        struct slice time = {buf_str(&t->text), size_min(t->text.n, l->time)};
        timeline_add_cell(t, time, l->time, false, OUT_DIM);
        timeline_add_spaces(t, l->gap);
        if (l->session > 0) {
            timeline_add_number(t, t->session->number, l->session);
            timeline_add_spaces(t, 1);
        }
        timeline_add_cell(t, t->session->name, l->server, false, OUT_CYAN);
    } else {
        timeline_add_number(t, seq, l->seq);
        timeline_add_spaces(t, l->gap);
        long long ms = t_us / 1000;
        buf_clear(&t->text);
        if (t->widths.time <= 7)
            buf_printf(&t->text, "%lld.%03lld", ms / 1000, ms % 1000);
        else
            buf_printf(&t->text, "%lld:%02lld:%02lld.%03lld", ms / 3600000, ms / 60000 % 60,
                       ms / 1000 % 60, ms % 1000);
        timeline_add_cell(t, buf_slice(&t->text), l->time, true, OUT_DIM);
    }
    timeline_add_spaces(t, l->gap);
    timeline_add_cell(t, slice_of(arrow), t->widths.arrow, false, style);
    timeline_add_spaces(t, l->gap);
}

static void timeline_add_title(struct timeline *t, const char *text, size_t width, bool right)
{
    timeline_add_cell(t, slice_of(text), width > 0 ? width : strlen(text), right, OUT_PLAIN);
}

void timeline_print_titles(struct timeline *t)
{
    const struct layout *l = &t->layout;
    t->taken = 0;
    out_style(t->out, OUT_BOLD);
    if (t->widths.of_many) {
        timeline_add_title(t, "TIME", l->time, false);
        timeline_add_spaces(t, l->gap);
        if (l->session > 0) {
            timeline_add_title(t, "ID", l->session, true);
            timeline_add_spaces(t, 1);
        }
        timeline_add_title(t, "SERVER", l->server, false);
    } else {
        timeline_add_title(t, "SEQ", l->seq, true);
        timeline_add_spaces(t, l->gap);
        timeline_add_title(t, "TIME", l->time, true);
    }
    timeline_add_spaces(t, 2 * l->gap + t->widths.arrow);
    timeline_add_title(t, "WHAT", l->what, false);
    timeline_add_spaces(t, 1);
    timeline_add_title(t, "METHOD", l->method, false);
    if (l->id > 0) {
        timeline_add_spaces(t, l->gap);
        timeline_add_title(t, "ID", l->id, true);
    }
    timeline_add_spaces(t, l->gap);
    timeline_add_title(t, "TOOK", l->took, true);
    if (l->size > 0) {
        timeline_add_spaces(t, l->gap);
        timeline_add_title(t, "SIZE", l->size, true);
    }
    out_style(t->out, OUT_PLAIN);
    out_end_line(t->out);
}

/* ---- a message ---- */

/* Adds the notes in brackets. The notes leave room for the beginning of the content, except notes
 * about an operation, which are more important. */
static void timeline_add_notes(struct timeline *t, const struct query_message *m, size_t gap)
{
    buf_clear(&t->text);
    if (t->operations != NULL)
        operation_notes_append(&t->text, m, t->operations);
    bool whole = t->text.n > 0;
    message_notes_append(&t->text, m, query_summary_request_is_open(&t->view->summary, m->seq));
    if (t->text.n == 0)
        return;
    timeline_add_spaces(t, gap);
    size_t room = timeline_count_free_columns(t),
           others = 2 + (t->content.n > 0 && !whole ? 1 + CONTENT_HEAD : 0);
    room = room > others + NOTES_MIN ? room - others : NOTES_DOTS;
    out_style(t->out, OUT_YELLOW);
    timeline_add_text(t, slice_of("["), 1, OUT_PLAIN);
    timeline_add_text(t, room == NOTES_DOTS ? slice_of("...") : buf_slice(&t->text), room,
                      OUT_PLAIN);
    timeline_add_text(t, slice_of("]"), 1, OUT_PLAIN);
    out_style(t->out, OUT_PLAIN);
}

/* Adds the notes, and as much of the content as fits. */
static void timeline_add_notes_and_text(struct timeline *t, const struct query_message *m,
                                        struct slice body, const char *error)
{
    size_t gap = is_stderr_or_noise(m) ? 0 : t->layout.gap;
    size_t before = t->taken;
    buf_clear(&t->content);
    if (error != NULL)
        buf_printf(&t->content, "(no body: %s)", error);
    else if (t->bodies == BODIES_SHORT && body.p != NULL)
        preview_add_message(&t->content, m, body,
                            timeline_has_unlimited_width(t) ? SIZE_MAX : PREVIEW_BYTES);
    timeline_add_notes(t, m, gap);
    gap = t->taken > before ? 1 : gap;
    if (t->content.n == 0 || timeline_count_free_columns(t) < gap + CONTENT_MIN)
        return;
    timeline_add_spaces(t, gap);
    timeline_add_text(t, buf_slice(&t->content), OUT_UNLIMITED, error != NULL ? OUT_RED : OUT_DIM);
}

static void timeline_print_body(struct timeline *t, struct slice body)
{
    struct json_scan scan;
    if (body.p == NULL)
        return;
    if (t->bodies == BODIES_PRETTY && json_scan(body, NULL, NULL, &scan) == 0) {
        pretty_print(t->out, scan.root, 4);
        return;
    }
    out_add_raw(t->out, "    ");
    out_add_text(t->out, body);
    out_end_line(t->out);
}

static void add_message_duration(struct timeline *t, const struct query_message *m)
{
    buf_clear(&t->text);
    if (query_message_ended_call(m))
        units_show_duration(&t->text, m->t_us - m->request_t_us);
}

/* Adds METHOD and TOOK without padding. */
static void timeline_add_unpadded_columns(struct timeline *t, const struct query_message *m)
{
    bool answered = query_message_ended_call(m);
    enum out_style style = session_message_is_answer(m) ? OUT_DIM : OUT_PLAIN;
    struct slice method = timeline_make_method_text(t, m, true);
    timeline_add_text(t, method,
                      layout_max_method_width(&t->layout, timeline_count_free_columns(t), answered),
                      style);
    add_message_duration(t, m);
    if (t->text.n > 0) {
        timeline_add_spaces(t, method.n > 0 ? 1 : 0);
        timeline_add_text(t, buf_slice(&t->text), OUT_UNLIMITED, OUT_PLAIN);
    }
}

static void timeline_add_padded_method(struct timeline *t, const struct query_message *m)
{
    const struct layout *l = &t->layout;
    struct slice method = timeline_make_method_text(t, m, l->level >= LAYOUT_SHORT_NAMES);
    size_t width = size_min(out_width(t->out, method),
                            layout_max_method_width(l, timeline_count_free_columns(t), true));
    timeline_add_cell(t, method, width > l->method ? width : l->method, false,
                      session_message_is_answer(m) ? OUT_DIM : OUT_PLAIN);
    if (l->id > 0) {
        timeline_add_spaces(t, l->gap);
        timeline_add_cell(t, m->rpc_id, l->id, true, OUT_PLAIN);
    }
    timeline_add_spaces(t, l->gap);
    add_message_duration(t, m);
    timeline_add_cell(t, buf_slice(&t->text), l->took, true, OUT_PLAIN);
    if (l->size > 0) {
        timeline_add_spaces(t, l->gap);
        buf_clear(&t->text);
        units_show_size(&t->text, m->size);
        timeline_add_cell(t, buf_slice(&t->text), l->size, true, OUT_DIM);
    }
}

int timeline_print_message(struct timeline *t, const struct query_message *m)
{
    struct out *o = t->out;
    const struct layout *l = &t->layout;
    bool to_server = m->direction == ROW_C2S;
    const char *error;
    struct slice body;
    enum out_style style;
    /* A preview on a terminal needs only the beginning of a large body. */
    bool head = t->bodies == BODIES_SHORT && !timeline_has_unlimited_width(t);
    int st = session_read_body(t->q, t->session->uid, m, head ? LARGE_HEAD : SIZE_MAX, &t->body,
                               &body, &error);
    if (st < 0)
        return st;
    if (t->bodies == TIMELINE_JSON) {
        record_json_append_message(&o->b, t->session, m, t->operations, body, error);
        out_end_line(o);
        return 0;
    }
    struct slice what = slice_of(message_outcome_word(m, &style));
    timeline_begin_line(t, m->seq, m->t_us, out_direction_arrow(o, to_server),
                        to_server ? OUT_CYAN : OUT_GREEN);
    timeline_add_cell(t, what, what.n > l->what ? what.n : l->what, false, style);
    timeline_add_spaces(t, 1);
    if (is_stderr_or_noise(m)) {
        timeline_add_notes_and_text(t, m, body, error);
        if (t->bodies != BODIES_SHORT) {
            out_add_raw(
                o, t->taken > layout_count_leading_columns(l, &t->widths) + l->what + 1 ? " " : "");
            out_add_text(o, body);
        }
        out_end_line(o);
        return 0;
    }
    if (l->level == LAYOUT_PACKED)
        timeline_add_unpadded_columns(t, m);
    else
        timeline_add_padded_method(t, m);
    timeline_add_notes_and_text(t, m, body, error);
    out_end_line(o);
    if (t->bodies != BODIES_SHORT)
        timeline_print_body(t, body);
    return 0;
}

/* ---- an event ---- */

void timeline_print_event(struct timeline *t, const struct query_event *e)
{
    struct out *o = t->out;
    if (t->bodies == TIMELINE_JSON) {
        record_json_append_event(&o->b, t->session, e);
        out_end_line(o);
        return;
    }
    timeline_begin_line(t, 0, e->t_us, o->utf8 ? "\xE2\x80\xA2" : "*", OUT_YELLOW);
    size_t width = out_width(o, e->kind); /* an event has no columns after its kind */
    width = width > t->layout.what ? width : t->layout.what;
    timeline_add_cell(t, e->kind, width, false, OUT_YELLOW);
    timeline_add_spaces(t, 1);
    buf_clear(&t->text);
    event_words_append_event(&t->text, e->kind, e->detail);
    timeline_add_text(t, buf_slice(&t->text), OUT_UNLIMITED, OUT_PLAIN);
    out_end_line(o);
    if (t->bodies != BODIES_SHORT)
        timeline_print_body(t, e->detail);
}
