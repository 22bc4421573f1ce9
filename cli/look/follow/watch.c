#include "cli/look/follow/watch.h"

#include "base/clock.h"
#include "base/os/changes.h"
#include "base/os/signals.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t stop_requested;

/* The second signal has its default action: the process may be blocked in a write to stdout. */
static void on_signal(int number)
{
    if (stop_requested) {
        (void)signal(number, SIG_DFL);
        raise(number);
    }
    stop_requested = 1;
}

void watch_open(struct watch *w, const char *vault)
{
    struct sigaction a = {.sa_handler = on_signal};
    /* The folder, because the log may be deleted and created again. */
    *w = (struct watch){.fd = changes_open(vault)};
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
}

void watch_close(struct watch *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

/* Waits for a write, for `ms`, or for the end. */
static enum watch_result wait_for(int fd, int64_t ms, bool *ret_written)
{
    struct pollfd p[2] = {{STDOUT_FILENO, 0, 0}, {fd, POLLIN, 0}};
    sigset_t both, before;
    sigemptyset(&both);
    sigaddset(&both, SIGINT);
    sigaddset(&both, SIGTERM);
    /* Delivered only during the wait, so that none is missed just before it. */
    sigprocmask(SIG_BLOCK, &both, &before);
    int n = stop_requested ? 0 : signals_poll(p, 2, ms, &before);
    int e = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    *ret_written = n > 0 && (p[1].revents & POLLIN) != 0;
    bool closed = n > 0 && (p[0].revents & (POLLERR | POLLNVAL | POLLHUP)) != 0;
    return stop_requested != 0 || closed || (n < 0 && e != EINTR) ? WATCH_END : WATCH_LOOK;
}

static int64_t next_poll_ms(const struct watch *w)
{
    static const int64_t after_write_ms[] = {10, 30, 50}; /* 90 in all */
    if (w->fd < 0)
        return WATCH_BLIND_MS;
    return (size_t)w->looks < MI_COUNT(after_write_ms) ? after_write_ms[w->looks] : WATCH_IDLE_MS;
}

/* The rest of the pause after a poll that began at last_us. */
static int64_t pause_ms(const struct watch *w, int64_t took_us)
{
    int64_t gap_us = 3 * took_us;
    gap_us = gap_us < WATCH_GAP_MS * 1000 ? WATCH_GAP_MS * 1000 : gap_us;
    gap_us = gap_us > WATCH_GAP_MOST_MS * 1000 ? WATCH_GAP_MOST_MS * 1000 : gap_us;
    return (gap_us - (clock_mono_us() - w->last_us)) / 1000;
}

enum watch_result watch_wait(struct watch *w, int max_ms)
{
    bool written = false, again;
    int64_t took_us = clock_mono_us() - w->last_us;
    int64_t ms = next_poll_ms(w);
    bool later = max_ms < ms;
    enum watch_result r = WATCH_LOOK;
    if (max_ms > 0)
        r = wait_for(w->fd, later ? max_ms : ms, &written);
    if (written)
        changes_forget(w->fd);
    if (written || max_ms == 0) {
        w->looks = 0;
        ms = pause_ms(w, took_us);
        if (r == WATCH_LOOK && ms > 0) /* the next poll also sees writes during the pause */
            r = wait_for(-1, ms, &again);
    } else if (!later) {
        w->looks++;
    }
    w->last_us = clock_mono_us();
    return r;
}
