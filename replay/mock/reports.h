/* reports.h - the files of what did not match: opened before the first message, so that a wrong path is an error at once, and
 * written at the end.
 *
 * Owns      the descriptors, until reports_close().
 * Errors    after a message on stderr: MI_EIO, or false.
 * Blocks    on the files. */
#ifndef MI_REPLAY_MOCK_REPORTS_H
#define MI_REPLAY_MOCK_REPORTS_H

#include "replay/mock/misses.h"

enum report_file { REPORT_JSON, REPORT_JUNIT, REPORT_SARIF, REPORT_FILES };

struct reports {
    const char *const *path; /* borrowed; REPORT_FILES of them; NULL: none */
    int fd[REPORT_FILES];    /* -1: none */
    bool some;
};

MI_MUST int reports_open(struct reports *r, const char *const path[REPORT_FILES]);
bool reports_write(struct reports *r, struct misses *m, const struct misses_end *end);
void reports_close(struct reports *r);

#endif
