#include "replay/mock/reports.h"

#include "base/log.h"
#include "base/write_all.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int reports_open(struct reports *r, const char *const path[REPORT_FILES])
{
    *r = (struct reports){.path = path, .fd = {-1, -1, -1}};
    for (int i = 0; i < REPORT_FILES; i++) {
        if (path[i] == NULL)
            continue;
        r->some = true;
        r->fd[i] = open(path[i], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
        if (r->fd[i] < 0) {
            log_error("cannot write %s: %s; choose another file", path[i], strerror(errno));
            return MI_EIO;
        }
    }
    return 0;
}

bool reports_write(struct reports *r, struct misses *m, const struct misses_end *end)
{
    bool good = true;
    if (m->report.junit || m->report.sarif)
        misses_add_requests(m, end);
    for (int i = 0; i < REPORT_FILES; i++) {
        struct buf b = {0};
        if (r->fd[i] < 0)
            continue;
        if (i == REPORT_JSON)
            misses_write_json_report(m, end, &b);
        else if (i == REPORT_JUNIT)
            report_write_junit(&m->report, &b);
        else
            report_write_sarif(&m->report, &b);
        if (write_and_close(r->fd[i], b.failed ? (struct slice){0} : buf_slice(&b), false) < 0 ||
            b.failed) {
            log_error("cannot write %s: %s", r->path[i],
                      b.failed ? "out of memory" : strerror(errno));
            good = false;
        }
        r->fd[i] = -1;
        buf_close(&b);
    }
    return good;
}

void reports_close(struct reports *r)
{
    for (int i = 0; i < REPORT_FILES; i++)
        if (r->fd[i] >= 0)
            close(r->fd[i]);
}
