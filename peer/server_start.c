#include "peer/server_start.h"

#include "base/os/pipe.h"
#include "base/os/process.h"
#include "base/os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { IN_R, IN_W, OUT_R, OUT_W, ERR_R, ERR_W, FD_COUNT };

/* What the new process needs before it executes the server's program. */
struct server {
    int fd[FD_COUNT]; /* both ends of the pipes; -1: closed */
    pid_t parent;     /* pid of the process that calls process_start_server() */
    const struct process_start *how;
};

static int make_pipes(int fd[FD_COUNT], bool own_stderr)
{
    for (int i = 0; i < FD_COUNT; i++)
        fd[i] = -1;
    for (int i = 0; i < (own_stderr ? FD_COUNT : ERR_R); i += 2)
        if (pipe_open(fd + i, 0) < 0)
            return MI_EIO;
    static const int ours[] = {IN_W, OUT_R, ERR_R};
    for (size_t i = 0; i < MI_COUNT(ours); i++)
        if (fd[ours[i]] >= 0 && fcntl(fd[ours[i]], F_SETFL, O_NONBLOCK) != 0)
            return MI_EIO;
    return 0;
}

static void close_pipes(int fd[FD_COUNT], bool all)
{
    static const bool theirs[FD_COUNT] = {[IN_R] = true, [OUT_W] = true, [ERR_W] = true};
    int e = errno;
    for (int i = 0; i < FD_COUNT; i++)
        if (fd[i] >= 0 && (all || theirs[i]))
            close(fd[i]);
    errno = e;
}

/* Runs in the new process. Returns 0 or an errno. */
static int prepare_server(const void *ctx)
{
    const struct server *s = ctx;
    (void)setpgid(0, 0);
    if (!process_die_with_parent(s->parent))
        return ESRCH;
    if (s->how->dir != NULL && chdir(s->how->dir) != 0)
        return errno;
    if (dup2(s->fd[IN_R], STDIN_FILENO) < 0 || dup2(s->fd[OUT_W], STDOUT_FILENO) < 0 ||
        (s->fd[ERR_W] >= 0 && dup2(s->fd[ERR_W], STDERR_FILENO) < 0))
        return errno;
    static const int ours[] = {SIGPIPE, SIGXFSZ, SIGCHLD, SIGTERM, SIGINT, SIGHUP};
    const struct sigaction dfl = {.sa_handler = SIG_DFL};
    for (size_t i = 0; i < MI_COUNT(ours); i++) {
        struct sigaction now;
        bool ignored_by_us = ours[i] == SIGPIPE || ours[i] == SIGXFSZ;
        if (ignored_by_us || (sigaction(ours[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN))
            (void)sigaction(ours[i], &dfl, NULL);
    }
    if (s->how->before_exec != NULL)
        s->how->before_exec(s->how->owner);
    return 0;
}

int process_start_server(const struct process_start *how, pid_t *ret,
                         struct process_pipes *ret_pipes)
{
    struct server s = {.parent = getpid(), .how = how};
    if (make_pipes(s.fd, how->own_stderr) < 0 ||
        spawn(how->argv, how->mask, prepare_server, &s, ret) < 0) {
        close_pipes(s.fd, true);
        return MI_EIO;
    }
    close_pipes(s.fd, false);
    *ret_pipes = (struct process_pipes){s.fd[IN_W], s.fd[OUT_R], s.fd[ERR_R]};
    return 0;
}
