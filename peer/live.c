#include "peer/live.h"

#include "base/clock.h"
#include "base/os/signals.h"
#include "base/text.h"
#include "peer/lines.h"
#include "peer/server_start.h"
#include "wire/line.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POLL_US 5000 /* time between two checks whether the server process has ended */

enum live_end { LIVE_RUNS, LIVE_EXITED, LIVE_CLOSED_STDOUT, LIVE_CLOSED_STDIN };

struct live {
    enum live_end end;
    pid_t pid;  /* id of the process; > 0 until it is reaped */
    int status; /* status from waitpid(2), valid once reaped */
    /* time when the server closed its stdout, or closed its stdin without reading all bytes; 0:
     * neither */
    int64_t closed_us;
    uint64_t sent;   /* number of bytes given to live_send_line() */
    uint64_t unread; /* number of sent bytes that the server can no longer read */
    /* process group of the server; still valid after the server was reaped */
    pid_t group;
    int in, out; /* this process's ends of the server's stdin and stdout; -1: closed */
    struct line_reader lines;
    struct lines read; /* interprets the lines that the server wrote */
    /* owned; bytes for the server's stdin, of which the first `done` are already written */
    struct buf waiting;
    size_t done;
    int64_t follows_us; /* longest time that the server may take to exit after it closed a stream */
    sigset_t mask;      /* signal mask of the caller of live_open() */
};

/* ---- starting ---- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

int live_open(struct live **ret, char *const *argv, const char *dir, struct buf *error)
{
    struct live *l = calloc(1, sizeof *l);
    if (l == NULL)
        return MI_ENOMEM;
    l->in = l->out = -1;
    l->follows_us = LIVE_EXIT_FOLLOWS_US;
    (void)sigprocmask(SIG_BLOCK, NULL, &l->mask);
    line_open(&l->lines, LIVE_LINE_MAX);
    lines_open(&l->read, LIVE_LINE_MAX);
    struct process_start how = {.argv = argv, .dir = dir};
    struct process_pipes pipes;
    if (process_start_server(&how, &l->pid, &pipes) < 0) {
        buf_clear(error);
        buf_adds(error, "cannot start ");
        text_append_visible(error, slice_of(argv[0]));
        buf_printf(error, ": %s; name the server's command after --", strerror(errno));
        (void)live_close(l, 0);
        return MI_EIO;
    }
    l->group = l->pid;
    l->in = pipes.in;
    l->out = pipes.out;
    *ret = l;
    return 0;
}

void live_wait_longer_for_proxy_exit(struct live *l)
{
    l->follows_us = LIVE_PROXY_FOLLOWS_US;
}

/* ---- lines ---- */

/* Notes the time when the server closed a stream: it cannot answer any more, and should exit
 * soon. */
static void store_stream_close_time(struct live *l)
{
    if (l->closed_us == 0)
        l->closed_us = clock_mono_us();
}

static void add_unread_bytes(struct live *l, size_t n)
{
    l->unread += n;
    if (l->unread > 0)
        store_stream_close_time(l);
}

int live_send_line(struct live *l, struct slice line)
{
    l->sent += line.n + 1;
    if (l->in < 0) {
        add_unread_bytes(l, line.n + 1);
        return 0;
    }
    if (l->done == l->waiting.n) {
        buf_clear(&l->waiting);
        l->done = 0;
    }
    buf_slice_add(&l->waiting, line);
    buf_addc(&l->waiting, '\n');
    return l->waiting.failed ? MI_ENOMEM : 0;
}

/* Call this function when the server has closed its stdin. The bytes left in the pipe count as
 * unread. */
static void live_end_input(struct live *l)
{
    int n = 0;
    size_t left = live_count_unsent_bytes(l);
    if (ioctl(l->in, FIONREAD, &n) == 0 && n > 0)
        left += (size_t)n;
    close_fd(&l->in);
    add_unread_bytes(l, left);
}

