#include "replay/verify_report.h"

#include "base/text.h"
#include "wire/json_text.h"

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

/* ---- JSON ---- */

static void json_text_member(struct buf *b, const char *name, struct slice text)
{
    buf_printf(b, ",\"%s\":", name);
    if (text.p == NULL)
        buf_adds(b, "null");
    else
        text_json(b, text);
}

/* What stands between the quotes of some JSON, as a string of ours. */
static void json_raw_member(struct buf *b, const char *name, struct slice raw)
{
    struct buf plain = {0};
    if (raw.p != NULL)
        json_unescape(&plain, raw);
    json_text_member(b, name, raw.p != NULL ? buf_slice(&plain) : raw);
    b->failed = b->failed || plain.failed;
    buf_close(&plain);
}

static void add_json(struct buf *b, const struct verify_result *one)
{
    buf_printf(b, "%s{\"seq\":%lld", b->n > 0 ? ",\n" : "", (long long)one->seq);
    json_raw_member(b, "method", one->method);
    json_raw_member(b, "target", one->target);
    json_text_member(b, "verdict", slice_of(verify_verdict_name(one->verdict)));
    if (one->reason != NULL)
        json_text_member(b, "reason", slice_of(one->reason));
    if (one->remedy != NULL)
        json_text_member(b, "remedy", slice_of(one->remedy));
    if (one->took_us > 0)
        buf_printf(b, ",\"took_us\":%lld", (long long)one->took_us);
    if (one->differences > 0) {
        buf_printf(b, ",\"differences_n\":%zu,\"differences\":[", one->differences);
        for (size_t i = 0; i < size_min(one->differences, VERIFY_DIFFERENCES_MAX); i++) {
            const struct verify_difference *d = &one->difference[i];
            buf_adds(b, i > 0 ? ",{\"pointer\":" : "{\"pointer\":");
            text_json(b, d->pointer);
            json_text_member(b, "recorded", text_head(d->recorded, VERIFY_VALUE_MAX));
            json_text_member(b, "live", text_head(d->live, VERIFY_VALUE_MAX));
            buf_addc(b, '}');
        }
        buf_addc(b, ']');
    }
    buf_addc(b, '}');
}

void verify_report_json(const struct verify_report *r, struct slice recording, int64_t lasted_us,
                        struct buf *b)
{
    static const char *const counts[VERIFY_VERDICTS] = {"match", "changed",   "schema_changed",
                                                        "gone",  "no_answer", "skipped"};
    buf_adds(b, "{\"format\":\"mcp-interposer-verify\",\"version\":1");
    json_text_member(b, "recording", recording);
    buf_printf(b, ",\"lasted_us\":%lld,\"requests\":%llu", (long long)lasted_us,
               (unsigned long long)verify_report_requests(r));
    for (int i = 0; i < VERIFY_VERDICTS; i++)
        buf_printf(b, ",\"%s\":%llu", counts[i], (unsigned long long)r->counts[i]);
    buf_adds(b, ",\"results\":[\n");
    buf_slice_add(b, buf_slice(&r->json));
    buf_adds(b, r->json.n > 0 ? "\n]}\n" : "]}\n");
    b->failed = b->failed || r->json.failed;
}

/* ---- JUnit ---- */

/* Text for an attribute or an element. XML 1.0 has no way to write most control characters. */
static void xml(struct buf *b, struct slice text)
{
    struct buf visible = {0};
    text_visible(&visible, text);
    for (size_t i = 0; i < visible.n; i++) {
        char c = visible.p[i];
        if (c == '&')
            buf_adds(b, "&amp;");
        else if (c == '<')
            buf_adds(b, "&lt;");
        else if (c == '>')
            buf_adds(b, "&gt;");
        else if (c == '"')
            buf_adds(b, "&quot;");
        else
            buf_addc(b, c);
    }
    b->failed = b->failed || visible.failed;
    buf_close(&visible);
}

static void xml_raw(struct buf *b, struct slice raw)
{
    struct buf plain = {0};
    if (raw.p != NULL)
        json_unescape(&plain, raw);
    xml(b, buf_slice(&plain));
    b->failed = b->failed || plain.failed;
    buf_close(&plain);
}

static void xml_value(struct buf *b, struct slice value)
{
    if (value.p == NULL)
        buf_adds(b, "(not there)");
    else
        xml(b, text_head(value, VERIFY_VALUE_MAX));
}

static void add_failure(struct buf *b, const struct verify_result *one)
{
    const char *name = verify_verdict_name(one->verdict);
    buf_printf(b, "      <failure type=\"%s\" message=\"%s\">", name,
               one->reason != NULL ? one->reason : name);
    for (size_t i = 0; i < size_min(one->differences, VERIFY_DIFFERENCES_MAX); i++) {
        const struct verify_difference *d = &one->difference[i];
        xml(b, d->pointer.n > 0 ? d->pointer : slice_of("(all)"));
        buf_adds(b, ": recorded ");
        xml_value(b, d->recorded);
        buf_adds(b, ", live ");
        xml_value(b, d->live);
        buf_addc(b, '\n');
    }
    buf_adds(b, "</failure>\n");
}

static void add_case(struct buf *b, const struct verify_result *one)
{
    buf_printf(b, "    <testcase classname=\"mcp-interposer.verify\" name=\"#%lld ",
               (long long)one->seq);
    xml_raw(b, one->method);
    if (one->target.p != NULL) {
        buf_addc(b, ' ');
        xml_raw(b, one->target);
    }
    buf_printf(b, "\" time=\"%.6f\"", (double)one->took_us / 1e6);
    if (one->verdict == VERIFY_MATCH) {
        buf_adds(b, "/>\n");
        return;
    }
    buf_adds(b, ">\n");
    if (one->verdict == VERIFY_SKIPPED)
        buf_printf(b, "      <skipped message=\"%s; %s\"/>\n", one->reason, one->remedy);
    else
        add_failure(b, one);
    buf_adds(b, "    </testcase>\n");
}

void verify_report_junit(const struct verify_report *r, struct slice recording, int64_t lasted_us,
                         struct buf *b)
{
    struct buf counts = {0};
    uint64_t n = verify_report_requests(r);
    uint64_t good = r->counts[VERIFY_MATCH] + r->counts[VERIFY_SKIPPED];
    buf_printf(&counts, "tests=\"%llu\" failures=\"%llu\" errors=\"0\"", (unsigned long long)n,
               (unsigned long long)(n - good));
    buf_printf(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites %s time=\"%.6f\">\n",
               buf_str(&counts), (double)lasted_us / 1e6);
    buf_adds(b, "  <testsuite name=\"verify ");
    xml(b, recording);
    buf_printf(b, "\" %s skipped=\"%llu\" time=\"%.6f\">\n", buf_str(&counts),
               (unsigned long long)r->counts[VERIFY_SKIPPED], (double)lasted_us / 1e6);
    buf_slice_add(b, buf_slice(&r->cases));
    buf_adds(b, "  </testsuite>\n</testsuites>\n");
    b->failed = b->failed || r->cases.failed || counts.failed;
    buf_close(&counts);
}

void verify_report_add(struct verify_report *r, const struct verify_result *one)
{
    r->counts[one->verdict]++;
    add_json(&r->json, one);
    add_case(&r->cases, one);
}
