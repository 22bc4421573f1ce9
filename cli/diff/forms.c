#include "cli/diff/forms.h"

#include "base/text.h"
#include "wire/json/text.h"

/* ---- JSON ---- */

static const char *const sides[DIFF_SIDES] = {"a", "b"};

static void diff_json_add_session_facts(struct json_out *j, const struct diff *d)
{
    struct diff_fact f;
    json_out_array(j, "session");
    for (size_t i = 0; diff_get_session_difference(d, i, &f); i++) {
        json_out_object(j, NULL);
        json_out_str(j, "name", f.name);
        for (int side = 0; side < DIFF_SIDES; side++)
            json_out_text(j, sides[side], f.value[side]);
        json_out_bool(j, "counts", f.counts);
        json_out_end(j);
    }
    json_out_end(j);
}

static void diff_json_add_call(struct json_out *j, const struct result *r, enum diff_side side)
{
    const struct diff_call *c = &r->call[side];
    if (!r->has[side]) {
        json_out_null(j, sides[side]);
        return;
    }
    json_out_object(j, sides[side]);
    json_out_uint(j, "seq", c->seq);
    json_out_str(j, "status", call_status_name(c->status));
    if (c->took_us >= 0)
        json_out_int(j, "took_us", c->took_us);
    else
        json_out_null(j, "took_us");
    json_out_end(j);
}

static void diff_json_add_difference(struct json_out *j, const struct result *r,
                                     const struct result_difference *d)
{
    json_out_object(j, NULL);
    json_out_str(j, "part", result_name_of_diff_part(d->part));
    json_out_text(j, "pointer", result_get_stored_text(r, d->pointer));
    if (d->entry.exists) {
        json_out_str(j, "kind", result_entry_kind(r, d));
        json_out_text(j, "entry", result_get_stored_text(r, d->entry));
        json_out_text(j, "below", result_get_stored_text(r, d->below));
    }
    for (int side = 0; side < DIFF_SIDES; side++)
        json_out_text(j, sides[side], result_get_stored_text(r, d->value[side]));
    json_out_uint(j, "from", d->at);
    json_out_uint(j, "a_bytes", d->size[DIFF_A]);
    json_out_uint(j, "b_bytes", d->size[DIFF_B]);
    json_out_end(j);
}

void diff_json_add_row(struct json_out *j, const struct result *r, size_t max_bytes)
{
    const struct diff_call *c = result_get_call_for_row_name(r);
    json_out_str(j, "type", "call");
    json_out_str(j, "change", result_name_of_change(r->change));
    json_out_text(j, "method", c->method);
    json_out_text(j, "target", c->target.n > 0 ? c->target : (struct slice){0});
    diff_json_add_call(j, r, DIFF_A);
    diff_json_add_call(j, r, DIFF_B);
    json_out_bool(j, "moved", r->look.moved);
    json_out_bool(j, "status_differs", r->look.status);
    json_out_bool(j, "slower", r->look.slower);
    json_out_bool(j, "answers_compared", !r->look.unread);
    json_out_uint(j, "differences_n", r->look.differences);
    json_out_array(j, "differences");
    size_t from = j->b->n;
    for (size_t i = 0; i < r->listed && j->b->n - from < max_bytes; i++)
        diff_json_add_difference(j, r, &r->difference[i]);
    json_out_end(j);
}

void diff_json_add_both_recordings(struct json_out *j, const struct diff *d,
                                   const struct diff_name name[DIFF_SIDES])
{
    for (int side = 0; side < DIFF_SIDES; side++) {
        json_out_object(j, sides[side]);
        json_out_text(j, "recording", name[side].text);
        if (name[side].session_id != 0)
            json_out_int(j, "session_id", name[side].session_id);
        json_out_uint(j, "calls", diff_count_calls(d, (enum diff_side)side));
        json_out_end(j);
    }
    diff_json_add_session_facts(j, d);
}