static void live_write_waiting_bytes(struct live *l)
{
    ssize_t n = write(l->in, l->waiting.p + l->done, l->waiting.n - l->done);
    if (n > 0)
        l->done += (size_t)n;
    else if (n < 0 && errno != EAGAIN && errno != EINTR)
        live_end_input(l);
}

/* Reads some output of the server. Returns false if memory ran out. */
static bool live_read_into_lines(struct live *l)
{
    size_t room;
    char *to = line_room(&l->lines, &room);
    if (to == NULL)
        return false;
    ssize_t n = read(l->out, to, room);
    if (n > 0) {
        line_add_filled(&l->lines, (size_t)n);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        close_fd(&l->out);
        store_stream_close_time(l);
    }
    return true;
}

static bool live_reap_process_if_exited(struct live *l)
{
    if (l->pid > 0 && waitpid(l->pid, &l->status, WNOHANG) == l->pid)
        l->pid = 0;
    return l->pid == 0;
}

/* Returns true if the server has ended. Sets l->end as soon as it is known how the server ended. */
static bool live_detect_server_end(struct live *l)
{
    if (l->end != LIVE_RUNS || l->closed_us == 0)
        return l->end != LIVE_RUNS;
    if (l->out < 0 && live_reap_process_if_exited(l))
        l->end = LIVE_EXITED;
    else if (clock_mono_us() - l->closed_us >= l->follows_us)
        l->end = l->out < 0 ? LIVE_CLOSED_STDOUT : LIVE_CLOSED_STDIN;
    else
        return false;
    if (l->in >= 0)
        live_end_input(l);
    return true;
}

/* Returns the next line that was read, or LINE_NEED_MORE if there is none. */
static enum line_result live_next_line(struct live *l, struct slice *ret)
{
    for (;;) {
        struct line line = {0};
        if (lines_take_next_result(&l->read, ret))
            return LINE_READY;
        enum line_result got = line_next(&l->lines, &line);
        bool last = got == LINE_NEED_MORE && l->out < 0;
        if (last)
            got = line_take_unfinished_line(&l->lines, &line);
        if (got == LINE_READY) {
            if (lines_add_received_line(&l->read, (struct slice){line.p, line.n}, last,
                                        clock_mono_us(), ret))
                return LINE_READY;
            continue;
        }
        if (got == LINE_NEED_MORE && l->out < 0)
            lines_on_output_end(&l->read);
        else if (got == LINE_NEED_MORE)
            lines_handle_expired_timeouts(&l->read, clock_mono_us());
        return got == LINE_NEED_MORE && lines_take_next_result(&l->read, ret) ? LINE_READY : got;
    }
}

enum live_result live_receive_line(struct live *l, int64_t until_us, struct slice *ret)
{
    for (;;) {
        enum line_result got = live_next_line(l, ret);
        if (got == LINE_TOO_LONG)
            return LIVE_TOO_LONG;
        if (lines_are_out_of_memory(&l->read))
            return LIVE_NO_MEMORY;
        if (got == LINE_READY)
            return LIVE_LINE;
        if (live_detect_server_end(l))
            return LIVE_ENDED;
        int64_t line_us = lines_next_timeout_us(&l->read);
        bool waits, for_line = line_us < until_us;
        struct pollfd p[2] = {{.events = POLLIN}, {0}};
        live_get_watched_fds(l, &p[0].fd, &p[1].fd, &waits);
        p[1].events = waits ? POLLOUT : 0;
        /* This cannot overflow, even if the deadline is INT64_MAX: the clock is never negative. */
        int64_t left_us = (for_line ? line_us : until_us) - clock_mono_us();
        int ms = left_us <= 0 ? 0 : left_us > 60000000 ? 60000 : (int)((left_us + 999) / 1000);
        int n = signals_poll(p, 2, l->closed_us != 0 && ms > POLL_US / 1000 ? POLL_US / 1000 : ms,
                             &l->mask);
        if (n < 0 && errno == EINTR)
            return LIVE_INTERRUPTED;
        if (n == 0 && ms == 0 && !for_line)
            return LIVE_TIMEOUT;
        if (p[1].revents & POLLERR)
            live_end_input(l);
        else if (p[1].revents != 0)
            live_write_waiting_bytes(l);
        if (p[0].revents != 0 && !live_read_into_lines(l))
            return LIVE_NO_MEMORY;
    }
}

