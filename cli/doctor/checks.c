#include "cli/doctor/checks.h"

#include <stdarg.h>
#include <stdio.h>

#define TEXT_MAX 8192
#define INDENT 21 /* columns before the text of a result */

static void doctor_print_line(struct doctor *d, const char *state, enum out_style style,
                              const char *check, const char *text)
{
    reporting_print_line(&d->reporting.out,
                         (struct reporting_cell[]){{state, 7, style}, {check, 14, OUT_PLAIN}}, 2,
                         slice_of(text));
}

static void doctor_add_check_to_report(struct report *r, enum report_outcome outcome,
                                       const char *check, const char *remedy, const char *text)
{
    struct report_case *c = report_begin_case(r);
    c->outcome = outcome;
    c->rule = (struct report_rule){check, "A check of the vault, this machine or a client.",
                                   "The message says what to do.",
                                   outcome == REPORT_FAILED ? REPORT_ERROR : REPORT_NOTE};
    buf_adds(&c->name, check);
    buf_adds(&c->message, text);
    if (remedy != NULL)
        buf_printf(&c->detail, "to do: %s\n", remedy);
    report_add_case(r);
}

MI_FORMAT(5, 0)
static void doctor_report_check(struct doctor *d, enum report_outcome outcome, const char *check,
                                const char *remedy, const char *fmt, va_list ap)
{
    char text[TEXT_MAX];
    vsnprintf(text, sizeof text, fmt, ap);
    doctor_add_check_to_report(&d->reporting.report, outcome, check, remedy, text);
    if (d->reporting.json) {
        struct json_out *j = reporting_begin_row(&d->reporting);
        json_out_str(j, "type", "check");
        json_out_str(j, "check", check);
        json_out_str(j, "state", remedy != NULL ? "found" : "ok");
        json_out_str(j, "text", text);
        json_out_str(j, "remedy", remedy);
        reporting_end_row(&d->reporting);
    }
    if (outcome == REPORT_PASSED) {
        d->fine_n++;
        /* one call appends name and text, so that no name is without its text if memory runs out */
        buf_printf(&d->fine, "%s%c%s%c", check, '\0', text, '\0');
    } else if (d->reporting.text) {
        bool found = outcome == REPORT_FAILED;
        doctor_print_line(d, found ? "found" : "note", found ? OUT_RED : OUT_YELLOW, check, text);
        if (found) {
            out_printf(&d->reporting.out, "%*sto do: ", INDENT, "");
            out_style(&d->reporting.out, OUT_BOLD);
            size_t from = d->reporting.out.b.n;
            out_add_text(&d->reporting.out, slice_of(remedy));
            out_fill_line(&d->reporting.out, from, INDENT + 7);
            out_style(&d->reporting.out, OUT_PLAIN);
        }
    }
}

void doctor_report_passed(struct doctor *d, const char *check, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    doctor_report_check(d, REPORT_PASSED, check, NULL, fmt, ap);
    va_end(ap);
}

void doctor_report_note(struct doctor *d, const char *check, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    doctor_report_check(d, REPORT_NOTED, check, NULL, fmt, ap);
    va_end(ap);
}

void doctor_report_fault(struct doctor *d, const char *check, const char *remedy, const char *fmt,
                         ...)
{
    va_list ap;
    va_start(ap, fmt);
    doctor_report_check(d, REPORT_FAILED, check, remedy, fmt, ap);
    va_end(ap);
    d->found++;
}

void doctor_print_passed_checks(struct doctor *d)
{
    struct out *o = &d->reporting.out;
    struct slice rest = buf_slice(&d->fine);
    while (d->reporting.text && d->verbose && rest.n > 0) {
        const char *check = rest.p, *text = check + strlen(check) + 1;
        const char *next = text + strlen(text) + 1;
        doctor_print_line(d, "ok", OUT_GREEN, check, text);
        rest = (struct slice){next, (size_t)(rest.p + rest.n - next)};
    }
    if (d->reporting.text && !d->verbose) {
        out_printf(o, "%lld check%s ok; -v lists them", (long long)d->fine_n,
                   d->fine_n == 1 ? "" : "s");
        out_end_line(o);
    }
    o->b.failed |= d->fine.failed;
    buf_close(&d->fine);
}
