/* recording_check.h - checks the messages of one recording, and adds the recording and its
 * findings to a report.
 *
 * All messages are checked. The filter selects the messages whose findings are reported.
 *
 * Owns      nothing.
 * Errors    MI_ENOMEM, and those of vault/query/reader.h. For a file: those of
 *           vault/cassette/cassette_file.h; `error` then holds a sentence.
 * Blocks    on the vault or the file. */
#ifndef MI_CLI_CHECK_RECORDING_CHECK_H
#define MI_CLI_CHECK_RECORDING_CHECK_H

#include "cli/check/findings.h"
#include "cli/frame/filter.h"

/* Limits the check of a session. */
struct recording_check_limit {
    int64_t last_seq; /* seq of the last message that is checked; INT64_MAX: all are checked */
    /* called before each message; the check ends if this function returns false */
    bool (*goes_on)(void *ctx);
    void *ctx;
};
/* If `limit` is NULL, the whole session is checked. */
MI_MUST int recording_check_run_on_session(struct check_report *r, const struct filter *f,
                                           struct query *q, const struct query_session *s,
                                           const struct recording_check_limit *limit);
MI_MUST int recording_check_run_on_file(struct check_report *r, const struct filter *f,
                                        const char *path, struct buf *error);

#endif
