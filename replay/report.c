#include "replay/report.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

#define SAID_MAX 100         /* findings told on stderr */
#define NEVER_ASKED_MAX 1000 /* listed in the JSON report */

static const struct {
    const char *name, *words;
} kinds[REPORT_KINDS] = {
    [REPORT_UNKNOWN_METHOD] = {"unknown-method", "a method that was never recorded"},
    [REPORT_UNKNOWN_TARGET] = {"unknown-target", "never recorded"},
    [REPORT_DIFFERENT] = {"different", "not recorded with these parameters"},
    [REPORT_EXHAUSTED] = {"exhausted", "asked more often than it was recorded"},
    [REPORT_OUT_OF_ORDER] = {"out-of-order", "recorded, but not at this place"},
    [REPORT_NO_ANSWER] = {"no-answer", "recorded without an answer"},
    [REPORT_VERSION] = {"version", "asked in another protocol revision than was recorded"},
    [REPORT_NOT_A_MESSAGE] = {"not-a-message", "the client sent a line that is no message"},
    [REPORT_ANSWER_DIFFERS] = {"answer-differs", "answered by the client in another way"},
    [REPORT_CAPABILITIES] = {"capabilities", "asked with other capabilities of the client"},
};

const char *report_kind_name(enum report_kind kind)
{
    return kinds[kind].name;
}

void report_close(struct report *r)
{
    buf_close(&r->json);
    buf_close(&r->cases);
}

/* ---- words ---- */

static void put_value(struct buf *b, struct slice json)
{
    if (json.p == NULL) {
        buf_adds(b, "nothing");
        return;
    }
    struct slice head = text_head(json, REPORT_VALUE_MAX);
    buf_slice_add(b, head);
    if (head.n < json.n)
        buf_adds(b, "…");
}

static void put_differences(struct buf *b, const struct report_finding *f)
{
    size_t listed = size_min(f->differences, REPORT_DIFFERENCES_MAX);
    for (size_t i = 0; i < listed; i++) {
        const struct report_difference *d = &f->difference[i];
        buf_adds(b, i == 0 ? " at " : ", ");
        if (d->pointer.n > 0)
            buf_slice_add(b, d->pointer);
        else
            buf_adds(b, "the whole");
        buf_adds(b, " (recorded ");
        put_value(b, d->recorded);
        buf_adds(b, ", now ");
        put_value(b, d->asked);
        buf_addc(b, ')');
    }
    if (listed < f->differences)
        buf_adds(b, " and more");
}

static void put_sentence(struct buf *b, const struct report_finding *f)
{
    buf_adds(b, kinds[f->kind].words);
    if (f->method.p != NULL) {
        buf_adds(b, ": ");
        buf_slice_add(b, f->method);
        if (f->target.n > 0) {
            buf_addc(b, ' ');
            buf_slice_add(b, f->target);
        }
    }
    if (f->nearest_seq != 0)
        buf_printf(b, "; %s seq %llu", f->kind == REPORT_NO_ANSWER ? "it is" : "the nearest is",
                   (unsigned long long)f->nearest_seq);
    if (f->differences > 0) {
        buf_adds(b, ", which differs");
        put_differences(b, f);
    }
    if (f->accept.n > 0) {
        buf_adds(b, "; to accept it: ");
        buf_slice_add(b, f->accept);
    }
}

/* ---- JSON ---- */

static void put_name(struct buf *b, const char *name)
{
    buf_printf(b, ",\"%s\":", name);
}

/* A value that is whole is a value; the head of a long one is a string. */
static void put_json_value(struct buf *b, const char *name, struct slice json)
{
    if (json.p == NULL)
        return;
    put_name(b, name);
    if (json.n <= REPORT_VALUE_MAX)
        text_json_again(b, json);
    else
        text_json_head(b, json, REPORT_VALUE_MAX);
}

void report_data(struct buf *b, const struct report_finding *f)
{
    size_t listed = size_min(f->differences, REPORT_DIFFERENCES_MAX);
    if (f->method.p != NULL) {
        put_name(b, "method");
        text_json(b, f->method);
    }
    if (f->target.n > 0) {
        put_name(b, "target");
        text_json(b, f->target);
    }
    if (f->nearest_seq != 0)
        buf_printf(b, ",\"nearest_seq\":%llu", (unsigned long long)f->nearest_seq);
    for (size_t i = 0; i < listed; i++) {
        const struct report_difference *d = &f->difference[i];
        buf_adds(b, i == 0 ? ",\"differences\":[{\"pointer\":" : ",{\"pointer\":");
        text_json(b, d->pointer);
        put_json_value(b, "recorded", d->recorded);
        put_json_value(b, "asked", d->asked);
        buf_addc(b, '}');
    }
    if (listed > 0)
        buf_addc(b, ']');
    if (f->accept.n > 0) {
        put_name(b, "accept");
        text_json(b, f->accept);
    }
}

/* ---- XML ---- */

static void begin_case(struct buf *b, struct slice method, struct slice target, uint64_t seq)
{
    buf_adds(b, "    <testcase classname=\"");
    text_xml(b, method.n > 0 ? method : slice_of("line"));
    buf_adds(b, "\" name=\"");
    text_xml(b, target.n > 0 ? target : method.n > 0 ? method : slice_of("not a message"));
    if (seq != 0)
        buf_printf(b, " (seq %llu)", (unsigned long long)seq);
    buf_adds(b, "\" time=\"0\"");
}

static void put_failure(struct buf *b, const char *kind, struct slice message)
{
    buf_printf(b, ">\n      <failure type=\"%s\" message=\"", kind);
    text_xml(b, message);
    buf_adds(b, "\"/>\n    </testcase>\n");
}

/* ---- findings ---- */

