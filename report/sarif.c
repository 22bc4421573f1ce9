/* sarif.c - a report as SARIF 2.1.0, with a result for each case that found something. */
#include "report/report.h"

#include "base/grow.h"
#include "base/json_out.h"
#include "base/text.h"

#include <stdio.h>

static const char *sarif_level_name(enum report_level level)
{
    static const char *const names[REPORT_LEVELS] = {"note", "warning", "error"};
    return names[level];
}

void report_rule(struct report *r, const struct report_rule *rule)
{
    for (size_t i = 0; i < r->rules_n; i++)
        if (strcmp(r->rules[i].name, rule->name) == 0)
            return;
    if (GROW(r->rules, r->rules_n, r->rules_cap))
        r->rules[r->rules_n++] = *rule;
    else
        r->failed = true;
}

/* Appends a path as a URI reference (RFC 3986). A relative path begins in the directory where the
 * command ran. */
static void append_path_as_uri(struct buf *b, struct slice path)
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

static void add_physical_location(struct json_out *j, const struct report_place *p)
{
    struct buf uri = {0};
    append_path_as_uri(&uri, p->file);
    json_out_object(j, "physicalLocation");
    json_out_object(j, "artifactLocation");
    json_out_text(j, "uri", buf_slice(&uri));
    json_out_end(j);
    if (p->seq > 0) {
        json_out_object(j, "region");
        json_out_int(j, "startLine", p->seq + 1);
        json_out_end(j);
    }
    json_out_end(j);
    j->b->failed |= uri.failed;
    buf_close(&uri);
}

/* Names a message by its number, a session by its uid, anything else by the name of the case. */
static void add_logical_location(struct json_out *j, const struct report_case *c)
{
    const struct report_place *p = &c->place;
    struct buf full = {0};
    char seq[24];
    snprintf(seq, sizeof seq, "%lld", (long long)p->seq);
    json_out_object(j, NULL);
    json_out_str(j, "kind", p->seq > 0 ? "message" : p->session.n > 0 ? "session" : "check");
    json_out_text(j, "name",
                  p->seq > 0         ? slice_of(seq)
                  : p->session.n > 0 ? p->session
                                     : buf_slice(&c->name));
    if (p->seq > 0 && p->session.n > 0) {
        buf_slice_add(&full, p->session);
        buf_printf(&full, "/%s", seq);
        json_out_text(j, "fullyQualifiedName", buf_slice(&full));
    }
    json_out_end(j);
    j->b->failed |= full.failed;
    buf_close(&full);
}

static void add_message_text(struct json_out *j, const struct report_case *c)
{
    struct buf text = {0};
    buf_slice_add(&text, buf_slice(&c->name));
    buf_adds(&text, ": ");
    buf_slice_add(&text, c->message.n > 0 ? buf_slice(&c->message) : slice_of(c->rule.meaning));
    buf_adds(&text, c->detail.n > 0 ? "\n" : "");
    buf_slice_add(&text, buf_slice(&c->detail));
    json_out_object(j, "message");
    json_out_text(j, "text", buf_slice(&text));
    json_out_end(j);
    j->b->failed |= text.failed;
    buf_close(&text);
}

void report_add_sarif(struct report *r)
{
    const struct report_case *c = &r->draft;
    struct json_out j = json_out_continue_list(&r->results);
    if (!r->sarif || c->rule.name == NULL || c->outcome == REPORT_PASSED ||
        c->outcome == REPORT_SKIPPED)
        return;
    report_rule(r, &c->rule);
    json_out_add_whitespace(&j, "\n");
    json_out_object(&j, NULL);
    json_out_str(&j, "ruleId", c->rule.name);
    json_out_str(&j, "level", sarif_level_name(c->rule.level));
    add_message_text(&j, c);
    json_out_array(&j, "locations");
    json_out_object(&j, NULL);
    if (c->place.file.n > 0)
        add_physical_location(&j, &c->place);
    json_out_array(&j, "logicalLocations");
    add_logical_location(&j, c);
    json_out_end(&j);
    json_out_end(&j);
    json_out_end(&j);
    json_out_end(&j);
}

static void add_description(struct json_out *j, const char *name, const char *text)
{
    struct buf b = {0};
    text_append_as_sentence(&b, slice_of(text));
    json_out_object(j, name);
    json_out_text(j, "text", buf_slice(&b));
    json_out_end(j);
    j->b->failed |= b.failed;
    buf_close(&b);
}

/* Writes the members of a rule that GitHub's code scanning shows. */
static void add_rule(struct json_out *j, const struct report_rule *rule)
{
    json_out_add_whitespace(j, "\n");
    json_out_object(j, NULL);
    json_out_str(j, "id", rule->name);
    add_description(j, "shortDescription", rule->meaning);
    add_description(j, "fullDescription", rule->meaning);
    add_description(j, "help", rule->help);
    json_out_object(j, "defaultConfiguration");
    json_out_str(j, "level", sarif_level_name(rule->level));
    json_out_end(j);
    json_out_end(j);
}

void report_write_sarif(struct report *r, struct buf *b)
{
    struct json_out j = json_out_to(b);
    json_out_object(&j, NULL);
    json_out_str(&j, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    json_out_str(&j, "version", "2.1.0");
    json_out_array(&j, "runs");
    json_out_object(&j, NULL);
    json_out_object(&j, "tool");
    json_out_object(&j, "driver");
    json_out_str(&j, "name", "mcp-interposer");
    json_out_str(&j, "version", MI_VERSION);
    json_out_array(&j, "rules");
    for (size_t i = 0; i < r->rules_n; i++)
        add_rule(&j, &r->rules[i]);
    json_out_end(&j);
    json_out_end(&j);
    json_out_end(&j);
    json_out_add_whitespace(&j, "\n");
    json_out_array(&j, "results");
    json_out_add_written_members(&j, buf_slice(&r->results));
    json_out_end(&j);
    json_out_end(&j);
    json_out_end(&j);
    json_out_end(&j);
    json_out_line(&j);
    b->failed |= report_is_out_of_memory(r) || r->results.failed;
}
