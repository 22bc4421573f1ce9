/* verified.h - the results of a verification: counts, text, the JSON report, and a case for each recorded request.
 *
 * Rules     values are truncated to VERIFIED_VALUE_MAX bytes. A match passes, a skipped request is skipped, every other verdict
 *           is a failure.
 * Owns      the JSON of the results.
 * Errors    sticky in the buffers and the report.
 * Blocks    verified_add() and verified_summary() as stdout does. */
#ifndef MI_CLI_RECORDINGS_VERIFIED_H
#define MI_CLI_RECORDINGS_VERIFIED_H

#include "cli/frame/reporting.h"
#include "replay/verify/run.h"

#define VERIFIED_VALUE_MAX 200

struct verified {
    struct reporting reporting;
    struct report_place place; /* the recording */
    bool verbose;              /* matches are printed, too */
    uint64_t counts[VERIFY_VERDICTS];
    struct buf json; /* owned; the results so far, joined by commas */
};

void verified_close(struct verified *v);
void verified_add(struct verified *v, const struct verify_result *one);
void verified_summary(struct verified *v);
/* Did an answer differ, or was one missing? */
bool verified_differs(const struct verified *v);
/* The whole JSON report. recording: the session's uid, or the file as named by the user. */
void verified_json(const struct verified *v, struct slice recording, int64_t lasted_us,
                   struct buf *b);

#endif
