/* checking.h - checks the messages of one recording, and adds it with its findings to a report.
 *
 * The filter selects the messages whose findings are reported; all of them are checked.
 * Owns      nothing beyond a call.
 * Errors    MI_ENOMEM; those of vault/query/reader.h; for a file those of vault/cassette/file.h, with a sentence in
 *           `error`.
 * Blocks    on the vault or the file. */
#ifndef MI_CLI_CHECK_CHECKING_H
#define MI_CLI_CHECK_CHECKING_H

#include "cli/check/findings.h"
#include "cli/frame/filter.h"

/* How far a session is checked: up to this message, as long as goes_on() is true, which is asked before each. */
struct checking_limit {
    int64_t last_seq; /* INT64_MAX: all */
    bool (*goes_on)(void *ctx);
    void *ctx;
};
/* limit: NULL: the whole session. */
MI_MUST int checking_session(struct check_report *r, const struct filter *f, struct query *q,
                             const struct query_session *s, const struct checking_limit *limit);
MI_MUST int checking_file(struct check_report *r, const struct filter *f, const char *path,
                          struct buf *error);

#endif
