#include "record/notifier.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/os/pipe.h"
#include "base/os/process.h"
#include "base/os/signals.h"
#include "base/os/title.h"
#include "record/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OUTPUT_READ 4096
/* Limit of the bytes of output passed on since a command was last started. */
#define OUTPUT_MAX ((size_t)64 << 10)
#define JOBS (NOTIFIER_AT_ONCE + NOTIFIER_QUEUE)

/* ---- the command ---------------------------------------------------------------------------- */

static bool is_blank_char(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* Splits a command in place. `words` has space for `max` words and a NULL. Returns the number of
 * words, or -1 with the reason in *ret_why. */
static int split_command(char *text, char **words, int max, const char **ret_why)
{
    int n = 0;
    char *to = text;
    for (const char *p = text; *p != '\0';) {
        while (is_blank_char(*p))
            p++;
        if (*p == '\0')
            break;
        if (n == max) {
            *ret_why = "has too many words (the limit is 64)";
            return -1;
        }
        words[n++] = to;
        while (*p != '\0' && !is_blank_char(*p)) {
            char quote = *p;
            if (quote != '\'' && quote != '"') {
                *to++ = *p++;
                continue;
            }
            for (p++; *p != quote && *p != '\0';)
                *to++ = *p++;
            if (*p++ == '\0') {
                *ret_why = "has an unterminated quote";
                return -1;
            }
        }
        if (*p != '\0')
            p++; /* skip the blank, which the NUL below may overwrite */
        *to++ = '\0';
    }
    words[n] = NULL;
    *ret_why = "does not name a command";
    return n > 0 && words[0][0] != '\0' ? n : -1;
}

int notifier_check_command(const char *command, struct buf *error)
{
    char *words[NOTIFIER_WORDS + 1];
    const char *why = "cannot be read: out of memory";
    buf_clear(error);
    char *text = strdup(command);
    int n = text != NULL ? split_command(text, words, NOTIFIER_WORDS, &why) : -1;
    if (n < 0)
        buf_printf(error,
                   "'%s' %s; separate words by blanks, and quote a word that contains blanks with "
                   "'…' or \"…\"",
                   command, why);
    free(text);
    return n < 0 ? MI_EINVAL : 0;
}

/* ---- the notifier process -------------------------------------------------------------------- */

/* A command that was started and whose process group is not empty. */
struct job {
    pid_t group; /* process group of the command; 0: the slot is free */
    bool reaped; /* the group's first process has exited */
    int64_t until_us;
    int signal; /* the last signal that was sent to the group; 0: none */
};

struct dispatcher {
    char *words[NOTIFIER_WORDS + 2]; /* the command's words, the path of the file, NULL */
    int words_n;
    int64_t limit_us;
    sigset_t blocked;      /* the signal mask while waiting; at other times SIGCHLD is blocked */
    int output, output_in; /* the pipe for output of commands */
    bool ended;
    size_t passed; /* bytes of output since a command was last started */
    struct job job[JOBS];
    /* owned; paths of the files that wait for a command, the oldest first */
    char *queue[NOTIFIER_QUEUE];
    size_t queue_n;
};

static void send_output_to_proxy(const char *p, size_t n)
{
    /* the output is dropped if the proxy does not read the pipe */
    (void)channel_send(DETACH_FD, p, n);
}

static void send_warning(const char *fmt, ...) MI_FORMAT(1, 2);
static void send_warning(const char *fmt, ...)
{
    char text[512];
    va_list args;
    int n = snprintf(text, sizeof text, "mcp-interposer: warn: the escalation command ");
    va_start(args, fmt);
    int more = vsnprintf(text + n, sizeof text - (size_t)n - 1, fmt, args);
    va_end(args);
    n += more < (int)sizeof text - n - 1 ? more : (int)sizeof text - n - 2;
    text[n++] = '\n';
    send_output_to_proxy(text, (size_t)n);
}

static int count_running_jobs(const struct dispatcher *c)
{
    int n = 0;
    for (size_t i = 0; i < JOBS; i++)
        n += c->job[i].group != 0 && !c->job[i].reaped;
    return n;
}

static struct job *find_free_job(struct dispatcher *c)
{
    for (size_t i = 0; i < JOBS; i++)
        if (c->job[i].group == 0)
            return &c->job[i];
    return NULL;
}

static void exec_command(struct dispatcher *c, char *path)
{
    setsid();
    detach_reset_signals();
    c->words[c->words_n] = path;
    c->words[c->words_n + 1] = NULL;
    if (dup2(c->output_in, STDOUT_FILENO) < 0 || dup2(c->output_in, STDERR_FILENO) < 0)
        _exit(127);
    execvp(c->words[0], c->words); /* execvp() closes every other descriptor */
    dprintf(STDERR_FILENO, "mcp-interposer: warn: cannot start the escalation command '%s': %s\n",
            c->words[0], strerror(errno));
    _exit(127);
}

static void start_notify_command(struct dispatcher *c, struct job *j, char *path)
{
    pid_t pid = fork();
    if (pid == 0)
        exec_command(c, path);
    c->passed = 0;
    if (pid < 0)
        send_warning("could not be started: %s", strerror(errno));
    else
        *j = (struct job){.group = pid, .until_us = clock_mono_us() + c->limit_us};
    free(path);
}

static void start_waiting_commands(struct dispatcher *c)
{
    size_t n = 0;
    struct job *j;
    while (n < c->queue_n && (c->ended || count_running_jobs(c) < NOTIFIER_AT_ONCE) &&
           (j = find_free_job(c)) != NULL)
        start_notify_command(c, j, c->queue[n++]);
    memmove(c->queue, c->queue + n, (c->queue_n - n) * sizeof c->queue[0]);
    c->queue_n -= n;
}

static void warn_about_command_exit(int status)
{
    if (WIFSIGNALED(status))
        send_warning("was killed by signal %d", WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
        send_warning("exited with status %d", WEXITSTATUS(status));
}

static void reap_ended_commands(struct dispatcher *c)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        for (size_t i = 0; i < JOBS; i++)
            if (c->job[i].group == pid) {
                c->job[i].reaped = true;
                warn_about_command_exit(status);
            }
    for (size_t i = 0; i < JOBS; i++)
        if (c->job[i].reaped && kill(-c->job[i].group, 0) != 0)
            c->job[i] = (struct job){0};
}

static void enforce_job_limits(struct dispatcher *c, int64_t now)
{
    for (size_t i = 0; i < JOBS; i++) {
        struct job *j = &c->job[i];
        if (j->group == 0 || now < j->until_us)
            continue;
        /* After SIGKILL, the process can only be in an uninterruptible wait: init will reap it. */
        if (j->signal == SIGKILL) {
            *j = (struct job){0};
            continue;
        }
        if (j->signal == 0 && !j->reaped)
            send_warning("did not exit within %.3g s", (double)c->limit_us / 1e6);
        j->signal = j->signal == 0 ? SIGTERM : SIGKILL;
        kill(-j->group, j->signal);
        j->until_us = now + NOTIFIER_GRACE_US;
    }
}

/* Returns the milliseconds until a command has reached its limit; -1: no command runs. */
static int next_deadline_ms(const struct dispatcher *c)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < JOBS; i++)
        if (c->job[i].group != 0 && c->job[i].until_us < first)
            first = c->job[i].until_us;
    if (first == INT64_MAX)
        return -1;
    int64_t us = first - clock_mono_us();
    return us > 0 ? (int)(us / 1000 + 1) : 0;
}