void live_get_watched_fds(const struct live *l, int *ret_read, int *ret_write, bool *ret_waits)
{
    *ret_read = l->out;
    *ret_write = l->in;
    *ret_waits = live_count_unsent_bytes(l) > 0;
}

int64_t live_get_us_until_next_receive(const struct live *l)
{
    int64_t line_us = lines_next_timeout_us(&l->read), now_us = clock_mono_us();
    int64_t wait_us = l->closed_us != 0 && l->end == LIVE_RUNS ? POLL_US : INT64_MAX;
    if (line_us != INT64_MAX && line_us - now_us < wait_us)
        wait_us = line_us > now_us ? line_us - now_us : 0;
    return wait_us == INT64_MAX ? -1 : wait_us;
}

void live_set_awaited_request(struct live *l, uint64_t id, struct slice method)
{
    lines_set_awaited_request(&l->read, id, method);
}

void live_append_server_end_reason(const struct live *l, struct buf *b)
{
    if (l->end == LIVE_RUNS) /* reading has ended with LIVE_TOO_LONG or LIVE_NO_MEMORY */
        buf_adds(b, "is not read any more");
    else if (l->end == LIVE_CLOSED_STDIN)
        buf_adds(b, "closed its stdin");
    else if (l->end == LIVE_CLOSED_STDOUT)
        buf_adds(b, "closed its output");
    else if (WIFSIGNALED(l->status))
        buf_printf(b, "was killed by signal %d", WTERMSIG(l->status));
    else
        buf_printf(b, "exited with status %d", WEXITSTATUS(l->status));
}

uint64_t live_count_sent_bytes(const struct live *l)
{
    return l->sent;
}

uint64_t live_read_output(const struct live *l)
{
    return l->sent - l->unread;
}

size_t live_count_unsent_bytes(const struct live *l)
{
    return l->in >= 0 ? l->waiting.n - l->done : 0;
}

pid_t live_get_pid(const struct live *l)
{
    return l->group;
}

/* ---- ending ---- */

/* Waits for the exit of the server. Reads and drops the server's output, so that a full pipe does
 * not block the server. Returns true if the server has exited. */
static bool wait_for_exit(struct live *l, int64_t until_us)
{
    for (;;) {
        if (live_reap_process_if_exited(l))
            return true;
        int64_t now = clock_mono_us();
        if (now >= until_us)
            return false;
        struct slice dropped;
        char bytes[4096];
        enum live_result r = live_receive_line(l, now + POLL_US, &dropped);
        if (r == LIVE_ENDED || (r == LIVE_NO_MEMORY && read(l->out, bytes, sizeof bytes) <= 0)) {
            struct timespec t = {0, POLL_US * 1000};
            nanosleep(&t, NULL);
        }
    }
}

int live_close(struct live *l, int64_t grace_us)
{
    if (l == NULL)
        return 0;
    if (l->group > 0) {
        int64_t now = clock_mono_us();
        close_fd(&l->in);
        bool ended = wait_for_exit(l, now + grace_us / 2);
        if (!ended) {
            kill(-l->group, SIGTERM);
            ended = wait_for_exit(l, now + grace_us);
        }
        kill(-l->group, SIGKILL); /* the signal also kills the remaining children of the server */
        if (!ended)
            (void)waitpid(l->pid, &l->status, 0);
    }
    int status = l->status;
    close_fd(&l->in);
    close_fd(&l->out);
    line_close(&l->lines);
    lines_close(&l->read);
    chunk_free_spare_memory();
    buf_close(&l->waiting);
    free(l);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
