#include "replay/verify/live.h"

#include "base/clock.h"
#include "base/os/process.h"
#include "base/text.h"
#include "wire/line.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POLL_US 5000 /* between two checks for the end of the process */

struct live {
    pid_t pid;   /* > 0 until reaped */
    pid_t group; /* process group; the pid, valid after it was reaped, too */
    int in, out; /* our ends of its stdin and stdout; -1: closed */
    struct line_reader lines;
    struct buf waiting; /* owned; for its stdin; `done` bytes are written */
    size_t done;
};

/* ---- starting ---- */

/* Runs in the child and does not return. Writes errno to `report` on failure. */
static void become_server(char *const *argv, int in, int out, int report, pid_t parent)
{
    static const int ours[] = {SIGPIPE, SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < MI_COUNT(ours); i++)
        (void)signal(ours[i], SIG_DFL);
    (void)setpgid(0, 0);
    if (process_die_with(parent) && dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
        execvp(argv[0], argv);
    int e = errno;
    (void)!write(report, &e, sizeof e);
    _exit(127);
}

static int start(struct live *l, char *const *argv)
{
    int fd[6] = {-1, -1, -1, -1, -1, -1}; /* stdin, stdout, errno: read and write ends */
    int e = 0;
    if (pipe2(fd, O_CLOEXEC) != 0 || pipe2(fd + 2, O_CLOEXEC) != 0 ||
        pipe2(fd + 4, O_CLOEXEC) != 0) {
        e = errno;
    } else {
        pid_t parent = getpid();
        l->pid = fork();
        if (l->pid < 0)
            e = errno;
        if (l->pid == 0)
            become_server(argv, fd[0], fd[3], fd[5], parent);
    }
    for (int i = 0; i < 6; i++) {
        bool keep = e == 0 && (i == 1 || i == 2 || i == 4);
        if (fd[i] >= 0 && !keep)
            close(fd[i]);
    }
    if (e == 0) {
        l->group = l->pid;
        (void)setpgid(l->pid, l->pid); /* parent and child: whichever runs first */
        l->in = fd[1];
        l->out = fd[2];
        if (read(fd[4], &e, sizeof e) != (ssize_t)sizeof e)
            e = 0; /* closed by the exec */
        close(fd[4]);
    }
    errno = e;
    return e == 0 ? 0 : MI_EIO;
}

int live_open(struct live **ret, char *const *argv, struct buf *error)
{
    struct live *l = calloc(1, sizeof *l);
    if (l == NULL)
        return MI_ENOMEM;
    l->in = l->out = -1;
    line_open(&l->lines, LIVE_LINE_MAX);
    if (start(l, argv) < 0 || fcntl(l->in, F_SETFL, O_NONBLOCK) != 0 ||
        fcntl(l->out, F_SETFL, O_NONBLOCK) != 0) {
        buf_clear(error);
        buf_adds(error, "cannot start ");
        text_visible(error, slice_of(argv[0]));
        buf_printf(error, ": %s; name the server's command after --", strerror(errno));
        (void)live_close(l, 0);
        return MI_EIO;
    }
    *ret = l;
    return 0;
}

/* ---- lines ---- */

int live_send(struct live *l, struct slice line)
{
    if (l->in < 0)
        return 0; /* stdin is closed: the request gets no answer */
    if (l->done == l->waiting.n) {
        buf_clear(&l->waiting);
        l->done = 0;
    }
    buf_slice_add(&l->waiting, line);
    buf_addc(&l->waiting, '\n');
    return l->waiting.failed ? MI_ENOMEM : 0;
}

static void close_input(struct live *l)
{
    if (l->in >= 0)
        close(l->in);
    l->in = -1;
}

static void write_some(struct live *l)
{
    ssize_t n = write(l->in, l->waiting.p + l->done, l->waiting.n - l->done);
    if (n > 0)
        l->done += (size_t)n;
    else if (n < 0 && errno != EAGAIN && errno != EINTR)
        close_input(l);
}

/* false: out of memory. */
static bool read_some(struct live *l)
{
    size_t room;
    char *to = line_room(&l->lines, &room);
    if (to == NULL)
        return false;
    ssize_t n = read(l->out, to, room);
    if (n > 0) {
        line_filled(&l->lines, (size_t)n);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        close(l->out);
        l->out = -1;
    }
    return true;
}

static int wait_ms(int64_t until_us)
{
    int64_t left = until_us - clock_mono_us();
    return left <= 0 ? 0 : left > 60000000 ? 60000 : (int)((left + 999) / 1000);
}

enum live_result live_recv(struct live *l, int64_t until_us, struct slice *ret)
{
    for (;;) {
        struct line line;
        enum line_result got = line_next(&l->lines, &line);
        if (got == LINE_NEED_MORE && l->out < 0)
            got = line_last(&l->lines, &line);
        if (got == LINE_TOO_LONG)
            return LIVE_FAILED;
        if (got == LINE_READY) {
            *ret = (struct slice){line.p, line.n};
            return LIVE_LINE;
        }
        if (l->out < 0)
            return LIVE_ENDED;
        bool writes = l->in >= 0 && l->done < l->waiting.n;
        struct pollfd p[2] = {{.fd = l->out, .events = POLLIN},
                              {.fd = writes ? l->in : -1, .events = POLLOUT}};
        int ms = wait_ms(until_us);
        if (poll(p, 2, ms) == 0 && ms == 0)
            return LIVE_TIMEOUT;
        if (p[1].revents != 0)
            write_some(l);
        if (p[0].revents != 0 && !read_some(l))
            return LIVE_FAILED;
    }
}

/* ---- ending ---- */

/* Reads and drops its output, so that it is not blocked by a full pipe. true: it has exited. */
static bool wait_for_exit(struct live *l, int64_t until_us, int *ret_status)
{
    for (;;) {
        if (waitpid(l->pid, ret_status, WNOHANG) == l->pid)
            return true;
        int64_t now = clock_mono_us();
        if (now >= until_us)
            return false;
        struct slice dropped;
        if (live_recv(l, now + POLL_US, &dropped) == LIVE_ENDED) {
            struct timespec t = {0, POLL_US * 1000};
            nanosleep(&t, NULL);
        }
    }
}

int live_close(struct live *l, int64_t grace_us)
{
    if (l == NULL)
        return 0;
    int status = 0;
    if (l->pid > 0) {
        int64_t now = clock_mono_us();
        close_input(l);
        bool ended = wait_for_exit(l, now + grace_us / 2, &status);
        if (!ended) {
            kill(-l->group, SIGTERM);
            ended = wait_for_exit(l, now + grace_us, &status);
        }
        kill(-l->group, SIGKILL); /* and its remaining children */
        if (!ended)
            (void)waitpid(l->pid, &status, 0);
    }
    close_input(l);
    if (l->out >= 0)
        close(l->out);
    line_close(&l->lines);
    buf_close(&l->waiting);
    free(l);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
