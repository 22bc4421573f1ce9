/* reports.h - the report files about requests that did not match. They are opened before the first
 * message, so that a wrong path fails at once, and written at the end.
 *
 * Owns      the descriptors, until reports_close().
 * Errors    MI_EIO or false, after a message on stderr.
 * Blocks    on the files. */
#ifndef MI_REPLAY_MOCK_REPORTS_H
#define MI_REPLAY_MOCK_REPORTS_H

#include "replay/mock/misses.h"

enum report_file { REPORT_JSON, REPORT_JUNIT, REPORT_SARIF, REPORT_FILES };

struct reports {
    const char *const *path; /* borrowed; REPORT_FILES paths; NULL: the report is not written */
    int fd[REPORT_FILES];    /* descriptor of the report; -1: none */
    bool some;               /* at least one report file is open */
};

MI_MUST int reports_open(struct reports *r, const char *const path[REPORT_FILES]);
bool reports_write(struct reports *r, struct misses *m, const struct misses_end *end);
void reports_close(struct reports *r);

#endif
