#include "replay/verify/report.h"

#include "base/json_out.h"
#include "base/junit.h"
#include "base/text.h"
#include "wire/json/text.h"

#include <stdio.h>

void verify_report_close(struct verify_report *r)
{
    buf_close(&r->json);
    buf_close(&r->cases);
}

uint64_t verify_report_requests(const struct verify_report *r)
{
    uint64_t n = 0;
    for (int i = 0; i < VERIFY_VERDICTS; i++)
        n += r->counts[i];
    return n;
}

bool verify_report_differs(const struct verify_report *r)
{
    return r->counts[VERIFY_CHANGED] + r->counts[VERIFY_SCHEMA] + r->counts[VERIFY_GONE] +
               r->counts[VERIFY_SILENT] >
           0;
}

/* Resolves the escapes of the text between the quotes of a JSON string. {NULL, 0} gives {NULL, 0}. */
static struct slice unescape(struct buf *plain, struct slice raw)
{
    buf_clear(plain);
    if (raw.p == NULL)
        return raw;
    json_unescape(plain, raw);
    return buf_slice(plain);
}

static size_t listed(const struct verify_result *one)
{
    return size_min(one->differences, VERIFY_DIFFERENCES_MAX);
}

/* ---- JSON ---- */

static void add_differences(struct json_out *j, const struct verify_result *one)
{
    json_out_uint(j, "differences_n", one->differences);
    json_out_array(j, "differences");
    for (size_t i = 0; i < listed(one); i++) {
        const struct verify_difference *d = &one->difference[i];
        json_out_object(j, NULL);
        json_out_text(j, "pointer", d->pointer);
        json_out_text(j, "recorded", text_head(d->recorded, VERIFY_VALUE_MAX));
        json_out_text(j, "live", text_head(d->live, VERIFY_VALUE_MAX));
        json_out_end(j);
    }
    json_out_end(j);
}

static void add_json(struct buf *b, const struct verify_result *one)
{
    struct buf plain = {0};
    struct json_out j = json_out_more(b);
    json_out_space(&j, "\n");
    json_out_object(&j, NULL);
    json_out_int(&j, "seq", one->seq);
    json_out_text(&j, "method", unescape(&plain, one->method));
    b->failed |= plain.failed;
    json_out_text(&j, "target", unescape(&plain, one->target));
    b->failed |= plain.failed;
    json_out_str(&j, "verdict", verify_verdict_name(one->verdict));
    if (one->reason != NULL)
        json_out_str(&j, "reason", one->reason);
    if (one->remedy != NULL)
        json_out_str(&j, "remedy", one->remedy);
    if (one->took_us > 0)
        json_out_int(&j, "took_us", one->took_us);
    if (one->differences > 0)
        add_differences(&j, one);
    json_out_end(&j);
    buf_close(&plain);
}

void verify_report_json(const struct verify_report *r, struct slice recording, int64_t lasted_us,
                        struct buf *b)
{
    static const char *const counts[VERIFY_VERDICTS] = {"match", "changed",   "schema_changed",
                                                        "gone",  "no_answer", "skipped"};
    struct json_out j = json_out_to(b);
    json_out_object(&j, NULL);
    json_out_str(&j, "format", "mcp-interposer-verify");
    json_out_int(&j, "version", 1);
    json_out_text(&j, "recording", recording);
    json_out_int(&j, "lasted_us", lasted_us);
    json_out_uint(&j, "requests", verify_report_requests(r));
    for (int i = 0; i < VERIFY_VERDICTS; i++)
        json_out_uint(&j, counts[i], r->counts[i]);
    json_out_array(&j, "results");
    json_out_members(&j, buf_slice(&r->json));
    if (r->json.n > 0)
        buf_addc(b, '\n');
    json_out_end(&j);
    json_out_end(&j);
    json_out_line(&j);
    b->failed |= r->json.failed;
}

/* ---- JUnit ---- */

static void add_value(struct buf *xml, struct slice value)
{
    text_xml(xml, value.p != NULL ? text_head(value, VERIFY_VALUE_MAX) : slice_of("(missing)"));
}

static void list_differences(struct buf *xml, const struct verify_result *one)
{
    for (size_t i = 0; i < listed(one); i++) {
        const struct verify_difference *d = &one->difference[i];
        text_xml(xml, d->pointer.n > 0 ? d->pointer : slice_of("(all)"));
        buf_adds(xml, ": recorded ");
        add_value(xml, d->recorded);
        buf_adds(xml, ", live ");
        add_value(xml, d->live);
        buf_addc(xml, '\n');
    }
}

static void add_name(struct buf *name, const struct verify_result *one)
{
    buf_printf(name, "#%lld ", (long long)one->seq);
    json_unescape(name, one->method);
    if (one->target.p != NULL) {
        buf_addc(name, ' ');
        json_unescape(name, one->target);
    }
}

static void add_case(struct buf *b, const struct verify_result *one)
{
    struct buf name = {0}, message = {0}, xml = {0};
    char seconds[32];
    struct junit_case c = {.classname = slice_of("mcp-interposer.verify"), .time = seconds};
    snprintf(seconds, sizeof seconds, "%.6f", (double)one->took_us / 1e6);
    add_name(&name, one);
    c.name = buf_slice(&name);
    if (one->verdict == VERIFY_SKIPPED) {
        c.outcome = JUNIT_SKIPPED;
        buf_printf(&message, "%s; %s", one->reason, one->remedy);
    } else if (one->verdict != VERIFY_MATCH) {
        c.outcome = JUNIT_FAILED;
        c.type = verify_verdict_name(one->verdict);
        buf_adds(&message, one->reason != NULL ? one->reason : c.type);
        list_differences(&xml, one);
        c.xml = buf_slice(&xml);
    }
    c.message = buf_slice(&message);
    junit_case(b, &c);
    b->failed |= name.failed || message.failed || xml.failed;
    buf_close(&name);
    buf_close(&message);
    buf_close(&xml);
}

void verify_report_junit(const struct verify_report *r, struct slice recording, int64_t lasted_us,
                         struct buf *b)
{
    struct buf name = {0};
    char seconds[32];
    uint64_t n = verify_report_requests(r);
    snprintf(seconds, sizeof seconds, "%.6f", (double)lasted_us / 1e6);
    buf_adds(&name, "verify ");
    buf_slice_add(&name, recording);
    struct junit_suite suite = {
        .name = buf_slice(&name),
        .tests = n,
        .failures = n - r->counts[VERIFY_MATCH] - r->counts[VERIFY_SKIPPED],
        .skipped = r->counts[VERIFY_SKIPPED],
        .time = seconds,
    };
    junit_begin(b, &suite);
    junit_begin_suite(b, &suite);
    buf_slice_add(b, buf_slice(&r->cases));
    junit_end_suite(b, &suite);
    junit_end(b);
    b->failed |= r->cases.failed || name.failed;
    buf_close(&name);
}

void verify_report_add(struct verify_report *r, const struct verify_result *one)
{
    r->counts[one->verdict]++;
    add_json(&r->json, one);
    add_case(&r->cases, one);
}
