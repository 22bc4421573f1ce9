#include "cli/timeline.h"

#include "base/clock.h"
#include "base/units.h"
#include "cli/pretty.h"
#include "cli/preview.h"
#include "wire/json_text.h"

#define WHAT_COLUMNS 11 /* server-gone, the longest */
#define TOOK_COLUMNS 7
#define SIZE_COLUMNS 7
#define MANY_TIME 12 /* 23:59:59.999 */
#define MANY_ID 4
#define MANY_SERVER 12
#define MANY_COLUMNS (MANY_TIME + 2 + MANY_ID + 1 + MANY_SERVER)
#define METHOD_MIN 12
#define METHOD_MAX(columns) ((columns) < 112 ? 28 : (columns) / 4)
#define ID_MIN 2
#define ID_MAX 8
#define DETAIL_MIN 12 /* less tells nothing */
#define PREVIEW_BYTES 2048
#define LARGE_HEAD 4096 /* bytes of a large body that are read for its preview */

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

static bool is(struct slice s, const char *word)
{
    return s.p != NULL && slice_is(s, word);
}

/* Lines that are no messages: their text stands where others have a method. */
static bool is_text(const struct query_message *m)
{
    return is(m->kind, "stderr") || is(m->kind, "noise");
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

void timeline_measure(struct timeline *t, const struct query_message *m)
{
    if (is_text(m))
        return;
    method_text(t, m);
    size_t most = METHOD_MAX(t->out->columns);
    t->method_width = between(t->method_width, out_width(t->out, buf_slice(&t->text)), most);
    if (m->rpc_id.p != NULL)
        t->id_width = between(t->id_width, out_width(t->out, m->rpc_id), ID_MAX);
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

/* On a narrow terminal METHOD gives way, so that all columns stay on the line. */
static void fit_columns(struct timeline *t)
{
    size_t lead = t->of_many ? MANY_COLUMNS : t->seq_width + 2 + t->time_width;
    size_t others = lead + (t->out->utf8 ? 5 : 6) + WHAT_COLUMNS + 1 + t->id_width + TOOK_COLUMNS +
                    SIZE_COLUMNS + 6;
    size_t left = t->out->columns > others ? t->out->columns - others : 0;
    t->method_width = between(METHOD_MIN, size_min(t->method_width, left), t->method_width);
}

void timeline_columns(struct timeline *t)
{
    struct out *o = t->out;
    fit_columns(t);
    out_style(o, OUT_BOLD);
    if (t->of_many) {
        out_cell(o, slice_of("TIME"), MANY_TIME, false);
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
    out_raw(o, "  ");
    out_cell(o, slice_of("ID"), t->id_width, true);
    out_raw(o, "  ");
    out_cell(o, slice_of("TOOK"), TOOK_COLUMNS, true);
    out_raw(o, "  ");
    out_cell(o, slice_of("SIZE"), SIZE_COLUMNS, true);
    out_style(o, OUT_PLAIN);
    out_end_line(o);
}

/* The time of day, the session's number and its server; returns the columns that were taken. */
static size_t begin_of_many(struct timeline *t, int64_t t_us)
{
    char day[CLOCK_TEXT_MAX];
    int64_t at_us = t->session->started_at_us + t_us;
    clock_local_text(at_us, day);
    buf_clear(&t->text);
    buf_printf(&t->text, "%s.%03d", day + size_min(strlen(day), 11), (int)(at_us / 1000 % 1000));
    add_cell(t, MANY_TIME, false, OUT_DIM);
    out_raw(t->out, "  ");
    buf_clear(&t->text);
    buf_int(&t->text, t->session->id);
    add_cell(t, MANY_ID, true, OUT_DIM);
    out_raw(t->out, " ");
    out_style(t->out, OUT_CYAN);
    out_cell(t->out, t->session->name, MANY_SERVER, false);
    out_style(t->out, OUT_PLAIN);
    return MANY_COLUMNS;
}

/* SEQ and TIME, or what stands there, and the arrow; returns the columns that were taken. */
static size_t begin_line(struct timeline *t, int64_t seq, int64_t t_us, const char *arrow,
                         enum out_style arrow_style)
{
    struct out *o = t->out;
    size_t taken = t->seq_width + 2 + t->time_width;
    if (t->of_many) {
        taken = begin_of_many(t, t_us);
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

static const char *what_of(const struct query_message *m, enum out_style *ret_style)
{
    *ret_style = OUT_PLAIN;
    if (session_is_answer(m)) {
        const char *status = session_answer_status(m);
        *ret_style = strcmp(status, "ok") == 0 ? OUT_GREEN : OUT_RED;
        return status;
    }
    if (is(m->kind, "notification")) {
        *ret_style = OUT_DIM;
        return "notify";
    }
    static const char *const same[] = {"request", "batch", "stderr", "noise"};
    for (size_t i = 0; i < MI_COUNT(same); i++) {
        if (is(m->kind, same[i])) {
            *ret_style = i < 2 ? OUT_BOLD : OUT_YELLOW;
            return same[i];
        }
    }
    return "?";
}

/* The findings, but for those that the column WHAT has told. */
static void add_findings(struct buf *b, const struct query_message *m)
{
    const char *told = session_is_answer(m) ? session_answer_status(m) : "";
    const char *gap = b->n > 0 ? ": " : "";
    for (struct slice rest = m->finding; rest.n > 0;) {
        const char *comma = memchr(rest.p, ',', rest.n);
        struct slice name = {rest.p, comma != NULL ? (size_t)(comma - rest.p) : rest.n};
        rest.p += size_min(rest.n, name.n + 1);
        rest.n -= size_min(rest.n, name.n + 1);
        if (slice_is(name, told))
            continue;
        buf_adds(b, gap);
        buf_slice_add(b, name);
        gap = ",";
    }
}

static void add_note(struct buf *b, const char *what, int64_t seq)
{
    buf_adds(b, b->n > 0 ? ", " : "");
    buf_adds(b, what);
    if (seq > 0)
        buf_int(b, seq);
}

/* An answer whose word under WHAT says that the server has not given it. */
static bool is_ours_alone(const struct query_message *m)
{
    const char *status = session_is_answer(m) ? session_answer_status(m) : "";
    return strcmp(status, "server-gone") == 0 || strcmp(status, "timeout") == 0;
}

/* What is remarkable: `refused: not-json`. */
static void add_notes(struct timeline *t, const struct query_message *m)
{
    struct buf *b = &t->text;
    buf_clear(b);
    if (is(m->action, "refused"))
        add_note(b, "refused", 0);
    else if (is(m->action, "swallowed") && !is(m->kind, "stderr"))
        add_note(b, "swallowed", 0);
    if (is(m->origin, "interposer") && !is_ours_alone(m))
        add_note(b, "by interposer", 0);
    if (query_summary_waits(&t->view->summary, m->seq))
        add_note(b, "no answer", 0);
    if (m->batch_seq > 0)
        add_note(b, "in batch ", m->batch_seq);
    if (m->request_seq > 0 && (!session_is_answer(m) || !m->has_request))
        add_note(b, "to ", m->request_seq);
    add_findings(b, m);
}

/* The content of a message in whatever room is left. */
static void add_detail(struct timeline *t, const struct query_message *m, struct slice body,
                       size_t room)
{
    struct out *o = t->out;
    const char *gap = is_text(m) ? "" : "  ";
    add_notes(t, m);
    if (t->text.n > 0) {
        out_raw(o, gap);
        gap = " ";
        out_style(o, OUT_YELLOW);
        out_raw(o, "[");
        out_text(o, buf_slice(&t->text)); /* whole, if it breaks the line or not */
        out_raw(o, "]");
        out_style(o, OUT_PLAIN);
        size_t taken = out_width(o, buf_slice(&t->text)) + 3;
        room = taken < room ? room - taken : 0;
    }
    if (t->bodies != BODIES_SHORT || room < DETAIL_MIN)
        return;
    buf_clear(&t->text);
    preview_add(&t->text, m, body, PREVIEW_BYTES);
    if (t->text.n == 0)
        return;
    out_raw(o, gap);
    out_style(o, OUT_DIM);
    out_fit(o, buf_slice(&t->text), room);
    out_style(o, OUT_PLAIN);
}

/* The body, or, where a line has to do, the head of a large one. */
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
                            size_t room)
{
    if (t->bodies == BODIES_SHORT) {
        add_detail(t, m, body, room);
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
    out_raw(o, "  ");
    set_cell(t, m->rpc_id);
    add_cell(t, t->id_width, true, OUT_PLAIN);
    out_raw(o, "  ");
    buf_clear(&t->text);
    if (answered)
        units_show_duration(&t->text, m->t_us - m->request_t_us);
    add_cell(t, TOOK_COLUMNS, true, OUT_PLAIN);
    out_raw(o, "  ");
    buf_clear(&t->text);
    units_show_size(&t->text, m->size);
    add_cell(t, SIZE_COLUMNS, true, OUT_DIM);
    return t->method_width + t->id_width + TOOK_COLUMNS + SIZE_COLUMNS + 8;
}

void timeline_message(struct timeline *t, const struct query_message *m)
{
    struct out *o = t->out;
    bool to_server = is(m->direction, "c2s");
    const char *error;
    struct slice body = body_of(t, m, &error);
    size_t taken =
        begin_line(t, m->seq, m->t_us, out_arrow(o, to_server), to_server ? OUT_CYAN : OUT_GREEN);
    enum out_style style;
    const char *what = what_of(m, &style);
    out_style(o, style);
    out_cell(o, slice_of(what), WHAT_COLUMNS, false);
    out_style(o, OUT_PLAIN);
    out_raw(o, " ");
    taken += WHAT_COLUMNS + 1;
    if (!is_text(m))
        taken += print_columns(t, m);
    size_t room = o->columns > taken ? o->columns - taken : 0;
    if (is_text(m))
        print_text_line(t, m, body, room);
    else
        add_detail(t, m, body, room);
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

void timeline_event(struct timeline *t, const struct query_event *e)
{
    struct out *o = t->out;
    struct json_scan scan;
    size_t taken = begin_line(t, 0, e->t_us, o->utf8 ? "\xE2\x80\xA2" : "* ", OUT_YELLOW);
    out_style(o, OUT_YELLOW);
    size_t width = out_width(o, e->kind); /* an event has no columns behind it */
    width = width > WHAT_COLUMNS ? width : WHAT_COLUMNS;
    out_cell(o, e->kind, width, false);
    out_style(o, OUT_PLAIN);
    out_raw(o, " ");
    if (e->detail.p == NULL || json_scan(e->detail, NULL, NULL, &scan) < 0 ||
        scan.type != JSON_OBJECT) {
        out_text(o, e->detail);
        out_end_line(o);
        return;
    }
    struct json_walk w = json_walk_begin((struct json_value){scan.type, scan.root});
    struct slice key;
    struct json_value v;
    taken += width + 1;
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
    out_end_line(o);
}
