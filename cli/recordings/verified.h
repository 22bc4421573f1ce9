/* verified.h - the results of a verification: counts, text, the JSON report, and a case for each
 * recorded request.
 *
 * Rules     values are cut after VERIFIED_VALUE_MAX bytes. A case passes if the answer matches; it
 *           is skipped if the request was skipped, and fails with any other verdict.
 * Owns      the JSON of the results.
 * Errors    are kept in the buffers and the report.
 * Blocks    verified_add_result() and verified_print_summary() as stdout does. */
#ifndef MI_CLI_RECORDINGS_VERIFIED_H
#define MI_CLI_RECORDINGS_VERIFIED_H

#include "cli/frame/reporting.h"
#include "replay/verify/verify_run.h"

#define VERIFIED_VALUE_MAX 200

struct verified {
    struct reporting reporting;
    struct report_place place;        /* the name of the recording in reports */
    bool verbose;                     /* requests whose answers match are printed as well */
    uint64_t counts[VERIFY_VERDICTS]; /* number of requests, by verdict */
    struct buf json;                  /* owned; the results so far, separated by commas */
};

void verified_close(struct verified *v);
void verified_add_result(struct verified *v, const struct verify_result *one);
void verified_print_summary(struct verified *v);
/* Whether an answer differed or was missing. */
bool verified_has_differences(const struct verified *v);
/* Appends the whole JSON report. recording: the uid of the session, or the file as the user named
 * it. */
void verified_append_json(const struct verified *v, struct slice recording, int64_t lasted_us,
                          struct buf *b);

#endif
