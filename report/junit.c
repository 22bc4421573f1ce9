/* junit.c - a report as JUnit XML, with all elements and attributes that its schema requires. */
#include "report/report.h"

#include "base/clock.h"
#include "base/text.h"

static void add_attribute(struct buf *b, const char *name, struct slice value)
{
    buf_printf(b, " %s=\"", name);
    text_append_xml(b, value);
    buf_addc(b, '"');
}

static void junit_add_time(struct buf *b, int64_t us)
{
    buf_printf(b, " time=\"%.6f\"", (double)us / 1e6);
}

void report_add_junit(struct report *r)
{
    const struct report_case *c = &r->draft;
    static const char *const elements[] = {
        [REPORT_FAILED] = "failure", [REPORT_SKIPPED] = "skipped", [REPORT_NOTED] = "system-out"};
    struct buf *b = &r->cases;
    bool brief = c->outcome == REPORT_NOTED && c->detail.n == 0;
    struct slice text = buf_slice(brief ? &c->message : &c->detail);
    if (!r->junit)
        return;
    r->counts.tests++;
    r->counts.failures += c->outcome == REPORT_FAILED;
    r->counts.skipped += c->outcome == REPORT_SKIPPED;
    buf_adds(b, "    <testcase");
    add_attribute(b, "classname", c->group);
    add_attribute(b, "name", buf_slice(&c->name));
    junit_add_time(b, c->took_us);
    if (c->outcome == REPORT_PASSED) {
        buf_adds(b, "/>\n");
        return;
    }
    buf_printf(b, ">\n      <%s", elements[c->outcome]);
    if (c->outcome == REPORT_FAILED)
        add_attribute(b, "type", slice_of(c->rule.name));
    if (c->outcome != REPORT_NOTED && c->message.n > 0)
        add_attribute(b, "message", buf_slice(&c->message));
    if (c->outcome != REPORT_SKIPPED && text.n > 0) {
        buf_addc(b, '>');
        text_append_xml(b, text);
        buf_printf(b, "</%s", elements[c->outcome]);
    } else {
        buf_addc(b, '/');
    }
    buf_adds(b, ">\n    </testcase>\n");
}

/* Writes the current suite, if there is one. The suite's cases were stored until now, because their
 * counts precede them. */
static void end_suite(struct report *r)
{
    struct buf *b = &r->suites;
    int64_t lasted_us = clock_mono_us() - r->began_us;
    char began[CLOCK_TEXT_MAX];
    if (r->began_us == 0)
        return;
    clock_utc_text(clock_wall_us() - lasted_us, began);
    /* cut off the milliseconds and the time zone, which JUnit does not have */
    began[sizeof "2026-01-31T23:59:59" - 1] = '\0';
    buf_adds(b, "  <testsuite");
    add_attribute(b, "name", buf_slice(&r->name));
    buf_printf(b,
               " package=\"mcp-interposer\" id=\"0\" hostname=\"localhost\" timestamp=\"%s\""
               " tests=\"%llu\" failures=\"%llu\" errors=\"0\" skipped=\"%llu\"",
               began, (unsigned long long)r->counts.tests, (unsigned long long)r->counts.failures,
               (unsigned long long)r->counts.skipped);
    junit_add_time(b, lasted_us);
    buf_adds(b, ">\n    <properties/>\n");
    buf_slice_add(b, buf_slice(&r->cases));
    buf_adds(b, "    <system-out/>\n    <system-err/>\n  </testsuite>\n");
    r->failed |= r->cases.failed || r->name.failed;
    buf_clear(&r->cases);
    buf_clear(&r->name);
    r->counts = (struct report_counts){0};
    r->began_us = 0;
}

void report_begin_suite(struct report *r, struct slice name, struct slice group, int64_t began_us)
{
    end_suite(r);
    buf_slice_add(&r->name, name);
    r->group = group;
    r->began_us = began_us;
}

void report_write_junit(struct report *r, struct buf *b)
{
    end_suite(r);
    buf_adds(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    buf_slice_add(b, buf_slice(&r->suites));
    buf_adds(b, "</testsuites>\n");
    b->failed |= report_is_out_of_memory(r) || r->suites.failed;
}
