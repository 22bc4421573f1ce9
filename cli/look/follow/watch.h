/* watch.h - waits for writes to the vault without busy polling.
 *
 * A commit writes to the write-ahead log, and base/os/changes.h reports this write. The commit
 * becomes visible a moment later, when the writer has updated the shared memory, which is not
 * reported. So the caller polls at once after the last write, and three times more within 90 ms.
 * Under load, the caller polls at most every WATCH_GAP_MS, and pauses for twice as long as a poll
 * took, to leave the processor to the proxies. When idle, the caller polls every WATCH_IDLE_MS, or
 * every WATCH_BLIND_MS if the file system does not report writes.
 *
 * Owns      a descriptor. After watch_open(), SIGINT and SIGTERM end the current or the next
 *           wait.
 * Blocks    watch_wait_for_change(). */
#ifndef MI_CLI_LOOK_FOLLOW_WATCH_H
#define MI_CLI_LOOK_FOLLOW_WATCH_H

#include "base/base.h"

#include <signal.h>

#define WATCH_GAP_MS 10
#define WATCH_GAP_MOST_MS 90
#define WATCH_IDLE_MS 2000
#define WATCH_BLIND_MS 50

struct watch {
    int fd;          /* owned; changes_watch_dir() */
    int looks;       /* number of polls since the last write */
    int64_t last_us; /* time at which watch_wait_for_change() last returned */
    /* The caller sets the following members after watch_open(): */
    int input;  /* descriptor whose input ends a wait; -1: none */
    int output; /* descriptor; a wait ends when its other end closes; default: stdout; -1: none */
    /* A wait ends if *alarm is not 0. The caller's SIGWINCH handler sets *alarm. NULL: no alarm. */
    const volatile sig_atomic_t *alarm;
};

enum watch_result {
    WATCH_LOOK,  /* the vault may have changed, or max_ms have passed */
    WATCH_INPUT, /* there is input, or *watch.alarm is not 0 */
    WATCH_END,   /* a signal arrived, or the other end of the output or the input was closed */
};

void watch_open(struct watch *w, const char *vault);
void watch_close(struct watch *w);
bool watch_is_stopped(void); /* whether SIGINT or SIGTERM has arrived */
/* Waits until `ms` milliseconds have passed, until there is input, or until the result is
 * WATCH_END. Does not wait for writes, because stores do not report changes. */
enum watch_result watch_wait_for_input(const struct watch *w, int ms);
/* Waits for a write, at most max_ms milliseconds. If max_ms is 0, only pauses before the next
 * poll. */
enum watch_result watch_wait_for_change(struct watch *w, int max_ms);

#endif
