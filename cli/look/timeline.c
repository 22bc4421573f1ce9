#include "cli/look/timeline.h"

#include "base/clock.h"
#include "base/units.h"
#include "cli/frame/pretty.h"
#include "cli/look/message_notes.h"
#include "cli/look/preview.h"
#include "wire/json/text.h"

#define WHAT_COLUMNS 11 /* server-gone, the longest */
#define TOOK_COLUMNS 7
#define SIZE_COLUMNS 7
#define NARROW 100                            /* fewer columns: some are hidden */
#define MANY_TIME(narrow) ((narrow) ? 8 : 12) /* 23:59:59.999 */
#define MANY_ID 4
#define MANY_SERVER 12
#define MANY_COLUMNS(narrow) (MANY_TIME(narrow) + 2 + MANY_ID + 1 + MANY_SERVER)
#define METHOD_MIN 12
#define METHOD_MAX(columns) ((columns) < 112 ? 28 : (columns) / 4)
#define ID_MIN 2
#define ID_MAX 8
#define DETAIL_MIN 12 /* a narrower column is useless */
#define PREVIEW_BYTES 2048
#define LARGE_HEAD 4096 /* bytes of a large body that are read for its preview */

static bool is_narrow(const struct timeline *t)
{
    return t->of_many && t->out->columns < NARROW;
}

void timeline_open(struct timeline *t, struct out *o, struct query *q,
                   const struct query_session *s, const struct session_view *v,
                   enum timeline_bodies bodies)
{
    *t = (struct timeline){.out = o, .q = q, .session = s, .view = v, .bodies = bodies};
    t->method_width = METHOD_MIN;
    t->id_width = ID_MIN;
    t->seq_width = 3;
    for (int64_t n = v->summary.last_seq; n >= 1000; n /= 10)
        t->seq_width++;
    t->time_width =
        v->summary.last_t_us < 1000 * (int64_t)1000000 ? 7 : 12; /* 999.999, 12:34:56.789 */
}

void timeline_close(struct timeline *t)
{
    buf_close(&t->text);
    buf_close(&t->body);
}

/* ---- a line ---- */

/* Lines that are not messages: they have text in place of the columns from METHOD on. */
static bool is_text(const struct query_message *m)
{
    return m->kind == KIND_STDERR || m->kind == KIND_NOISE;
}

static void method_text(struct timeline *t, const struct query_message *m)
{
    struct slice method = session_method(m), target = session_target(m);
    buf_clear(&t->text);
    if (method.p != NULL)
        buf_slice_add(&t->text, method);
    if (target.p != NULL) {
        buf_addc(&t->text, ' ');
        buf_slice_add(&t->text, target);
    }
}

static size_t between(size_t least, size_t n, size_t most)
{
    return n < least ? least : n > most ? most : n;
}

/* Columns after METHOD, with the gaps before them. */
static size_t columns_after_method(const struct timeline *t)
{
    size_t n = 2 + TOOK_COLUMNS;
    if (!is_narrow(t))
        n += 2 + t->id_width + 2 + SIZE_COLUMNS;
    return n;
}

/* METHOD shrinks so that all columns fit. */
static void fit_columns(struct timeline *t)
{
    size_t lead = t->of_many ? MANY_COLUMNS(is_narrow(t)) : t->seq_width + 2 + t->time_width;
    size_t others = lead + (t->out->utf8 ? 5 : 6) + WHAT_COLUMNS + 1 + columns_after_method(t);
    size_t left = t->out->columns > others ? t->out->columns - others : 0;
    t->method_width = between(METHOD_MIN, size_min(t->method_width, left), t->method_width);
}

void timeline_measure(struct timeline *t, const struct query_message *m)
{
    if (is_text(m))
        return;
    method_text(t, m);
    size_t most = METHOD_MAX(t->out->columns);
    t->method_width = between(t->method_width, out_width(t->out, buf_slice(&t->text)), most);
    if (m->rpc_id.p != NULL)
        t->id_width = between(t->id_width, out_width(t->out, m->rpc_id), ID_MAX);
    fit_columns(t);
}

static void time_text(struct timeline *t, int64_t t_us)
{
    long long ms = t_us / 1000;
    buf_clear(&t->text);
    if (t->time_width <= 7)
        buf_printf(&t->text, "%lld.%03lld", ms / 1000, ms % 1000);
    else
        buf_printf(&t->text, "%lld:%02lld:%02lld.%03lld", ms / 3600000, ms / 60000 % 60,
                   ms / 1000 % 60, ms % 1000);
}

static void add_cell(struct timeline *t, size_t width, bool right, enum out_style style)
{
    if (style != OUT_PLAIN)
        out_style(t->out, style);
    out_cell(t->out, buf_slice(&t->text), width, right);
    if (style != OUT_PLAIN)
        out_style(t->out, OUT_PLAIN);
}

static void set_cell(struct timeline *t, struct slice text)
{
    buf_clear(&t->text);
    if (text.p != NULL)
        buf_slice_add(&t->text, text);
}

