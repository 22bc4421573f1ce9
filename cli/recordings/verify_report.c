#include "cli/recordings/verify_report.h"

#include "base/text.h"
#include "wire/json/text.h"

void verify_report_close(struct verify_report *v)
{
    buf_close(&v->json);
}

static uint64_t verify_report_count_requests(const struct verify_report *v)
{
    uint64_t n = 0;
    for (int i = 0; i < VERIFY_VERDICTS; i++)
        n += v->counts[i];
    return n;
}

bool verify_report_has_differences(const struct verify_report *v)
{
    return v->counts[VERIFY_CHANGED] + v->counts[VERIFY_SCHEMA] + v->counts[VERIFY_GONE] +
               v->counts[VERIFY_SILENT] >
           0;
}

/* Resolves the escapes in the text between the quotes of a JSON string. Returns {NULL, 0} for
 * {NULL, 0}. */
static struct slice unescape_json_string(struct buf *plain, struct slice raw)
{
    buf_clear(plain);
    if (raw.p == NULL)
        return raw;
    json_unescape(plain, raw);
    return buf_slice(plain);
}

static size_t count_listed_differences(const struct verify_result *one)
{
    return size_min(one->differences, VERIFY_DIFFERENCES_MAX);
}

/* ---- JSON ---- */

static void add_differences_as_json(struct json_out *j, const struct verify_result *one)
{
    json_out_uint(j, "differences_n", one->differences);
    json_out_array(j, "differences");
    for (size_t i = 0; i < count_listed_differences(one); i++) {
        const struct verify_difference *d = &one->difference[i];
        json_out_object(j, NULL);
        json_out_text(j, "pointer", d->pointer);
        json_out_text(j, "recorded", text_prefix(d->recorded, VERIFY_REPORT_VALUE_MAX));
        json_out_text(j, "live", text_prefix(d->live, VERIFY_REPORT_VALUE_MAX));
        json_out_end(j);
    }
    json_out_end(j);
}

static void verify_report_add_result_json(struct buf *b, const struct verify_result *one)
{
    struct buf plain = {0};
    struct json_out j = json_out_continue_list(b);
    json_out_add_whitespace(&j, "\n");
    json_out_object(&j, NULL);
    json_out_int(&j, "seq", one->seq);
    json_out_text(&j, "method", unescape_json_string(&plain, one->method));
    b->failed |= plain.failed;
    json_out_text(&j, "target", unescape_json_string(&plain, one->target));
    b->failed |= plain.failed;
    json_out_str(&j, "verdict", verify_verdict_name(one->verdict));
    if (one->reason != NULL)
        json_out_str(&j, "reason", one->reason);
    if (one->remedy != NULL)
        json_out_str(&j, "remedy", one->remedy);
    if (one->took_us > 0)
        json_out_int(&j, "took_us", one->took_us);
    if (one->differences > 0)
        add_differences_as_json(&j, one);
    json_out_end(&j);
    buf_close(&plain);
}

void verify_report_append_json(const struct verify_report *v, struct slice recording,
                               int64_t lasted_us, struct buf *b)
{
    static const char *const counts[VERIFY_VERDICTS] = {"match", "changed",   "schema_changed",
                                                        "gone",  "no_answer", "skipped"};
    struct json_out j = json_out_to(b);
    json_out_object(&j, NULL);
    json_out_str(&j, "format", "mcp-interposer-verify");
    json_out_int(&j, "version", 1);
    json_out_text(&j, "recording", recording);
    json_out_int(&j, "lasted_us", lasted_us);
    json_out_uint(&j, "requests", verify_report_count_requests(v));
    for (int i = 0; i < VERIFY_VERDICTS; i++)
        json_out_uint(&j, counts[i], v->counts[i]);
    json_out_array(&j, "results");
    json_out_add_written_members(&j, buf_slice(&v->json));
    if (v->json.n > 0)
        buf_addc(b, '\n');
    json_out_end(&j);
    json_out_end(&j);
    json_out_line(&j);
    b->failed |= v->json.failed;
}

/* ---- text and cases ---- */

static const struct report_rule rules[VERIFY_VERDICTS] = {
    [VERIFY_MATCH] = {NULL, NULL, NULL, REPORT_NOTE},
    [VERIFY_CHANGED] = {"changed", "The answer differs from the recorded one.",
                        "If the change is intended, record the session again. `--ignore POINTER` "
                        "leaves out a value that differs each time.",
                        REPORT_ERROR},
    [VERIFY_SCHEMA] = {"schema-changed", "A schema of a tool differs from the recorded one.",
                       "If the change is intended, record the session again. Clients that know the "
                       "old schema may send arguments that the server rejects now.",
                       REPORT_ERROR},
    [VERIFY_GONE] = {"gone", "The tool, prompt, resource or method does not exist any more.",
                     "If the removal is intended, record the session again. Clients that use what "
                     "was removed get an error.",
                     REPORT_ERROR},
    [VERIFY_SILENT] = {"no-answer", "The server did not answer.",
                       "The message says why. If the deadline passed, give the server more time "
                       "with `--timeout`. If the server exited, its stderr may say why.",
                       REPORT_ERROR},
    [VERIFY_SKIPPED] = {"skipped", "The request was not sent.",
                        "The message says why it was not sent, and what to do.", REPORT_NOTE},
};

