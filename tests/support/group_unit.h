/* group_unit.h - a server for tests: pipes on stdin and stdout, in a process group of its own, as proxy/child.c starts
 * it. */
#ifndef MI_TESTS_GROUP_UNIT_H
#define MI_TESTS_GROUP_UNIT_H

#include "tests/support/unit.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct group {
    pid_t pid;
    int in, out; /* our ends of its pipes */
};

/* run(ctx) does not return, or the server exits with 127. */
static inline void group_start(struct group *g, void (*run)(const void *ctx), const void *ctx)
{
    int in[2], out[2];
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    g->pid = fork();
    if (g->pid == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        close(in[0]), close(in[1]), close(out[0]), close(out[1]);
        run(ctx);
        _exit(127);
    }
    assert_true(g->pid > 0);
    setpgid(g->pid, g->pid);
    close(in[0]);
    close(out[1]);
    g->in = in[1];
    g->out = out[0];
}

/* Kills all of it; a zeroed one is fine. */
static inline void group_kill(struct group *g)
{
    if (g->pid == 0)
        return;
    kill(-g->pid, SIGKILL);
    waitpid(g->pid, NULL, 0);
    close(g->in);
    close(g->out);
    *g = (struct group){0};
}

#endif
