#include "cli/diff/diff_text.h"

#include "base/units.h"
#include "cli/frame/reporting.h"
#include "wire/json/text.h"

#define SEQ_COLUMNS 6
/* if the column of names is narrower than this, names omit `tools/call` */
#define NAME_COLUMNS 32
/* if the column of names would be narrower than this, the column of durations is omitted */
#define NAME_MIN 20

static const enum out_style side_styles[DIFF_SIDES] = {OUT_RED, OUT_GREEN};

/* Returns how many columns of the line are left after `used` columns. */
static size_t diff_text_count_columns_left(const struct out *o, size_t used)
{
    return o->columns == OUT_UNLIMITED ? OUT_UNLIMITED : o->columns > used ? o->columns - used : 0;
}

/* ---- the sessions ---- */

static void diff_text_add_value(struct buf *b, struct slice value)
{
    buf_slice_add(b, value.p != NULL ? value : slice_of("unknown"));
}

static void print_session_differences(struct out *o, const struct diff *d)
{
    struct diff_fact f;
    for (size_t i = 0; diff_get_session_difference(d, i, &f); i++) {
        struct buf text = {0}, name = {0};
        for (const char *c = f.name; *c != '\0'; c++)
            buf_addc(&name, *c == '_' ? ' ' : *c);
        out_style(o, f.counts ? OUT_YELLOW : OUT_PLAIN);
        out_printf(o, "    %-18s", buf_str(&name));
        out_style(o, OUT_PLAIN);
        diff_text_add_value(&text, f.value[DIFF_A]);
        buf_printf(&text, " %s ", out_direction_arrow(o, true));
        diff_text_add_value(&text, f.value[DIFF_B]);
        (void)out_add_fitting_text(o, OUT_PLAIN, buf_slice(&text),
                                   diff_text_count_columns_left(o, 22));
        o->b.failed |= text.failed;
        buf_close(&text);
        out_end_line(o);
        buf_close(&name);
    }
}

void diff_text_begin(struct out *o, const struct diff *d, const struct slice title[DIFF_SIDES])
{
    static const char *const marks[DIFF_SIDES] = {"--- ", "+++ "};
    for (int i = 0; i < DIFF_SIDES; i++) {
        out_style(o, side_styles[i]);
        out_add_raw(o, marks[i]);
        (void)out_add_fitting_text(o, OUT_PLAIN, title[i], diff_text_count_columns_left(o, 4));
        out_style(o, OUT_PLAIN);
        out_end_line(o);
    }
    print_session_differences(o, d);
}

/* ---- a row ---- */

static void print_call_seq(struct out *o, const struct result *r, enum diff_side side)
{
    if (r->has[side])
        out_printf(o, "%*llu ", SEQ_COLUMNS, (unsigned long long)r->call[side].seq);
    else
        out_printf(o, "%*s ", SEQ_COLUMNS, "-");
}

/* Appends the duration, such as "3.1ms", or both durations of a pair, such as "3.1ms -> 340ms". */
static void add_durations(const struct out *o, struct buf *b, const struct result *r)
{
    for (int i = 0; i < DIFF_SIDES; i++) {
        if (!r->has[i])
            continue;
        if (b->n > 0)
            buf_printf(b, " %s ", out_direction_arrow(o, true));
        if (r->call[i].took_us < 0)
            buf_addc(b, '-');
        else
            units_show_duration(b, r->call[i].took_us);
    }
}

/* Appends the method and the target. If only one recording has the call, also appends the arguments
 * of the call. */
static void diff_text_add_name(struct buf *b, const struct result *r, bool narrow)
{
    const struct diff_call *c = result_get_call_for_row_name(r);
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
    struct slice head = excerpt_cut_around_difference(arguments.text, (struct slice){0}).text[0];
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
    size_t width = diff_text_count_columns_left(o, taken + 2 + out_width(o, buf_slice(&took)));
    if (width < NAME_MIN) {
        buf_clear(&took);
        width = diff_text_count_columns_left(o, taken + 2);
    }
    diff_text_add_name(&name, r, width < NAME_COLUMNS);
    out_style(o, styles[r->change]);
    out_printf(o, "%-8s", result_name_of_change(r->change));
    out_style(o, OUT_PLAIN);
    print_call_seq(o, r, DIFF_A);
    print_call_seq(o, r, DIFF_B);
    size_t printed = out_add_fitting_text(o, OUT_PLAIN, buf_slice(&name), width);
    if (o->is_terminal && printed < width)
        out_printf(o, "%*s", (int)(width - printed), "");
    out_add_raw(o, "  ");
    out_print_styled_words(o, r->look.slower ? OUT_YELLOW : OUT_DIM, buf_str(&took));
    out_end_line(o);
    o->b.failed |= name.failed || took.failed;
    buf_close(&name);
    buf_close(&took);
}

void diff_text_print_row(struct out *o, const struct result *r, struct slice details)
{
    print_heading(o, r);
    reporting_print_details(o, details, 4);
}

/* ---- the end ---- */

static void print_nonzero_count(struct out *o, size_t from, uint64_t n, const char *what)
{
    bool first = o->b.n > from && o->b.p[o->b.n - 1] == ':';
    if (n > 0)
        out_printf(o, "%s %llu %s", first ? "" : ",", (unsigned long long)n, what);
}

void diff_text_end(struct out *o, const struct diff *d, const struct result_counts *c)
{
    static const char *const tools[] = {"new", "changed", "gone"};
    size_t from = o->b.n;
    out_printf(o, "%lu and %lu calls:", (unsigned long)diff_count_calls(d, DIFF_A),
               (unsigned long)diff_count_calls(d, DIFF_B));
    out_printf(o, " %llu same", (unsigned long long)c->rows[RESULT_SAME]);
    for (int i = RESULT_SAME + 1; i < RESULT_CHANGES; i++)
        print_nonzero_count(o, from, c->rows[i], result_name_of_change((enum result_change)i));
    if (c->unread > 0)
        print_nonzero_count(o, from, c->unread, "with answers that were not compared");
    out_fill_line(o, from, 0);
    if (c->tools[0] + c->tools[1] + c->tools[2] == 0)
        return;
    from = o->b.n;
    out_add_raw(o, "tools:");
    for (int i = 0; i < 3; i++)
        print_nonzero_count(o, from, c->tools[i], tools[i]);
    out_fill_line(o, from, 0);
}
