/* verify_report.h - the results of a verification: counts, text, the JSON report, and a case for
 * each recorded request.
 *
 * Rules     values are cut after VERIFY_REPORT_VALUE_MAX bytes. A case passes if the answer
 *           matches; it is skipped if the request was skipped, and fails with any other verdict.
 * Owns      the JSON of the results.
 * Errors    are kept in the buffers and the report.
 * Blocks    verify_report_add_result() and verify_report_print_summary() as stdout does. */
#ifndef MI_CLI_RECORDINGS_VERIFY_REPORT_H
#define MI_CLI_RECORDINGS_VERIFY_REPORT_H

#include "cli/frame/reporting.h"
#include "replay/verify/verify_run.h"

#define VERIFY_REPORT_VALUE_MAX 200

struct verify_report {
    struct reporting reporting;
    struct report_place place;        /* the name of the recording in reports */
    bool verbose;                     /* requests whose answers match are printed as well */
    uint64_t counts[VERIFY_VERDICTS]; /* number of requests, by verdict */
    struct buf json;                  /* owned; the results so far, separated by commas */
};

void verify_report_close(struct verify_report *v);
void verify_report_add_result(struct verify_report *v, const struct verify_result *one);
void verify_report_print_summary(struct verify_report *v);
/* Whether an answer differed or was missing. */
bool verify_report_has_differences(const struct verify_report *v);
/* Appends the whole JSON report. recording: the uid of the session, or the file as the user named
 * it. */
void verify_report_append_json(const struct verify_report *v, struct slice recording,
                               int64_t lasted_us, struct buf *b);

#endif
