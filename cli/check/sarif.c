#include "cli/check/sarif.h"

#include "base/json_out.h"

static void add_rule(struct json_out *j, const char *name, const char *meaning, enum severity s)
{
    json_out_space(j, "\n");
    json_out_object(j, NULL);
    json_out_str(j, "id", name);
    json_out_object(j, "shortDescription");
    json_out_str(j, "text", meaning);
    json_out_end(j);
    json_out_object(j, "defaultConfiguration");
    json_out_str(j, "level", severity_name(s));
    json_out_end(j);
    json_out_end(j);
}

static void add_tool(struct json_out *j)
{
    json_out_object(j, "tool");
    json_out_object(j, "driver");
    json_out_str(j, "name", "mcp-interposer");
    json_out_str(j, "version", MI_VERSION);
    json_out_array(j, "rules");
    for (int i = 0; i < FIND_COUNT; i++)
        add_rule(j, finding_name((enum finding)i), finding_meaning((enum finding)i),
                 finding_severity((enum finding)i));
    for (int i = 0; i < RULE_COUNT; i++)
        add_rule(j, rule_name((enum rule)i), rule_meaning((enum rule)i),
                 rule_severity((enum rule)i));
    json_out_end(j);
    json_out_end(j);
    json_out_end(j);
}

/* A file's name as a URI reference (RFC 3986): a relative name is relative to where the check ran. */
static void add_uri(struct buf *b, struct slice path)
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

/* The message with number N of a cassette is on its line N + 1: the header comes first. */
static void add_physical_location(struct json_out *j, struct slice uri, int64_t seq)
{
    json_out_object(j, "physicalLocation");
    json_out_object(j, "artifactLocation");
    json_out_text(j, "uri", uri);
    json_out_end(j);
    json_out_object(j, "region");
    json_out_int(j, "startLine", seq + 1);
    json_out_end(j);
    json_out_end(j);
}

static void add_location(const struct check_report *r, const struct check_recording *x, int64_t seq,
                         struct json_out *j, struct buf *scratch)
{
    json_out_array(j, "locations");
    json_out_object(j, NULL);
    buf_clear(scratch);
    if (x->session_id == 0) {
        add_uri(scratch, check_slice(r, x->name));
        add_physical_location(j, buf_slice(scratch), seq);
    }
    json_out_array(j, "logicalLocations");
    json_out_object(j, NULL);
    json_out_str(j, "kind", "message");
    buf_clear(scratch);
    buf_int(scratch, seq);
    json_out_text(j, "name", buf_slice(scratch));
    if (x->session_id != 0) {
        buf_clear(scratch);
        buf_slice_add(scratch, check_slice(r, x->name));
        buf_printf(scratch, "/%lld", (long long)seq);
        json_out_text(j, "fullyQualifiedName", buf_slice(scratch));
    }
    json_out_end(j);
    json_out_end(j);
    json_out_end(j);
    json_out_end(j);
}

static void add_result(const struct check_report *r, const struct check_recording *x,
                       const struct check_finding *f, struct json_out *j)
{
    struct buf text = {0}, scratch = {0};
    struct slice subject = check_subject(r, f, &scratch);
    buf_printf(&text, "Message %lld, of the %s", (long long)f->seq, check_sender(f));
    buf_adds(&text, subject.n > 0 ? " (" : "");
    buf_slice_add(&text, subject);
    buf_adds(&text, subject.n > 0 ? "): " : ": ");
    check_sentence(r, f, &text);
    json_out_object(j, NULL);
    json_out_str(j, "ruleId", f->name);
    json_out_str(j, "level", severity_name(f->severity));
    json_out_object(j, "message");
    json_out_text(j, "text", buf_slice(&text));
    json_out_end(j);
    add_location(r, x, f->seq, j, &scratch);
    json_out_end(j);
    j->b->failed |= text.failed || scratch.failed;
    buf_close(&text);
    buf_close(&scratch);
}

void check_sarif(const struct check_report *r, struct buf *b)
{
    struct json_out j = json_out_to(b);
    json_out_object(&j, NULL);
    json_out_str(&j, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    json_out_str(&j, "version", "2.1.0");
    json_out_array(&j, "runs");
    json_out_object(&j, NULL);
    add_tool(&j);
    json_out_space(&j, "\n");
    json_out_array(&j, "results");
    for (size_t i = 0; i < r->n; i++)
        for (size_t k = 0; k < r->recordings[i].n; k++) {
            json_out_space(&j, "\n");
            add_result(r, &r->recordings[i], &r->recordings[i].findings[k], &j);
        }
    json_out_end(&j);
    json_out_end(&j);
    json_out_end(&j);
    json_out_end(&j);
    json_out_line(&j);
}