void timeline_columns(struct timeline *t)
{
    struct out *o = t->out;
    fit_columns(t);
    out_style(o, OUT_BOLD);
    if (t->of_many) {
        out_cell(o, slice_of("TIME"), MANY_TIME(is_narrow(t)), false);
        out_raw(o, "  ");
        out_cell(o, slice_of("ID"), MANY_ID, true);
        out_raw(o, " ");
        out_cell(o, slice_of("SERVER"), MANY_SERVER, false);
    } else {
        out_cell(o, slice_of("SEQ"), t->seq_width, true);
        out_raw(o, "  ");
        out_cell(o, slice_of("TIME"), t->time_width, true);
    }
    out_raw(o, o->utf8 ? "     " : "      ");
    out_cell(o, slice_of("WHAT"), WHAT_COLUMNS, false);
    out_raw(o, " ");
    out_cell(o, slice_of("METHOD"), t->method_width, false);
    if (!is_narrow(t)) {
        out_raw(o, "  ");
        out_cell(o, slice_of("ID"), t->id_width, true);
    }
    out_raw(o, "  ");
    out_cell(o, slice_of("TOOK"), TOOK_COLUMNS, true);
    if (!is_narrow(t)) {
        out_raw(o, "  ");
        out_cell(o, slice_of("SIZE"), SIZE_COLUMNS, true);
    }
    out_style(o, OUT_PLAIN);
    out_end_line(o);
}

/* The time of day, the session's id and its server. Returns the width. */
static size_t begin_with_session(struct timeline *t, int64_t t_us)
{
    char day[CLOCK_TEXT_MAX];
    int64_t at_us = t->session->started_at_us + t_us;
    clock_local_text(at_us, day);
    buf_clear(&t->text);
    buf_adds(&t->text, day + size_min(strlen(day), 11));
    if (!is_narrow(t))
        buf_printf(&t->text, ".%03d", (int)(at_us / 1000 % 1000));
    add_cell(t, MANY_TIME(is_narrow(t)), false, OUT_DIM);
    out_raw(t->out, "  ");
    buf_clear(&t->text);
    buf_int(&t->text, t->session->id);
    add_cell(t, MANY_ID, true, OUT_DIM);
    out_raw(t->out, " ");
    out_style(t->out, OUT_CYAN);
    out_cell(t->out, t->session->name, MANY_SERVER, false);
    out_style(t->out, OUT_PLAIN);
    return MANY_COLUMNS(is_narrow(t));
}

/* The columns up to and including the arrow. Returns their width. */
static size_t begin_line(struct timeline *t, int64_t seq, int64_t t_us, const char *arrow,
                         enum out_style arrow_style)
{
    struct out *o = t->out;
    size_t taken = t->seq_width + 2 + t->time_width;
    if (t->of_many) {
        taken = begin_with_session(t, t_us);
    } else {
        buf_clear(&t->text);
        if (seq > 0)
            buf_int(&t->text, seq);
        add_cell(t, t->seq_width, true, OUT_DIM);
        out_raw(o, "  ");
        time_text(t, t_us);
        add_cell(t, t->time_width, true, OUT_DIM);
    }
    out_raw(o, "  ");
    out_style(o, arrow_style);
    out_raw(o, arrow);
    out_style(o, OUT_PLAIN);
    out_raw(o, "  ");
    return taken + 4 + (o->utf8 ? 1 : 2);
}

/* The notes, and as much of the content as fits. */
static void add_detail(struct timeline *t, const struct query_message *m, struct slice body,
                       size_t columns)
{
    struct out *o = t->out;
    const char *gap = is_text(m) ? "" : "  ";
    buf_clear(&t->text);
    message_notes(&t->text, m, query_summary_waits(&t->view->summary, m->seq));
    if (t->text.n > 0) {
        out_raw(o, gap);
        gap = " ";
        out_style(o, OUT_YELLOW);
        out_raw(o, "[");
        out_text(o, buf_slice(&t->text)); /* in full, even if the line gets too long */
        out_raw(o, "]");
        out_style(o, OUT_PLAIN);
        size_t taken = out_width(o, buf_slice(&t->text)) + 3;
        columns = taken < columns ? columns - taken : 0;
    }
    if (t->bodies != BODIES_SHORT || columns < DETAIL_MIN)
        return;
    buf_clear(&t->text);
    preview_add(&t->text, m, body, PREVIEW_BYTES);
    if (t->text.n == 0)
        return;
    out_raw(o, gap);
    out_style(o, OUT_DIM);
    out_fit(o, buf_slice(&t->text), columns);
    out_style(o, OUT_PLAIN);
}

/* The body; the head of a large one when only its preview is shown. */
static struct slice body_of(struct timeline *t, const struct query_message *m,
                            const char **ret_error)
{
    size_t max = t->bodies == BODIES_SHORT ? LARGE_HEAD : SIZE_MAX;
    return session_body(t->q, t->session->uid, m, max, &t->body, ret_error);
}

