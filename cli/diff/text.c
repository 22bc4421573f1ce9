#include "cli/diff/text.h"

#include "base/units.h"
#include "wire/json/text.h"

#define SEQ_COLUMNS 6
#define NAME_COLUMNS 32 /* in a narrower column `tools/call` is left out */
#define NAME_MIN 20     /* durations are left out first */

static const enum out_style side_styles[DIFF_SIDES] = {OUT_RED, OUT_GREEN};
static const char *const side_marks[DIFF_SIDES] = {"- ", "+ "};

/* Columns that are left in the line, of which `used` are taken. */
static size_t left(const struct out *o, size_t used)
{
    return o->columns == OUT_UNLIMITED ? OUT_UNLIMITED : o->columns > used ? o->columns - used : 0;
}

static const char *dots(const struct out *o)
{
    return o->utf8 ? "\xE2\x80\xA6" : "...";
}

static void fit(struct out *o, struct buf *text, size_t used)
{
    (void)out_fit(o, buf_slice(text), left(o, used));
    o->b.failed |= text->failed;
    buf_close(text);
}

/* ---- the sessions ---- */

static void add_value(struct buf *b, struct slice value)
{
    buf_slice_add(b, value.p != NULL ? value : slice_of("unknown"));
}

static void print_facts(struct out *o, const struct diff *d)
{
    struct diff_fact f;
    for (size_t i = 0; diff_fact(d, i, &f); i++) {
        struct buf text = {0}, name = {0};
        for (const char *c = f.name; *c != '\0'; c++)
            buf_addc(&name, *c == '_' ? ' ' : *c);
        out_style(o, f.counts ? OUT_YELLOW : OUT_PLAIN);
        out_printf(o, "    %-18s", buf_str(&name));
        out_style(o, OUT_PLAIN);
        add_value(&text, f.value[DIFF_A]);
        buf_printf(&text, " %s ", out_arrow(o, true));
        add_value(&text, f.value[DIFF_B]);
        fit(o, &text, 22);
        out_end_line(o);
        buf_close(&name);
    }
}

void diff_text_begin(struct out *o, const struct diff *d, const struct slice title[DIFF_SIDES])
{
    static const char *const marks[DIFF_SIDES] = {"--- ", "+++ "};
    for (int i = 0; i < DIFF_SIDES; i++) {
        out_style(o, side_styles[i]);
        out_raw(o, marks[i]);
        (void)out_fit(o, title[i], left(o, 4));
        out_style(o, OUT_PLAIN);
        out_end_line(o);
    }
    print_facts(o, d);
}

/* ---- a row ---- */

static void print_seq(struct out *o, const struct result *r, enum diff_side side)
{
    if (r->has[side])
        out_printf(o, "%*llu ", SEQ_COLUMNS, (unsigned long long)r->call[side].seq);
    else
        out_printf(o, "%*s ", SEQ_COLUMNS, "-");
}

/* "3.1ms", or "3.1ms -> 340ms" of a pair. */
static void add_durations(const struct out *o, struct buf *b, const struct result *r)
{
    for (int i = 0; i < DIFF_SIDES; i++) {
        if (!r->has[i])
            continue;
        if (b->n > 0)
            buf_printf(b, " %s ", out_arrow(o, true));
        if (r->call[i].took_us < 0)
            buf_addc(b, '-');
        else
            units_show_duration(b, r->call[i].took_us);
    }
}

/* The method, the target and, of a call that only one side has, its arguments. */
static void add_name(struct buf *b, const struct result *r, bool narrow)
{
    const struct diff_call *c = result_call(r);
    if (c->target.n == 0 || !narrow || !slice_is(c->method, "tools/call")) {
        buf_slice_add(b, c->method);
        buf_adds(b, c->target.n > 0 ? " " : "");
    }
    buf_slice_add(b, c->target);
    if (r->params.p == NULL)
        return;
    struct json_value params = {json_type_at(r->params.p[0]), r->params};
    struct json_value arguments =
        params.type == JSON_OBJECT ? json_get(params, "arguments") : (struct json_value){0};
    if (arguments.type == JSON_NONE && c->target.n == 0)
        arguments = params;
    if (arguments.type == JSON_NONE || slice_is(arguments.text, "{}"))
        return;
    buf_addc(b, ' ');
    struct slice head = excerpt_of(arguments.text, (struct slice){0}).text[0];
    buf_slice_add(b, head);
    buf_adds(b, head.n < arguments.text.n ? "..." : "");
}

static void print_heading(struct out *o, const struct result *r)
{
    static const enum out_style styles[RESULT_CHANGES] = {OUT_DIM, OUT_YELLOW, OUT_CYAN, OUT_RED,
                                                          OUT_GREEN};
    struct buf name = {0}, took = {0};
    add_durations(o, &took, r);
    size_t taken = 8 + 2 * (SEQ_COLUMNS + 1);
    size_t width = left(o, taken + 2 + out_width(o, buf_slice(&took)));
    if (width < NAME_MIN) {
        buf_clear(&took);
        width = left(o, taken + 2);
    }
    add_name(&name, r, width < NAME_COLUMNS);
    out_style(o, styles[r->change]);
    out_printf(o, "%-8s", result_change_name(r->change));
    out_style(o, OUT_PLAIN);
    print_seq(o, r, DIFF_A);
    print_seq(o, r, DIFF_B);
    size_t printed = out_fit(o, buf_slice(&name), width);
    if (o->is_terminal && printed < width)
        out_printf(o, "%*s", (int)(width - printed), "");
    out_raw(o, "  ");
    out_style(o, r->look.slower ? OUT_YELLOW : OUT_DIM);
    out_raw(o, buf_str(&took));
    out_style(o, OUT_PLAIN);
    out_end_line(o);
    o->b.failed |= name.failed || took.failed;
    buf_close(&name);
    buf_close(&took);
}