static void append_value_prefix(struct buf *b, struct slice value)
{
    struct slice head = text_prefix(value, VERIFY_REPORT_VALUE_MAX);
    text_append_visible(b, value.p != NULL ? head : slice_of("missing"));
    buf_adds(b, head.n < value.n ? "..." : "");
}

/* Appends a line for each difference, such as "/content/0/text: recorded "a", live "b"". */
static void append_difference_lines(struct buf *b, const struct verify_result *one)
{
    for (size_t i = 0; i < count_listed_differences(one); i++) {
        const struct verify_difference *d = &one->difference[i];
        text_append_visible(b, d->pointer.n > 0 ? d->pointer : slice_of("(all)"));
        buf_adds(b, ": recorded ");
        append_value_prefix(b, d->recorded);
        buf_adds(b, ", live ");
        append_value_prefix(b, d->live);
        buf_addc(b, '\n');
    }
    if (one->differences > count_listed_differences(one))
        buf_printf(b, "and %zu more\n", one->differences - count_listed_differences(one));
}

/* Prints the verdict, "12 tools/call read: reason; remedy", and the differences. */
static void print_verdict_line(struct out *o, const struct verify_result *one,
                               const struct report_case *c)
{
    static const enum out_style styles[VERIFY_VERDICTS] = {OUT_GREEN, OUT_RED, OUT_RED,
                                                           OUT_RED,   OUT_RED, OUT_YELLOW};
    const struct reporting_cell verdict = {verify_verdict_name(one->verdict), 15,
                                           styles[one->verdict]};
    struct buf line = {0};
    /* the name of the case without its leading # */
    buf_slice_add(&line, (struct slice){c->name.p + 1, c->name.n - 1});
    buf_adds(&line, c->message.n > 0 ? ": " : "");
    buf_slice_add(&line, buf_slice(&c->message));
    reporting_print_line(o, &verdict, 1, buf_slice(&line));
    reporting_print_details(o, buf_slice(&c->detail), 4);
    o->b.failed |= line.failed || c->message.failed || c->detail.failed;
    buf_close(&line);
}

void verify_report_add_result(struct verify_report *v, const struct verify_result *one)
{
    struct report_case *c = report_begin_case(&v->reporting.report);
    v->counts[one->verdict]++;
    verify_report_add_result_json(&v->json, one);
    c->outcome = one->verdict == VERIFY_MATCH     ? REPORT_PASSED
                 : one->verdict == VERIFY_SKIPPED ? REPORT_SKIPPED
                                                  : REPORT_FAILED;
    c->rule = rules[one->verdict];
    c->place = v->place;
    c->place.seq = one->seq;
    c->took_us = one->took_us;
    buf_printf(&c->name, "#%lld ", (long long)one->seq);
    json_unescape(&c->name, one->method);
    if (one->target.p != NULL) {
        buf_addc(&c->name, ' ');
        json_unescape(&c->name, one->target);
    }
    if (one->reason != NULL)
        buf_adds(&c->message, one->reason);
    if (one->remedy != NULL)
        buf_printf(&c->message, "; %s", one->remedy);
    append_difference_lines(&c->detail, one);
    v->reporting.out.b.failed |= c->name.failed;
    if (v->reporting.text && !c->name.failed && (v->verbose || one->verdict != VERIFY_MATCH))
        print_verdict_line(&v->reporting.out, one, c);
    if (c->message.n == 0)
        buf_adds(&c->message, verify_verdict_name(one->verdict));
    report_add_case(&v->reporting.report);
}

void verify_report_print_summary(struct verify_report *v)
{
    struct out *o = &v->reporting.out;
    size_t from = o->b.n;
    uint64_t n = verify_report_count_requests(v);
    out_printf(o, "%llu %s:", (unsigned long long)n, n == 1 ? "request" : "requests");
    for (int i = 0; i < VERIFY_VERDICTS; i++)
        if (v->counts[i] > 0 || i == VERIFY_MATCH)
            out_printf(o, "%s %llu %s", i > 0 ? "," : "", (unsigned long long)v->counts[i],
                       verify_verdict_name((enum verify_verdict)i));
    out_fill_line(o, from, 0);
}
