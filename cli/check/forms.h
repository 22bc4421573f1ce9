/* forms.h - the findings of recordings in each form: text, JSON, and as cases of a report.
 *
 * Errors    sticky in the output and in the report.
 * Blocks    check_text() and check_json() as stdout does. */
#ifndef MI_CLI_CHECK_FORMS_H
#define MI_CLI_CHECK_FORMS_H

#include "base/json_out.h"
#include "cli/check/findings.h"
#include "cli/frame/out.h"
#include "report/report.h"

/* A line for each finding, below a line for its recording. */
void check_text(const struct check_report *r, struct out *o);
/* The members of one object: of a finding, but for those of its recording; of the report. */
void check_finding_members(const struct check_report *r, const struct check_finding *f,
                           struct json_out *j);
void check_json(const struct check_report *r, struct json_out *j);
/* JUnit: a suite for each recording, a case for each kind of finding. SARIF: a result for each finding; all rules are listed. */
void check_cases(const struct check_report *r, struct report *report);

#endif
