#include "cli/check/forms.h"

#include "base/clock.h"
#include "base/text.h"
#include "cli/frame/reporting.h"

#include <stdio.h>

/* ---- text ---- */

static void print_count(struct out *o, uint64_t n, const char *what, const char *behind)
{
    out_printf(o, "%llu %s%s%s", (unsigned long long)n, what, n == 1 ? "" : "s", behind);
}

static void print_title(const struct check_report *r, const struct check_recording *x,
                        struct out *o)
{
    struct slice name = check_report_get_text(r, x->name);
    size_t from = o->b.n;
    if (x->session_id != 0)
        out_add_raw(o, "session ");
    if (x->session_id == 0 || r->several)
        out_add_text(o, x->session_id == 0 ? name : text_prefix(name, x->uid_shown));
    else
        out_printf(o, "%lld", (long long)x->session_id);
    if (x->server.n > 0) {
        out_add_raw(o, " (");
        out_add_text(o, check_report_get_text(r, x->server));
        out_add_raw(o, ")");
    }
    out_add_raw(o, ": ");
    print_count(o, (uint64_t)x->messages, "message", ", ");
    print_count(o, x->count[SEVERITY_ERROR], "error", ", ");
    print_count(o, x->count[SEVERITY_WARNING], "warning", ", ");
    print_count(o, x->count[SEVERITY_NOTE], "note", "");
    out_fill_line(o, from, 0);
}

static void print_finding(const struct check_report *r, const struct check_finding *f,
                          struct out *o)
{
    struct buf sentence = {0};
    char seq[24];
    snprintf(seq, sizeof seq, "%7lld", (long long)f->seq);
    const struct reporting_cell cells[] = {{seq, 9, OUT_PLAIN},
                                           {finding_sender_name(f), 8, OUT_PLAIN},
                                           {severity_name(f->severity), 10, OUT_PLAIN},
                                           {f->name, 28, OUT_PLAIN}};
    check_report_append_message_name(r, f, "", ": ", &sentence);
    check_report_append_sentence(r, f, &sentence);
    reporting_print_line(o, cells, MI_COUNT(cells), buf_slice(&sentence));
    o->b.failed |= sentence.failed;
    buf_close(&sentence);
}

void check_print_text(const struct check_report *r, struct out *o)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct check_recording *x = &r->recordings[i];
        print_title(r, x, o);
        for (size_t k = 0; k < x->n; k++)
            print_finding(r, &x->findings[k], o);
        if (x->not_listed > 0)
            out_printf(o, "         … and %zu more\n", x->not_listed);
    }
}

/* ---- JSON ---- */

static void json_add_text_if_present(struct json_out *j, const char *name, struct slice text)
{
    if (text.n > 0)
        json_out_text(j, name, text);
}

void check_report_write_members(const struct check_report *r, const struct check_finding *f,
                                struct json_out *j)
{
    json_out_int(j, "seq", f->seq);
    json_out_str(j, "from", finding_sender_name(f));
    json_out_str(j, "finding", f->name);
    json_out_str(j, "severity", severity_name(f->severity));
    json_out_str(j, "meaning", f->meaning);
    json_add_text_if_present(j, "method", check_report_get_text(r, f->method));
    json_add_text_if_present(j, "target", check_report_get_text(r, f->target));
    json_add_text_if_present(j, "why", check_report_get_text(r, f->detail));
}

void check_report_print_json(const struct check_report *r, struct json_out *j)
{
    json_out_array(j, "recordings");
    for (size_t i = 0; i < r->n; i++) {
        const struct check_recording *x = &r->recordings[i];
        json_out_add_whitespace(j, "\n");
        json_out_object(j, NULL);
        json_out_text(j, x->session_id == 0 ? "file" : "session",
                      check_report_get_text(r, x->name));
        if (x->session_id != 0)
            json_out_int(j, "session_id", x->session_id);
        json_out_text(j, "server", check_report_get_text(r, x->server));
        json_out_int(j, "messages", x->messages);
        json_out_uint(j, "errors", x->count[SEVERITY_ERROR]);
        json_out_uint(j, "warnings", x->count[SEVERITY_WARNING]);
        json_out_uint(j, "notes", x->count[SEVERITY_NOTE]);
        json_out_uint(j, "failing", x->failing);
        json_out_uint(j, "not_listed", x->not_listed);
        json_out_array(j, "findings");
        for (size_t k = 0; k < x->n; k++) {
            json_out_add_whitespace(j, "\n ");
            json_out_object(j, NULL);
            check_report_write_members(r, &x->findings[k], j);
            json_out_bool(j, "fails", x->findings[k].fails);
            json_out_end(j);
        }
        json_out_end(j);
        json_out_end(j);
    }
    json_out_end(j);
    json_out_add_whitespace(j, "\n");
    json_out_uint(j, "failing", r->failing);
}