void diff_json_add_counts(struct json_out *j, const struct result_counts *c)
{
    static const char *const tools[] = {"tools_new", "tools_changed", "tools_gone"};
    for (int i = 0; i < RESULT_CHANGES; i++)
        json_out_uint(j, result_name_of_change((enum result_change)i), c->rows[i]);
    json_out_uint(j, "not_compared", c->unread);
    for (size_t i = 0; i < MI_COUNT(tools); i++)
        json_out_uint(j, tools[i], c->tools[i]);
    json_out_bool(j, "differs", result_has_differences(c));
}

/* ---- details ---- */

static const char *const marks[DIFF_SIDES] = {"- ", "+ "};

static void diff_forms_add_value(struct buf *b, const struct out *o, const struct result *r,
                                 const struct result_difference *d, enum diff_side side)
{
    const char *dots = o->utf8 ? "\xE2\x80\xA6" : "...";
    if (!d->value[side].exists)
        return;
    buf_adds(b, marks[side]);
    buf_adds(b, d->at > 0 ? dots : "");
    text_append_visible(b, result_get_stored_text(r, d->value[side]));
    buf_adds(b, d->cut[side] ? dots : "");
    buf_addc(b, '\n');
}

/* Appends where the difference is, such as "changed tool echo /description" or "result
 * /content/0/text". */
static void diff_forms_add_location(struct buf *b, const struct result *r,
                                    const struct result_difference *d)
{
    if (d->entry.exists) {
        struct slice name = result_get_stored_text(r, d->entry);
        bool is_string = name.n > 1 && name.p[0] == '"' && name.p[name.n - 1] == '"';
        struct buf plain = {0};
        if (is_string)
            json_unescape(&plain, (struct slice){name.p + 1, name.n - 2});
        buf_adds(b, !d->is_entry ? "changed " : d->value[DIFF_A].exists ? "gone " : "new ");
        buf_adds(b, result_entry_kind(r, d));
        buf_addc(b, ' ');
        text_append_visible(b, is_string ? buf_slice(&plain) : name);
        buf_adds(b, d->is_entry ? "" : " ");
        text_append_visible(b, result_get_stored_text(r, d->below));
        b->failed |= plain.failed;
        buf_close(&plain);
    } else {
        struct slice pointer = result_get_stored_text(r, d->pointer);
        buf_adds(b, result_name_of_diff_part(d->part));
        buf_adds(b, pointer.n > 0 ? " " : "");
        text_append_visible(b, pointer);
    }
    if (d->at > 0)
        buf_printf(b, ", from byte %zu on", d->at);
    buf_addc(b, '\n');
}

static void diff_forms_add_details(const struct out *o, const struct result *r, struct buf *b)
{
    if (r->change == RESULT_CHANGED && r->look.moved)
        buf_adds(b, "moved\n");
    if (r->look.status)
        buf_printf(b, "status %s %s %s\n", call_status_name(r->call[DIFF_A].status),
                   out_direction_arrow(o, true), call_status_name(r->call[DIFF_B].status));
    if (r->look.slower)
        buf_adds(b, "slower\n");
    if (r->look.unread)
        buf_adds(b, "the answers were not compared: one of them was not recorded\n");
    for (size_t i = 0; i < r->listed; i++) {
        diff_forms_add_location(b, r, &r->difference[i]);
        diff_forms_add_value(b, o, r, &r->difference[i], DIFF_A);
        diff_forms_add_value(b, o, r, &r->difference[i], DIFF_B);
    }
    if (r->look.differences > r->listed)
        buf_printf(b, "and %llu more\n", (unsigned long long)(r->look.differences - r->listed));
}

/* ---- cases ---- */

