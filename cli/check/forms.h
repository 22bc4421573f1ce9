/* forms.h - writes the findings of recordings as text, as JSON, and as cases of a report.
 *
 * Errors    are kept in the output and in the report.
 * Blocks    check_print_text() and check_report_print_json() as stdout does. */
#ifndef MI_CLI_CHECK_FORMS_H
#define MI_CLI_CHECK_FORMS_H

#include "base/json_out.h"
#include "cli/check/findings.h"
#include "cli/frame/out.h"
#include "report/report.h"

/* Writes a line for each recording, and below it a line for each of its findings. */
void check_print_text(const struct check_report *r, struct out *o);
/* Writes the JSON members of one finding, but not the members of its recording. */
void check_report_write_members(const struct check_report *r, const struct check_finding *f,
                                struct json_out *j);
void check_report_print_json(const struct check_report *r, struct json_out *j);
/* JUnit: adds a suite for each recording, and a case for each kind of finding. SARIF: adds a result
 * for each finding, and lists all rules. */
void check_add_findings_to_report(const struct check_report *r, struct report *report);

#endif
