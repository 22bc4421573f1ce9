/* forms.h - a comparison as JSON lines (docs/diff.md), and as cases of a report: one for the sessions, one for each row.
 *
 * Errors    sticky in the buffers.
 * Blocks    never. Pure. */
#ifndef MI_CLI_DIFF_FORMS_H
#define MI_CLI_DIFF_FORMS_H

#include "base/json_out.h"
#include "cli/diff/result.h"
#include "cli/frame/out.h"
#include "report/report.h"

/* The session's uid or the file, and the session's number; 0: a file. */
struct diff_name {
    struct slice text;
    int64_t session_id;
};
/* Each adds members of an object. Of the differences of a row those that begin within max_bytes are listed. */
void diff_json_row(struct json_out *j, const struct result *r, size_t max_bytes);
void diff_json_sides(struct json_out *j, const struct diff *d,
                     const struct diff_name name[DIFF_SIDES]);
void diff_json_counts(struct json_out *j, const struct result_counts *c);

/* place: of the recordings, without a message. */
void diff_case_of_sessions(struct report *report, const struct diff *d,
                           const struct report_place place[DIFF_SIDES]);
/* Makes the case, which report_add() then adds. Its detail is what differs, as visible text: lines, in which "- " and "+ "
 * precede a value of the first and of the second recording (cli/frame/reporting.h). o says which characters can be shown. */
struct report_case *diff_case_of_row(struct report *report, const struct out *o,
                                     const struct result *r,
                                     const struct report_place place[DIFF_SIDES]);

#endif
