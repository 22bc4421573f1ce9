/* forms.h - writes a comparison as JSON lines (docs/diff.md), and as cases of a report: one case
 * for the sessions, and one for each row.
 *
 * Errors    are kept in the buffers.
 * Blocks    never. Pure. */
#ifndef MI_CLI_DIFF_FORMS_H
#define MI_CLI_DIFF_FORMS_H

#include "base/json_out.h"
#include "cli/diff/result.h"
#include "cli/frame/out.h"
#include "report/report.h"

/* Names a recording: the uid of a session and its number, or the path of a file and 0. */
struct diff_name {
    struct slice text;
    int64_t session_id;
};
/* The next functions add members to a JSON object. diff_json_add_row() stops listing differences
 * after max_bytes. */
void diff_json_add_row(struct json_out *j, const struct result *r, size_t max_bytes);
void diff_json_add_both_recordings(struct json_out *j, const struct diff *d,
                                   const struct diff_name name[DIFF_SIDES]);
void diff_json_add_counts(struct json_out *j, const struct result_counts *c);

/* Adds a case for the differences between the sessions. place: names the two recordings, but no
 * message. */
void diff_add_session_difference(struct report *report, const struct diff *d,
                                 const struct report_place place[DIFF_SIDES]);
/* Makes the case of a row, which the caller adds with report_add_case(). The detail of the case
 * lists the differences as lines of printable text: "- " precedes a value of the first recording,
 * "+ " a value of the second (cli/frame/reporting.h). o: the output, which may be unable to show
 * UTF-8. */
struct report_case *diff_add_row_to_report(struct report *report, const struct out *o,
                                           const struct result *r,
                                           const struct report_place place[DIFF_SIDES]);

#endif
