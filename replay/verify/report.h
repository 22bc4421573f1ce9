/* report.h - the results of a verification as files: JSON and JUnit XML.
 *
 * Rules     values are truncated to VERIFY_VALUE_MAX bytes. The JUnit file has a case for each recorded request: a match
 *           passes, a skipped request is skipped, every other verdict is a failure.
 * Owns      the results added.
 * Errors    sticky in the buffers.
 * Blocks    never. Pure. */
#ifndef MI_REPLAY_VERIFY_REPORT_H
#define MI_REPLAY_VERIFY_REPORT_H

#include "replay/verify/run.h"

#define VERIFY_VALUE_MAX 200

struct verify_report {
    uint64_t counts[VERIFY_VERDICTS];
    struct buf json;  /* owned; the results so far, joined by commas */
    struct buf cases; /* owned; the same as JUnit cases */
};

void verify_report_close(struct verify_report *r);
void verify_report_add(struct verify_report *r, const struct verify_result *one);
uint64_t verify_report_requests(const struct verify_report *r);
/* Did an answer differ, or was one missing? */
bool verify_report_differs(const struct verify_report *r);

/* recording: the session's uid, or the file as named by the user. */
void verify_report_json(const struct verify_report *r, struct slice recording, int64_t lasted_us,
                        struct buf *b);
void verify_report_junit(const struct verify_report *r, struct slice recording, int64_t lasted_us,
                         struct buf *b);

#endif