static void print_properties(struct out *o, const struct result *r)
{
    const char *arrow = out_arrow(o, true);
    if (r->change == RESULT_CHANGED && r->look.moved)
        out_raw(o, "    moved\n");
    if (r->look.status) {
        out_raw(o, "    status ");
        for (int i = 0; i < DIFF_SIDES; i++) {
            out_words(o, call_status_failed(r->call[i].status) ? OUT_RED : OUT_PLAIN,
                      call_status_name(r->call[i].status));
            if (i == DIFF_A)
                out_printf(o, " %s ", arrow);
        }
        out_end_line(o);
    }
    if (r->look.slower) {
        out_words(o, OUT_YELLOW, "    slower");
        out_end_line(o);
    }
    if (r->look.unread)
        out_raw(o, "    the answers were not compared: one was not recorded\n");
}

/* The description of a tool is shown as far as it was kept, other values on one line. */
static void print_value(struct out *o, const struct result *r, const struct result_difference *d,
                        enum diff_side side)
{
    if (!d->value[side].exists)
        return;
    struct buf text = {0};
    bool whole = d->entry.exists && !d->is_entry;
    if (d->at > 0)
        buf_adds(&text, dots(o));
    buf_slice_add(&text, result_text(r, d->value[side]));
    if (d->cut[side])
        buf_adds(&text, dots(o));
    out_raw(o, "      ");
    out_style(o, side_styles[side]);
    out_raw(o, side_marks[side]);
    size_t from = o->b.n;
    if (whole) {
        out_text(o, buf_slice(&text));
        o->b.failed |= text.failed;
        buf_close(&text);
        out_fill_line(o, from, 8);
        out_style(o, OUT_PLAIN);
    } else {
        fit(o, &text, 8);
        out_style(o, OUT_PLAIN);
        out_end_line(o);
    }
}

/* "changed tool echo /description", or "result /content/0/text". */
static void add_place(struct buf *b, const struct result *r, const struct result_difference *d)
{
    if (d->entry.exists) {
        struct slice name = result_text(r, d->entry);
        bool is_string = name.n > 1 && name.p[0] == '"' && name.p[name.n - 1] == '"';
        buf_adds(b, !d->is_entry ? "changed " : d->value[DIFF_A].exists ? "gone " : "new ");
        buf_adds(b, result_entry_kind(r, d));
        buf_addc(b, ' ');
        if (is_string)
            json_unescape(b, (struct slice){name.p + 1, name.n - 2});
        else
            buf_slice_add(b, name);
        buf_adds(b, d->is_entry ? "" : " ");
        buf_slice_add(b, result_text(r, d->below));
    } else {
        buf_adds(b, result_part_name(d->part));
        struct slice pointer = result_text(r, d->pointer);
        buf_adds(b, pointer.n > 0 ? " " : "");
        buf_slice_add(b, pointer);
    }
    if (d->at > 0)
        buf_printf(b, ", from byte %zu on", d->at);
}

static void print_difference(struct out *o, const struct result *r,
                             const struct result_difference *d)
{
    struct buf place = {0};
    add_place(&place, r, d);
    out_raw(o, "    ");
    fit(o, &place, 4);
    out_end_line(o);
    print_value(o, r, d, DIFF_A);
    print_value(o, r, d, DIFF_B);
}

void diff_text_row(struct out *o, const struct result *r)
{
    print_heading(o, r);
    print_properties(o, r);
    for (size_t i = 0; i < r->listed; i++)
        print_difference(o, r, &r->difference[i]);
    if (r->look.differences > r->listed) {
        out_printf(o, "    and %llu more", (unsigned long long)(r->look.differences - r->listed));
        out_end_line(o);
    }
}

/* ---- the end ---- */

static void add_count(struct out *o, size_t from, uint64_t n, const char *what)
{
    bool first = o->b.n > from && o->b.p[o->b.n - 1] == ':';
    if (n > 0)
        out_printf(o, "%s %llu %s", first ? "" : ",", (unsigned long long)n, what);
}

void diff_text_end(struct out *o, const struct diff *d, const struct result_counts *c)
{
    static const char *const tools[] = {"new", "changed", "gone"};
    size_t from = o->b.n;
    out_printf(o, "%lu and %lu calls:", (unsigned long)diff_calls(d, DIFF_A),
               (unsigned long)diff_calls(d, DIFF_B));
    out_printf(o, " %llu same", (unsigned long long)c->rows[RESULT_SAME]);
    for (int i = RESULT_SAME + 1; i < RESULT_CHANGES; i++)
        add_count(o, from, c->rows[i], result_change_name((enum result_change)i));
    if (c->unread > 0)
        add_count(o, from, c->unread, "with answers that were not compared");
    out_fill_line(o, from, 0);
    if (c->tools[0] + c->tools[1] + c->tools[2] == 0)
        return;
    from = o->b.n;
    out_raw(o, "tools:");
    for (int i = 0; i < 3; i++)
        add_count(o, from, c->tools[i], tools[i]);
    out_fill_line(o, from, 0);
}