static void receive_file_path(struct dispatcher *c)
{
    char path[PATH_MAX];
    ssize_t n = channel_receive(DETACH_FD, path, sizeof path, NULL);
    if (n == 0)
        return;
    if (n < 0) {
        c->ended = true;
        return;
    }
    char *copy = c->queue_n < NOTIFIER_QUEUE ? strndup(path, (size_t)n) : NULL;
    if (copy != NULL)
        c->queue[c->queue_n++] = copy;
    else
        send_warning("was not run because too many are waiting: file=%.*s", (int)n, path);
}

static void forward_command_output(struct dispatcher *c)
{
    char text[OUTPUT_READ];
    ssize_t n = read(c->output, text, sizeof text);
    if (n <= 0 || c->passed > OUTPUT_MAX)
        return;
    c->passed += (size_t)n;
    if (c->passed > OUTPUT_MAX)
        send_warning("printed too much output; the rest is dropped");
    else
        send_output_to_proxy(text, (size_t)n);
}

/* Kills processes that left the process group of their command. They are our children, because this
 * process is a subreaper. */
static void kill_stray_processes(void)
{
    pid_t pid[64];
    for (int64_t until = clock_mono_us() + NOTIFIER_GRACE_US; clock_mono_us() < until;) {
        size_t n = process_read_children(getpid(), pid, MI_COUNT(pid));
        for (size_t i = 0; i < n; i++)
            kill(pid[i], SIGKILL);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            continue;
        if (n == 0)
            return;
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
}

static void notifier_on_child_exit(int number)
{
    (void)number; /* nothing to do: the signal has ended the wait */
}

static int open_dispatcher(struct dispatcher *c)
{
    int fd[2];
    sigset_t child;
    const struct sigaction wake = {.sa_handler = notifier_on_child_exit};
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &c->blocked);
    sigdelset(&c->blocked, SIGCHLD);
    sigaction(SIGCHLD, &wake, NULL);
    (void)process_adopt_orphans();
    fcntl(DETACH_FD, F_SETFD, FD_CLOEXEC);
    if (pipe_open(fd, 0) < 0)
        return MI_EIO;
    c->output = fd[0];
    c->output_in = fd[1];
    return fcntl(c->output, F_SETFL, O_NONBLOCK) == 0 ? 0 : MI_EIO;
}

