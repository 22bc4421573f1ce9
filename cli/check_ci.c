/* check_ci.c - findings for machines: JUnit XML (a suite for each recording, a case for each finding's name) and
 * SARIF 2.1.0. */
#include "base/text.h"
#include "cli/check_inner.h"

/* ---- JUnit ---------------------------------------------------------------------------------- */

/* Is this the first of its name in the list? */
static bool is_first(const struct check_source *x, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (x->found[i].name == x->found[at].name)
            return false;
    return true;
}

static void junit_case(const struct check_report *r, const struct check_source *x, size_t at,
                       struct buf *b)
{
    const struct check_found *f = &x->found[at];
    const char *element = f->fails ? "failure" : "system-out";
    struct buf subject = {0};
    buf_printf(b, "    <testcase classname=\"mcp\" name=\"%s\">\n      <%s", f->name, element);
    if (f->fails) {
        buf_printf(b, " type=\"%s\" message=\"", severity_name(f->severity));
        text_xml(b, slice_of(f->meaning));
        buf_addc(b, '"');
    }
    buf_addc(b, '>');
    for (size_t i = at; i < x->n; i++) {
        if (x->found[i].name != f->name)
            continue;
        buf_printf(b, "\nmessage %lld, of the %s", (long long)x->found[i].seq,
                   x->found[i].from_client ? "client" : "server");
        struct slice s = check_subject(r, &x->found[i], &subject);
        buf_adds(b, s.n > 0 ? ", " : "");
        text_xml(b, s);
        buf_adds(b, x->found[i].why_n > 0 ? ": " : "");
        text_xml(b, (struct slice){r->text.p + x->found[i].why_at, x->found[i].why_n});
    }
    buf_printf(b, "\n</%s>\n    </testcase>\n", element);
    buf_close(&subject);
}

static void junit_suite(const struct check_report *r, const struct check_source *x, struct buf *b)
{
    size_t cases = 0, failures = 0;
    for (size_t i = 0; i < x->n; i++)
        if (is_first(x, i)) {
            cases++;
            failures += x->found[i].fails;
        }
    buf_adds(b, "  <testsuite name=\"");
    text_xml(b, check_name(r, x));
    buf_printf(b, "\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"0\">\n",
               cases > 0 ? cases : 1, failures);
    if (cases == 0)
        buf_adds(b, "    <testcase classname=\"mcp\" name=\"no finding\"/>\n");
    for (size_t i = 0; i < x->n; i++)
        if (is_first(x, i))
            junit_case(r, x, i, b);
    buf_adds(b, "  </testsuite>\n");
}

void check_junit(const struct check_report *r, struct buf *b)
{
    buf_adds(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for (size_t i = 0; i < r->n; i++)
        junit_suite(r, &r->source[i], b);
    buf_adds(b, "</testsuites>\n");
}

/* ---- SARIF ---------------------------------------------------------------------------------- */

static void sarif_rule(struct buf *b, const char *name, const char *meaning, enum severity s)
{
    buf_printf(b, "{\"id\":\"%s\",\"shortDescription\":{\"text\":", name);
    text_json(b, slice_of(meaning));
    buf_printf(b, "},\"defaultConfiguration\":{\"level\":\"%s\"}}", severity_name(s));
}

static void sarif_rules(struct buf *b)
{
    for (int f = 0; f < FIND_COUNT; f++) {
        buf_adds(b, f > 0 ? ",\n" : "\n");
        sarif_rule(b, finding_name((enum finding)f), finding_meaning((enum finding)f),
                   finding_severity((enum finding)f));
    }
    for (int i = 0; i < RULE_COUNT; i++) {
        buf_adds(b, ",\n");
        sarif_rule(b, rule_name((enum rule)i), rule_meaning((enum rule)i),
                   rule_severity((enum rule)i));
    }
}

/* A file's name as a URI reference (RFC 3986): a relative one stays relative to where the check ran. */
static void uri(struct buf *b, struct slice path)
{
    static const char plain[] = "-._~!$&'()*+,;=@/";
    buf_adds(b, path.n > 0 && path.p[0] == '/' ? "file://" : "");
    for (size_t i = 0; i < path.n; i++) {
        unsigned char c = (unsigned char)path.p[i];
        bool letter = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (letter || (c != '\0' && strchr(plain, c) != NULL))
            buf_addc(b, (char)c);
        else
            buf_printf(b, "%%%02X", c);
    }
}

/* A message of a cassette is a line of it, behind the header. */
static void sarif_place(const struct check_report *r, const struct check_source *x,
                        const struct check_found *f, struct buf *b)
{
    buf_adds(b, "\"locations\":[{");
    if (x->is_file) {
        buf_adds(b, "\"physicalLocation\":{\"artifactLocation\":{\"uri\":\"");
        uri(b, check_name(r, x));
        buf_printf(b, "\"},\"region\":{\"startLine\":%lld}},", (long long)f->seq + 1);
    }
    buf_printf(b, "\"logicalLocations\":[{\"kind\":\"message\",\"name\":\"%lld\"",
               (long long)f->seq);
    if (!x->is_file) {
        buf_adds(b, ",\"fullyQualifiedName\":\"");
        buf_slice_add(b, check_name(r, x)); /* a uid: letters and digits */
        buf_printf(b, "/%lld\"", (long long)f->seq);
    }
    buf_adds(b, "}]}]");
}

static void sarif_result(const struct check_report *r, const struct check_source *x,
                         const struct check_found *f, struct buf *b)
{
    struct buf text = {0}, subject = {0};
    buf_printf(&text, "Message %lld, of the %s", (long long)f->seq,
               f->from_client ? "client" : "server");
    struct slice s = check_subject(r, f, &subject);
    buf_adds(&text, s.n > 0 ? " (" : "");
    buf_slice_add(&text, s);
    buf_adds(&text, s.n > 0 ? "): " : ": ");
    check_sentence(r, f, &text);
    buf_printf(b, "{\"ruleId\":\"%s\",\"level\":\"%s\",\"message\":{\"text\":", f->name,
               severity_name(f->severity));
    text_json(b, buf_slice(&text));
    buf_adds(b, "},");
    sarif_place(r, x, f, b);
    buf_addc(b, '}');
    if (text.failed || subject.failed)
        b->failed = true;
    buf_close(&text);
    buf_close(&subject);
}

void check_sarif(const struct check_report *r, struct buf *b)
{
    bool first = true;
    buf_adds(
        b, "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\","
           "\"runs\":[{\"tool\":{\"driver\":{\"name\":\"mcp-interposer\",\"version\":\"" MI_VERSION
           "\",\"rules\":[");
    sarif_rules(b);
    buf_adds(b, "]}},\n\"results\":[");
    for (size_t i = 0; i < r->n; i++)
        for (size_t k = 0; k < r->source[i].n; k++) {
            buf_adds(b, first ? "\n" : ",\n");
            sarif_result(r, &r->source[i], &r->source[i].found[k], b);
            first = false;
        }
    buf_adds(b, "]}]}\n");
}
