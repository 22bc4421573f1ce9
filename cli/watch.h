/* watch.h - wait until somebody has written to the vault, without asking again and again.
 *
 * A commit is a write to the write-ahead log, which inotify(7) tells of. It becomes visible a moment later,
 * when the writer has changed the shared memory beside it, which nobody tells of: so after the last write one
 * looks at once, and then three times more within 90 ms. Under load there is a look every
 * WATCH_GAP_MS at most, and longer ones have pauses of twice their length: proxies need the processor more
 * than who watches them. When nothing happens there is one every WATCH_IDLE_MS, or, on a file system
 * without inotify, every WATCH_BLIND_MS.
 *
 * Owns      an inotify descriptor; from watch_open() on SIGINT and SIGTERM end the waiting, now or next time.
 * Blocks    watch_wait(): that is what it is for. */
#ifndef MI_CLI_WATCH_H
#define MI_CLI_WATCH_H

#include "base/base.h"

#define WATCH_GAP_MS 10
#define WATCH_GAP_MOST_MS 90
#define WATCH_IDLE_MS 2000
#define WATCH_BLIND_MS 50

struct watch {
    int fd;          /* owned; -1: there is no inotify here */
    int looks;       /* since the last write */
    int64_t last_us; /* when watch_wait() returned */
};

enum watch_result {
    WATCH_LOOK, /* something may have changed, or max_ms have passed */
    WATCH_END,  /* a signal came, or nobody reads stdout any more */
};

void watch_open(struct watch *w, const char *vault);
void watch_close(struct watch *w);
/* max_ms 0: there is more to be looked at, but for the pause. */
enum watch_result watch_wait(struct watch *w, int max_ms);

#endif