static void run_dispatcher(struct dispatcher *c)
{
    if (open_dispatcher(c) < 0) {
        send_warning("cannot be run: %s", strerror(errno));
        _exit(1);
    }
    while (!c->ended || c->queue_n > 0 || next_deadline_ms(c) >= 0) {
        struct pollfd p[] = {{c->output, POLLIN, 0}, {c->ended ? -1 : DETACH_FD, POLLIN, 0}};
        if (signals_poll(p, MI_COUNT(p), next_deadline_ms(c), &c->blocked) < 0 && errno != EINTR)
            break;
        forward_command_output(
            c); /* the output is read before the exit of the command is reported */
        if (p[1].revents != 0)
            receive_file_path(c);
        reap_ended_commands(c);
        enforce_job_limits(c, clock_mono_us());
        start_waiting_commands(c);
    }
    kill_stray_processes();
    _exit(0);
}

/* ---- the proxy's side ----------------------------------------------------------------------- */

/* Forks twice, so that the notifier process is not our child and may outlive us. */
static pid_t fork_dispatcher(struct dispatcher *c, const char *server, int fd)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    pid = fork();
    if (pid != 0)
        _exit(pid > 0 ? 0 : 1);
    detach_process(&fd, 1);
    title_set("mcp-notifier", "mcp-interposer: notifier of %s", server);
    run_dispatcher(c);
    _exit(0);
}

void notifier_open(struct notifier *n, const char *command, const char *server, int64_t limit_us)
{
    int fd[2], status = 1;
    const char *why;
    struct dispatcher c = {.limit_us = limit_us};
    *n = (struct notifier){.fd = -1};
    if (command == NULL || command[0] == '\0')
        return;
    char *text = strdup(command);
    if (text == NULL || (c.words_n = split_command(text, c.words, NOTIFIER_WORDS, &why)) < 0 ||
        channel_open(fd) < 0) {
        log_warn("the escalation command will not run: out of memory or file descriptors");
        free(text);
        return;
    }
    pid_t pid = fork_dispatcher(&c, server, fd[1]);
    if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0) {
        n->fd = fd[0];
    } else {
        log_warn("the escalation command will not run: cannot start a process");
        close(fd[0]);
    }
    close(fd[1]);
    free(text);
}

static void notifier_on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
    (void)loop, (void)revents;
    struct notifier *n = w->data;
    char bytes[OUTPUT_READ];
    ssize_t got = channel_receive(n->fd, bytes, sizeof bytes, NULL);
    if (got == 0)
        return;
    if (got > 0) {
        n->on_output(n->data, (struct slice){bytes, (size_t)got});
        return;
    }
    log_warn("the notifier process has exited; the escalation command will not run again");
    notifier_close(n);
}

void notifier_attach_to_loop(struct notifier *n, struct ev_loop *loop,
                             void (*on_output)(void *, struct slice), void *data)
{
    if (n->fd < 0)
        return;
    n->loop = loop;
    n->on_output = on_output;
    n->data = data;
    ev_io_init(&n->watch, notifier_on_readable, n->fd, EV_READ);
    n->watch.data = n;
    ev_io_start(loop, &n->watch);
}

void notifier_close(struct notifier *n)
{
    if (n->loop != NULL)
        ev_io_stop(n->loop, &n->watch);
    if (n->fd >= 0)
        close(n->fd);
    *n = (struct notifier){.fd = -1};
}
