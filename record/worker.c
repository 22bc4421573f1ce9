#include "record/worker.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/os/pipe.h"
#include "record/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#define TEXT_READ 4096
#define REAP_US 500 /* microseconds between two checks for the exit of the recorder process */

/* ---- the process ---------------------------------------------------------------------------- */

/* Returns the number that the descriptor will have after detach_process(). */
static int add_inherited_descriptor(int *keeps, size_t *n, int fd)
{
    keeps[*n] = fd;
    return DETACH_FD + (int)(*n)++;
}

static _Noreturn void run_worker_process(const struct worker *w, int control, int text)
{
    struct process_config cfg = w->cfg;
    struct journal_file file = *cfg.file;
    int keeps[5];
    size_t n = 0;
    text = add_inherited_descriptor(keeps, &n, text);
    cfg.control = add_inherited_descriptor(keeps, &n, control);
    cfg.notifier = *w->notifier >= 0 ? add_inherited_descriptor(keeps, &n, *w->notifier) : -1;
    cfg.lock = *w->lock >= 0 ? add_inherited_descriptor(keeps, &n, *w->lock) : -1;
    file.fd = add_inherited_descriptor(keeps, &n, file.fd);
    cfg.file = &file;
    cfg.text = STDERR_FILENO;
    /* this process cannot use the proxy's log sink, which needs the proxy's event loop */
    log_set_sink(NULL, NULL);
    detach_process(keeps, n);
    if (dup2(text, STDERR_FILENO) < 0)
        _exit(EX_OSERR);
    close(text);
    process_run_recorder(&cfg);
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int fork_worker(struct worker *w)
{
    int control[2], text[2];
    if (channel_open(control) < 0)
        return MI_EIO;
    if (pipe_open(text, O_NONBLOCK) < 0) {
        int e = errno;
        close(control[0]);
        close(control[1]);
        errno = e;
        return MI_EIO;
    }
    pid_t pid = fork();
    if (pid == 0)
        run_worker_process(w, control[1], text[1]);
    int e = errno;
    close(control[1]);
    close(text[1]);
    if (pid < 0) {
        close(control[0]);
        close(text[0]);
        errno = e;
        return MI_EIO;
    }
    w->pid = pid;
    w->control = control[0];
    w->text = text[0];
    return 0;
}

/* ---- watching ------------------------------------------------------------------------------- */

static void read_worker_text(struct worker *w)
{
    char bytes[TEXT_READ];
    ssize_t n;
    while (w->text >= 0 && (n = read(w->text, bytes, sizeof bytes)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return;
        w->on_text(w->data, (struct slice){bytes, (size_t)n});
    }
    if (w->loop != NULL)
        ev_io_stop(w->loop, &w->text_watch);
    close_fd(&w->text);
}

static void read_worker_reports(struct worker *w)
{
    char what;
    int file;
    ssize_t n = 0;
    while (w->control >= 0 && (n = channel_receive(w->control, &what, 1, &file)) > 0) {
        w->opened |= what == 'o';
        w->unable = 0; /* a process reports only after it has opened the journal and the store */
        w->on_report(w->data, what, file);
    }
    if (n >= 0)
        return;
    if (w->loop != NULL)
        ev_io_stop(w->loop, &w->control_watch);
    close_fd(&w->control); /* closing the socket makes the process exit */
}

static void worker_stop_watchers(struct worker *w)
{
    if (w->loop == NULL)
        return;
    ev_io_stop(w->loop, &w->control_watch);
    ev_io_stop(w->loop, &w->text_watch);
    ev_child_stop(w->loop, &w->exit_watch);
}

static void worker_start_watchers(struct worker *w)
{
    if (w->loop == NULL || w->pid == 0)
        return;
    ev_io_set(&w->control_watch, w->control, EV_READ);
    ev_io_set(&w->text_watch, w->text, EV_READ);
    ev_child_set(&w->exit_watch, w->pid, 0);
    ev_io_start(w->loop, &w->control_watch);
    ev_io_start(w->loop, &w->text_watch);
    ev_child_start(w->loop, &w->exit_watch);
}

/* ---- exits ---------------------------------------------------------------------------------- */

/* Counts an exit of a recorder process. Returns the delay until the next one is started. */
static int64_t worker_compute_restart_delay(struct worker *w, int64_t now)
{
    if (w->exits == 0 || now - w->counted_since_us > WORKER_MINUTE_US) {
        w->counted_since_us = now;
        w->exits = 0;
    }
    w->exits++;
    if (w->exits <= 2)
        return 0;
    unsigned doublings = w->exits - 3;
    return doublings < 7 ? (int64_t)WORKER_DELAY_US << doublings : WORKER_DELAY_MAX_US;
}

static int start_process(struct worker *w)
{
    int st = worker_start(w);
    if (st < 0)
        log_warn("cannot start the recorder process: %s", strerror(errno));
    else if (w->exits > 0)
        w->on_restart(w->data);
    return st;
}

static void start_process_after_delay(struct worker *w, int64_t us)
{
    ev_timer_stop(w->loop, &w->start_timer);
    ev_timer_set(&w->start_timer, (double)us / 1e6, 0.);
    ev_timer_start(w->loop, &w->start_timer);
}

static void start_process_now_or_later(struct worker *w)
{
    int64_t us = worker_compute_restart_delay(w, clock_mono_us());
    if (us > 0 || start_process(w) < 0)
        start_process_after_delay(w, us > 0 ? us : WORKER_DELAY_US);
}

static void handle_worker_exit(struct worker *w, int status)
{
    read_worker_reports(w);
    read_worker_text(w); /* pass on text that the process wrote before it exited */
    worker_stop_watchers(w);
    close_fd(&w->control);
    close_fd(&w->text);
    w->pid = 0;
    w->opened = false;
    w->gone_since_us = clock_mono_us();
    w->unable += WIFEXITED(status) && WEXITSTATUS(status) == EX_OSERR;
    if (w->ending)
        return;
    if (WIFSIGNALED(status))
        log_warn("the recorder process was killed, starting another: signal=%d", WTERMSIG(status));
    /* a process that exits with EX_TEMPFAIL has logged the reason itself */
    else if (WEXITSTATUS(status) != EX_TEMPFAIL)
        log_warn("the recorder process exited, starting another: status=%d", WEXITSTATUS(status));
    if (w->loop != NULL)
        start_process_now_or_later(w);
}

/* Reaps the recorder process without libev, because libev's loop would reap all children. */
static void reap_worker(struct worker *w)
{
    int status = 0;
    pid_t pid = w->pid > 0 ? waitpid(w->pid, &status, WNOHANG) : 0;
    if (pid > 0 || (pid < 0 && errno == ECHILD))
        handle_worker_exit(w, status);
}

/* ---- callbacks of the loop ------------------------------------------------------------------ */

static void worker_on_reports_readable(struct ev_loop *loop, ev_io *watch, int revents)
{
    (void)loop, (void)revents;
    read_worker_reports(watch->data);
}

static void worker_on_stderr(struct ev_loop *loop, ev_io *watch, int revents)
{
    (void)loop, (void)revents;
    read_worker_text(watch->data);
}

static void worker_on_exit(struct ev_loop *loop, ev_child *watch, int revents)
{
    (void)loop, (void)revents;
    handle_worker_exit(watch->data, watch->rstatus);
}

static void worker_on_start_timer(struct ev_loop *loop, ev_timer *watch, int revents)
{
    (void)loop, (void)revents;
    struct worker *w = watch->data;
    if (start_process(w) < 0)
        start_process_now_or_later(w);
}

/* ---- the interface -------------------------------------------------------------------------- */

void worker_open(struct worker *w, const struct process_config *cfg)
{
    w->cfg = *cfg;
    w->control = w->text = -1;
    w->gone_since_us = clock_mono_us();
    ev_init(&w->control_watch, worker_on_reports_readable);
    ev_init(&w->text_watch, worker_on_stderr);
    ev_init(&w->exit_watch, worker_on_exit);
    ev_init(&w->start_timer, worker_on_start_timer);
    w->control_watch.data = w->text_watch.data = w->exit_watch.data = w->start_timer.data = w;
}

int worker_start(struct worker *w)
{
    int st = fork_worker(w);
    if (st == 0) {
        w->gone_since_us = 0;
        worker_start_watchers(w);
    }
    return st;
}

void worker_attach_to_loop(struct worker *w, struct ev_loop *loop)
{
    w->loop = loop;
    if (w->pid == 0) {
        start_process_after_delay(w, WORKER_START_US);
        return;
    }
    worker_start_watchers(w);
    /* the loop does not report an exit that came before the watchers were started */
    reap_worker(w);
}

void worker_stop_watching(struct worker *w)
{
    worker_stop_watchers(w);
    if (w->loop != NULL)
        ev_timer_stop(w->loop, &w->start_timer);
    w->loop = NULL;
    w->ending = true;
}

void worker_wake(struct worker *w)
{
    /* An error is ignored: if the socket is full, the process has been woken. If the process has
     * exited, the next process reads the journal without being woken. */
    if (w->control >= 0)
        (void)channel_send(w->control, "w", 1);
}

void worker_wait_for_reports(struct worker *w, int64_t us)
{
    struct pollfd p[] = {{w->control, POLLIN, 0}, {w->text, POLLIN, 0}};
    if (w->control < 0 && w->text < 0)
        nanosleep(&(struct timespec){0, (us < REAP_US ? us : REAP_US) * 1000}, NULL);
    else if (poll(p, MI_COUNT(p), (int)((us + 999) / 1000)) > 0) {
        if (p[0].revents != 0)
            read_worker_reports(w);
        if (p[1].revents != 0)
            read_worker_text(w);
    }
    reap_worker(w);
}

void worker_kill(struct worker *w)
{
    int status;
    w->ending = true;
    if (w->pid <= 0)
        return;
    kill(w->pid, SIGKILL);
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    handle_worker_exit(w, status);
}

void worker_close(struct worker *w)
{
    worker_stop_watching(w);
    close_fd(&w->control);
    close_fd(&w->text);
    w->pid = 0;
}