static void print_body(struct timeline *t, struct slice body)
{
    struct json_scan scan;
    if (body.p == NULL)
        return;
    if (t->bodies == BODIES_PRETTY && json_scan(body, NULL, NULL, &scan) == 0) {
        pretty_print(t->out, scan.root, 4);
        return;
    }
    out_raw(t->out, "    ");
    out_text(t->out, body);
    out_end_line(t->out);
}

static void print_text_line(struct timeline *t, const struct query_message *m, struct slice body,
                            size_t columns)
{
    if (t->bodies == BODIES_SHORT) {
        add_detail(t, m, body, columns);
        return;
    }
    add_detail(t, m, (struct slice){0}, 0);
    if (t->text.n > 0)
        out_raw(t->out, " ");
    out_text(t->out, body);
}

static size_t print_columns(struct timeline *t, const struct query_message *m)
{
    struct out *o = t->out;
    bool answered = session_is_answer(m) && m->has_request;
    method_text(t, m);
    add_cell(t, t->method_width, false, session_is_answer(m) ? OUT_DIM : OUT_PLAIN);
    if (!is_narrow(t)) {
        out_raw(o, "  ");
        set_cell(t, m->rpc_id);
        add_cell(t, t->id_width, true, OUT_PLAIN);
    }
    out_raw(o, "  ");
    buf_clear(&t->text);
    if (answered)
        units_show_duration(&t->text, m->t_us - m->request_t_us);
    add_cell(t, TOOK_COLUMNS, true, OUT_PLAIN);
    if (!is_narrow(t)) {
        out_raw(o, "  ");
        buf_clear(&t->text);
        units_show_size(&t->text, m->size);
        add_cell(t, SIZE_COLUMNS, true, OUT_DIM);
    }
    return t->method_width + columns_after_method(t) + 2; /* the gap before the content */
}

void timeline_message(struct timeline *t, const struct query_message *m)
{
    struct out *o = t->out;
    bool to_server = m->direction == ROW_C2S;
    const char *error;
    struct slice body = body_of(t, m, &error);
    size_t taken =
        begin_line(t, m->seq, m->t_us, out_arrow(o, to_server), to_server ? OUT_CYAN : OUT_GREEN);
    enum out_style style;
    const char *what = message_word(m, &style);
    out_style(o, style);
    out_cell(o, slice_of(what), WHAT_COLUMNS, false);
    out_style(o, OUT_PLAIN);
    out_raw(o, " ");
    taken += WHAT_COLUMNS + 1;
    if (!is_text(m))
        taken += print_columns(t, m);
    size_t columns = o->columns > taken ? o->columns - taken : 0;
    if (is_text(m))
        print_text_line(t, m, body, columns);
    else
        add_detail(t, m, body, columns);
    if (error != NULL) {
        out_style(o, OUT_RED);
        out_raw(o, "  (no body: ");
        out_text(o, slice_of(error));
        out_raw(o, ")");
        out_style(o, OUT_PLAIN);
    }
    out_end_line(o);
    if (t->bodies != BODIES_SHORT && !is_text(m))
        print_body(t, body);
}

/* `key=value` for each member; a long object is truncated on a terminal. */
static void print_fields(struct timeline *t, struct json_value fields, size_t taken)
{
    struct out *o = t->out;
    struct json_walk w = json_walk_begin(fields);
    struct slice key;
    struct json_value v;
    for (bool first = true; json_walk_next(&w, &key, &v); first = false) {
        out_raw(o, first ? "" : " ");
        out_text(o, key);
        out_raw(o, "=");
        struct slice value = v.type == JSON_STRING ? json_string_raw(v) : v.text;
        taken += out_width(o, key) + 2;
        if (o->is_terminal && t->bodies == BODIES_SHORT && v.type == JSON_OBJECT)
            out_fit(o, value, o->columns > taken ? o->columns - taken : 1);
        else
            out_text(o, value);
        taken += out_width(o, value);
    }
}

void timeline_event(struct timeline *t, const struct query_event *e)
{
    struct out *o = t->out;
    struct json_scan scan;
    size_t taken = begin_line(t, 0, e->t_us, o->utf8 ? "\xE2\x80\xA2" : "* ", OUT_YELLOW);
    size_t width = out_width(o, e->kind); /* an event has no further columns */
    width = width > WHAT_COLUMNS ? width : WHAT_COLUMNS;
    out_style(o, OUT_YELLOW);
    out_cell(o, e->kind, width, false);
    out_style(o, OUT_PLAIN);
    out_raw(o, " ");
    if (e->detail.p != NULL && json_scan(e->detail, NULL, NULL, &scan) == 0 &&
        scan.type == JSON_OBJECT)
        print_fields(t, (struct json_value){scan.type, scan.root}, taken + width + 1);
    else
        out_text(o, e->detail);
    out_end_line(o);
}
