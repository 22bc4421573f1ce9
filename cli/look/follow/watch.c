#include "cli/look/follow/watch.h"

#include "base/clock.h"
#include "base/os/changes.h"
#include "base/os/signals.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t stop_requested;

/* A second signal has its default action, because the process may be blocked in a write to
 * stdout. */
static void watch_on_signal(int number)
{
    if (stop_requested) {
        (void)signal(number, SIG_DFL);
        raise(number);
    }
    stop_requested = 1;
}

bool watch_is_stopped(void)
{
    return stop_requested != 0;
}

void watch_open(struct watch *w, const char *vault)
{
    struct sigaction a = {.sa_handler = watch_on_signal};
    /* watches the folder, because the write-ahead log may be deleted and created again */
    *w = (struct watch){.fd = changes_watch_dir(vault), .input = -1, .output = STDOUT_FILENO};
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
}

void watch_close(struct watch *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

/* Waits for a write to the vault, for input, for a signal, or until `ms` milliseconds have passed.
 * If `written` is NULL, writes are ignored. */
static enum watch_result watch_wait_for_event(const struct watch *w, int64_t ms, bool *written)
{
    struct pollfd p[] = {
        {w->output, 0, 0}, {w->input, POLLIN, 0}, {written != NULL ? w->fd : -1, POLLIN, 0}};
    sigset_t all, before;
    sigemptyset(&all);
    sigaddset(&all, SIGINT);
    sigaddset(&all, SIGTERM);
    sigaddset(&all, SIGWINCH);
    /* Signals are delivered only during the wait, so that no signal is missed just before it. */
    sigprocmask(SIG_BLOCK, &all, &before);
    bool alarm = w->alarm != NULL && *w->alarm != 0;
    int n = stop_requested ? 0 : signals_poll(p, MI_COUNT(p), alarm ? 0 : ms, &before);
    int e = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    bool closed = false;
    for (size_t i = 0; n > 0 && i < 2; i++)
        closed |= (p[i].revents & (POLLERR | POLLNVAL | POLLHUP)) != 0;
    if (written != NULL)
        *written = n > 0 && (p[2].revents & POLLIN) != 0;
    if (stop_requested != 0 || closed || (n < 0 && e != EINTR))
        return WATCH_END;
    alarm = w->alarm != NULL && *w->alarm != 0;
    return alarm || (n > 0 && (p[1].revents & POLLIN) != 0) ? WATCH_INPUT : WATCH_LOOK;
}

/* Returns the longest pause before the next poll. */
static int64_t watch_next_poll_ms(const struct watch *w)
{
    /* pauses between polls after a write, 90 ms in total */
    static const int64_t after_write_ms[] = {10, 30, 50};
    if (w->fd < 0)
        return WATCH_BLIND_MS;
    return (size_t)w->looks < MI_COUNT(after_write_ms) ? after_write_ms[w->looks] : WATCH_IDLE_MS;
}

enum watch_result watch_wait_for_input(const struct watch *w, int ms)
{
    return watch_wait_for_event(w, ms, NULL);
}

enum watch_result watch_wait_for_change(struct watch *w, int max_ms)
{
    bool written = false;
    int64_t took_us = clock_mono_us() - w->last_us;
    int64_t ms = watch_next_poll_ms(w);
    bool later = max_ms < ms;
    enum watch_result r = WATCH_LOOK;
    if (max_ms > 0)
        r = watch_wait_for_event(w, later ? max_ms : ms, &written);
    if (written)
        changes_discard_events(w->fd);
    if (written || max_ms == 0) {
        w->looks = 0;
        /* Waits until the pause after the last poll is over. That poll began at last_us. */
        int64_t gap_us = 3 * took_us;
        gap_us = gap_us < WATCH_GAP_MS * 1000 ? WATCH_GAP_MS * 1000 : gap_us;
        gap_us = gap_us > WATCH_GAP_MOST_MS * 1000 ? WATCH_GAP_MOST_MS * 1000 : gap_us;
        ms = (gap_us - (clock_mono_us() - w->last_us)) / 1000;
        /* the next poll sees writes that happen during the pause as well */
        if (r == WATCH_LOOK && ms > 0)
            r = watch_wait_for_event(w, ms, NULL);
    } else if (!later && r != WATCH_INPUT) {
        w->looks++;
    }
    w->last_us = clock_mono_us();
    return r;
}