/* ---- cases ---- */

static const enum report_level levels[] = {[SEVERITY_NOTE] = REPORT_NOTE,
                                           [SEVERITY_WARNING] = REPORT_WARNING,
                                           [SEVERITY_ERROR] = REPORT_ERROR};

/* Adds a case for finding number `at` and all later findings with the same name. Adds nothing if an
 * earlier finding has this name. */
static void add_junit_case(const struct check_report *r, const struct check_recording *x, size_t at,
                           struct report *report)
{
    const struct check_finding *f = &x->findings[at];
    for (size_t i = 0; i < at; i++)
        if (x->findings[i].name == f->name)
            return;
    struct report_case *c = report_begin_case(report);
    c->outcome = f->fails ? REPORT_FAILED : REPORT_NOTED;
    c->rule.name = severity_name(f->severity);
    buf_adds(&c->name, f->name);
    buf_adds(&c->message, f->meaning);
    for (size_t i = at; i < x->n; i++) {
        const struct check_finding *one = &x->findings[i];
        if (one->name != f->name)
            continue;
        buf_printf(&c->detail, "\nmessage %lld, from the %s", (long long)one->seq,
                   finding_sender_name(one));
        check_report_append_message_name(r, one, ", ", "", &c->detail);
        buf_adds(&c->detail, one->detail.n > 0 ? ": " : "");
        buf_slice_add(&c->detail, check_report_get_text(r, one->detail));
    }
    buf_addc(&c->detail, '\n');
    report_add_junit(report);
}

static void add_sarif_result(const struct check_report *r, const struct check_recording *x,
                             const struct check_finding *f, struct report *report)
{
    struct report_case *c = report_begin_case(report);
    c->outcome = f->fails ? REPORT_FAILED : REPORT_NOTED;
    c->rule = (struct report_rule){f->name, f->meaning, f->remedy, levels[f->severity]};
    c->place.seq = f->seq;
    *(x->session_id == 0 ? &c->place.file : &c->place.session) = check_report_get_text(r, x->name);
    buf_printf(&c->name, "Message %lld, from the %s", (long long)f->seq, finding_sender_name(f));
    check_report_append_message_name(r, f, " (", ")", &c->name);
    check_report_append_sentence(r, f, &c->message);
    report_add_sarif(report);
}

static void report_add_rules(struct report *report)
{
    for (int i = 0; i < FIND_COUNT; i++) {
        enum finding f = (enum finding)i;
        report_rule(report, &(struct report_rule){finding_name(f), finding_meaning(f),
                                                  finding_remedy(f), levels[finding_severity(f)]});
    }
    for (int i = 0; i < RULE_COUNT; i++) {
        enum rule x = (enum rule)i;
        report_rule(report, &(struct report_rule){rule_name(x), rule_meaning(x), rule_remedy(x),
                                                  levels[rule_severity(x)]});
    }
}

void check_add_findings_to_report(const struct check_report *r, struct report *report)
{
    report_add_rules(report);
    for (size_t i = 0; i < r->n; i++) {
        const struct check_recording *x = &r->recordings[i];
        report_begin_suite(report, check_report_get_text(r, x->name), slice_of("mcp"),
                           clock_mono_us());
        if (x->n == 0) {
            buf_adds(&report_begin_case(report)->name, "no finding");
            report_add_junit(report);
        }
        for (size_t k = 0; k < x->n && report->junit; k++)
            add_junit_case(r, x, k, report);
        for (size_t k = 0; k < x->n && report->sarif; k++)
            add_sarif_result(r, x, &x->findings[k], report);
    }
}