static const struct report_rule rules[RESULT_CHANGES] = {
    [RESULT_CHANGED] = {"changed", "The call has other arguments or another outcome.",
                        "The message names each value that differs. `--ignore POINTER` leaves out "
                        "a value that differs each time.",
                        REPORT_ERROR},
    [RESULT_MOVED] = {"moved", "The call was made at another point.",
                      "The client made the same calls in another order. That is normal for calls "
                      "that do not wait for each other.",
                      REPORT_WARNING},
    [RESULT_MISSING] = {"missing", "The call is only in the first recording.",
                        "The client did not make this call in the second recording, or made it "
                        "with other arguments; then the report also has an added call.",
                        REPORT_ERROR},
    [RESULT_ADDED] = {"added", "The call is only in the second recording.",
                      "The client made a call that is not in the first recording. If only its "
                      "arguments differ, the report also has a missing call.",
                      REPORT_WARNING},
};

void diff_add_session_difference(struct report *report, const struct diff *d,
                                 const struct report_place place[DIFF_SIDES])
{
    struct report_case *c = report_begin_case(report);
    struct diff_fact f;
    c->rule = (struct report_rule){"session", "The sessions differ in more than their calls.",
                                   "The message names what differs. Another client, server or "
                                   "revision of the protocol can explain why the calls differ.",
                                   REPORT_ERROR};
    c->place = place[DIFF_B];
    buf_adds(&c->name, "session");
    for (size_t i = 0; diff_get_session_difference(d, i, &f); i++) {
        if (!f.counts)
            continue;
        c->outcome = REPORT_FAILED;
        buf_adds(&c->message, c->message.n > 0 ? ", " : "");
        buf_adds(&c->message, f.name);
        buf_printf(&c->detail, "%s:\n", f.name);
        for (int side = 0; side < DIFF_SIDES; side++) {
            buf_adds(&c->detail, marks[side]);
            text_append_visible(&c->detail,
                                f.value[side].p != NULL ? f.value[side] : slice_of("unknown"));
            buf_addc(&c->detail, '\n');
        }
    }
    report_add_case(report);
}

/* Appends the name of the row, such as "#12/- tools/call read". */
static void diff_forms_add_name(struct buf *b, const struct result *r)
{
    static const char *const ends[DIFF_SIDES] = {"/", " "};
    const struct diff_call *c = result_get_call_for_row_name(r);
    for (int side = 0; side < DIFF_SIDES; side++) {
        if (r->has[side])
            buf_printf(b, "#%llu", (unsigned long long)r->call[side].seq);
        else
            buf_addc(b, '-');
        buf_adds(b, ends[side]);
    }
    buf_slice_add(b, c->method);
    if (c->target.n > 0) {
        buf_addc(b, ' ');
        buf_slice_add(b, c->target);
    }
}

static void diff_forms_add_message(struct buf *b, const struct result *r)
{
    buf_adds(b, result_name_of_change(r->change));
    if (r->look.status)
        buf_printf(b, "; status %s -> %s", call_status_name(r->call[DIFF_A].status),
                   call_status_name(r->call[DIFF_B].status));
    if (r->look.slower)
        buf_adds(b, "; slower");
    if (r->look.differences > 0)
        buf_printf(b, "; %llu difference%s", (unsigned long long)r->look.differences,
                   r->look.differences == 1 ? "" : "s");
}

struct report_case *diff_add_row_to_report(struct report *report, const struct out *o,
                                           const struct result *r,
                                           const struct report_place place[DIFF_SIDES])
{
    enum diff_side side = r->has[DIFF_B] ? DIFF_B : DIFF_A;
    struct report_case *c = report_begin_case(report);
    c->outcome = r->change == RESULT_SAME ? REPORT_PASSED : REPORT_FAILED;
    c->rule = rules[r->change];
    c->place = place[side];
    c->place.seq = (int64_t)r->call[side].seq;
    c->took_us = r->call[side].took_us > 0 ? r->call[side].took_us : 0;
    diff_forms_add_name(&c->name, r);
    diff_forms_add_message(&c->message, r);
    diff_forms_add_details(o, r, &c->detail);
    return c;
}