void report_add(struct report *r, const struct report_finding *f, struct buf *message)
{
    struct buf text = {0};
    put_sentence(&text, f);
    if (f->is_note)
        r->counts.notes++;
    else
        r->counts.missed++;
    if (r->kept < SAID_MAX)
        log_line(f->is_note ? LOG_INFO : LOG_WARN, "%s", buf_str(&text));
    else if (r->kept == SAID_MAX)
        log_warn("there is more of that kind: see --report");
    if (r->kept < REPORT_FINDINGS_MAX) {
        buf_adds(&r->json, r->kept > 0 ? ",\n    {\"kind\":\"" : "\n    {\"kind\":\"");
        buf_printf(&r->json, "%s\",\"failure\":%s,\"message\":", report_kind_name(f->kind),
                   f->is_note ? "false" : "true");
        text_json(&r->json, buf_slice(&text));
        report_data(&r->json, f);
        buf_addc(&r->json, '}');
        if (!f->is_note) {
            r->cases_n++;
            begin_case(&r->cases, f->method, f->target, 0);
            put_failure(&r->cases, report_kind_name(f->kind), buf_slice(&text));
        }
    }
    r->kept++;
    if (message != NULL)
        buf_slice_add(message, buf_slice(&text));
    if (text.failed && message != NULL)
        message->failed = true;
    buf_close(&text);
}

/* ---- the files ---- */

void report_json(struct report *r, const struct report_end *end, struct buf *b)
{
    const struct report_counts *c = &r->counts;
    char began[CLOCK_TEXT_MAX];
    struct report_request q;
    struct buf list = {0};
    uint64_t recorded = 0, never = 0;
    while (end->next(end->ctx, &q)) {
        recorded++;
        if (q.asked || !q.needed || ++never > NEVER_ASKED_MAX)
            continue;
        buf_printf(&list, "%s\n    {\"seq\":%llu,\"method\":", never > 1 ? "," : "",
                   (unsigned long long)q.seq);
        text_json(&list, q.method);
        if (q.target.n > 0) {
            put_name(&list, "target");
            text_json(&list, q.target);
        }
        buf_addc(&list, '}');
    }
    clock_utc_text(end->began_us, began);
    buf_adds(b, "{\n  \"format\":\"mcp-interposer-replay-report\",\n  \"version\":1,\n"
                "  \"recording\":");
    text_json(b, end->recording);
    buf_printf(b, ",\n  \"started_at\":\"%s\",\n  \"duration_ms\":%lld,\n  \"exit_status\":%d,\n",
               began, (long long)(end->lasted_us / 1000), end->exit_status);
    buf_printf(b, "  \"strict\":%s,\n  \"requests\":%llu,\n  \"matched\":%llu,\n",
               end->strict ? "true" : "false", (unsigned long long)c->requests,
               (unsigned long long)c->matched);
    buf_printf(b, "  \"repeated\":%llu,\n  \"missed\":%llu,\n  \"notes\":%llu,\n",
               (unsigned long long)c->repeated, (unsigned long long)c->missed,
               (unsigned long long)c->notes);
    buf_printf(b, "  \"faults\":%llu,\n  \"recorded\":%llu,\n  \"not_asked\":%llu,\n",
               (unsigned long long)c->faults, (unsigned long long)recorded,
               (unsigned long long)never);
    buf_printf(b, "  \"unplaced\":%llu,\n", (unsigned long long)end->unplaced);
    buf_adds(b, "  \"findings\":[");
    buf_slice_add(b, buf_slice(&r->json));
    buf_adds(b, "],\n  \"never_asked\":[");
    buf_slice_add(b, buf_slice(&list));
    buf_adds(b, "]\n}\n");
    if (list.failed || r->json.failed)
        b->failed = true;
    buf_close(&list);
}

struct junit_counts {
    uint64_t tests, failures, skipped;
};

static void put_requests(const struct report_end *end, struct buf *b, struct junit_counts *c)
{
    struct report_request q;
    while (end->next(end->ctx, &q)) {
        c->tests++;
        begin_case(b, q.method, q.target, q.seq);
        if (q.asked || !q.needed) {
            buf_adds(b, "/>\n");
        } else if (end->strict) {
            c->failures++;
            put_failure(b, "never-asked", slice_of("recorded, and never asked for"));
        } else {
            c->skipped++;
            buf_adds(b, ">\n      <skipped/>\n    </testcase>\n");
        }
    }
}

void report_junit(struct report *r, const struct report_end *end, struct buf *b)
{
    struct buf cases = {0};
    char began[CLOCK_TEXT_MAX];
    struct junit_counts c = {.tests = r->cases_n, .failures = r->cases_n};
    put_requests(end, &cases, &c);
    clock_utc_text(end->began_us, began);
    began[19] = '\0'; /* without milliseconds and zone: the schema has none */
    double seconds = (double)end->lasted_us / 1e6;
    buf_adds(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"");
    text_xml(b, end->recording);
    buf_printf(b, "\" package=\"mcp-interposer\" id=\"0\" hostname=\"localhost\" timestamp=\"%s\"",
               began);
    buf_printf(b,
               " tests=\"%llu\" failures=\"%llu\" errors=\"0\" skipped=\"%llu\" time=\"%.3f\">\n",
               (unsigned long long)c.tests, (unsigned long long)c.failures,
               (unsigned long long)c.skipped, seconds);
    buf_adds(b, "    <properties/>\n");
    buf_slice_add(b, buf_slice(&cases));
    buf_slice_add(b, buf_slice(&r->cases));
    buf_adds(b, "    <system-out/>\n    <system-err/>\n  </testsuite>\n</testsuites>\n");
    if (cases.failed || r->cases.failed)
        b->failed = true;
    buf_close(&cases);
}
