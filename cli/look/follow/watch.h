/* watch.h - waits for writes to the vault without busy polling.
 *
 * A commit writes to the write-ahead log, which base/os/changes.h reports. The commit becomes visible a moment later, when the
 * writer has updated the shared memory, which is not reported. So after the last write the caller polls at once
 * and three times more within 90 ms. Under load it polls at most every WATCH_GAP_MS, and pauses for twice as long as a
 * poll took, to leave the processor to the proxies. When idle it polls every WATCH_IDLE_MS, or every WATCH_BLIND_MS on
 * a file system that reports nothing.
 *
 * Owns      a descriptor; after watch_open() SIGINT and SIGTERM end the current or next wait.
 * Blocks    watch_wait(). */
#ifndef MI_CLI_LOOK_FOLLOW_WATCH_H
#define MI_CLI_LOOK_FOLLOW_WATCH_H

#include "base/base.h"

#include <signal.h>

#define WATCH_GAP_MS 10
#define WATCH_GAP_MOST_MS 90
#define WATCH_IDLE_MS 2000
#define WATCH_BLIND_MS 50

struct watch {
    int fd;          /* owned; changes_open() */
    int looks;       /* polls since the last write */
    int64_t last_us; /* when watch_wait() returned */
    /* Set by the caller after watch_open(): */
    int input;  /* a descriptor whose input ends a wait; -1: none */
    int output; /* a descriptor whose reader's end ends a wait: stdout, unless it is set; -1: none */
    /* Not 0 ends a wait: the caller's handler of SIGWINCH sets it. NULL: none. */
    const volatile sig_atomic_t *alarm;
};

enum watch_result {
    WATCH_LOOK,  /* the vault may have changed, or max_ms have passed */
    WATCH_INPUT, /* there is input, or the alarm is set */
    WATCH_END,   /* a signal arrived, or the output or the input was closed */
};

void watch_open(struct watch *w, const char *vault);
void watch_close(struct watch *w);
bool watch_is_stopped(void); /* SIGINT or SIGTERM has arrived */
/* Waits this long, or for the end: for what tells no changes. */
enum watch_result watch_pause(const struct watch *w, int ms);
/* max_ms 0: poll again after the pause. */
enum watch_result watch_wait(struct watch *w, int max_ms);

#endif
