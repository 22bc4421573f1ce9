#include "base/junit.h"

#include "base/text.h"

static void attribute(struct buf *b, const char *name, struct slice value)
{
    buf_printf(b, " %s=\"", name);
    text_xml(b, value);
    buf_addc(b, '"');
}

static void text_attribute(struct buf *b, const char *name, const char *value)
{
    if (value != NULL)
        attribute(b, name, slice_of(value));
}

static void number_attribute(struct buf *b, const char *name, uint64_t value)
{
    buf_printf(b, " %s=\"%llu\"", name, (unsigned long long)value);
}

static void add_counts(struct buf *b, const struct junit_suite *s)
{
    number_attribute(b, "tests", s->tests);
    number_attribute(b, "failures", s->failures);
    number_attribute(b, "errors", 0);
}

void junit_begin(struct buf *b, const struct junit_suite *total)
{
    buf_adds(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
    if (total != NULL) {
        add_counts(b, total);
        text_attribute(b, "time", total->time);
    }
    buf_adds(b, ">\n");
}

void junit_begin_suite(struct buf *b, const struct junit_suite *s)
{
    buf_adds(b, "  <testsuite");
    attribute(b, "name", s->name);
    if (s->timestamp != NULL) {
        text_attribute(b, "package", "mcp-interposer");
        number_attribute(b, "id", 0);
        text_attribute(b, "hostname", "localhost");
        text_attribute(b, "timestamp", s->timestamp);
    }
    add_counts(b, s);
    number_attribute(b, "skipped", s->skipped);
    text_attribute(b, "time", s->time);
    buf_adds(b, s->timestamp != NULL ? ">\n    <properties/>\n" : ">\n");
}

void junit_case(struct buf *b, const struct junit_case *c)
{
    static const char *const elements[] = {
        [JUNIT_FAILED] = "failure", [JUNIT_SKIPPED] = "skipped", [JUNIT_NOTED] = "system-out"};
    buf_adds(b, "    <testcase");
    attribute(b, "classname", c->classname);
    attribute(b, "name", c->name);
    text_attribute(b, "time", c->time);
    if (c->outcome == JUNIT_PASSED) {
        buf_adds(b, "/>\n");
        return;
    }
    buf_printf(b, ">\n      <%s", elements[c->outcome]);
    if (c->outcome == JUNIT_FAILED)
        text_attribute(b, "type", c->type);
    if (c->message.p != NULL)
        attribute(b, "message", c->message);
    if (c->xml.p != NULL) {
        buf_addc(b, '>');
        buf_slice_add(b, c->xml);
        buf_printf(b, "</%s", elements[c->outcome]);
    } else {
        buf_addc(b, '/');
    }
    buf_adds(b, ">\n    </testcase>\n");
}

void junit_end_suite(struct buf *b, const struct junit_suite *s)
{
    buf_adds(b, s->timestamp != NULL ? "    <system-out/>\n    <system-err/>\n  </testsuite>\n"
                                     : "  </testsuite>\n");
}

void junit_end(struct buf *b)
{
    buf_adds(b, "</testsuites>\n");
}
