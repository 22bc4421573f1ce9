#include "cli/frame/pager.h"

#include "base/os/pipe.h"
#include "cli/settings/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns the pager's command; NULL: no pager. */
static const char *pager_command(const struct out *o)
{
    const char *pager = getenv("PAGER");
    const char *term = getenv("TERM");
    if (!o->is_terminal || term == NULL || strcmp(term, "dumb") == 0)
        return NULL;
    if (pager == NULL)
        return path_has_program("less") ? "less" : NULL;
    return pager[0] == '\0' || strcmp(pager, "cat") == 0 ? NULL : pager;
}

/* Sets $LESS. The user's options follow ours, so that the user's option wins a conflict. */
static bool set_less_variable(void)
{
    const char *own = getenv("LESS");
    struct buf b = {0};
    buf_adds(&b, own != NULL ? "-R " : "FRX");
    buf_adds(&b, own != NULL ? own : "");
    bool set = !b.failed && setenv("LESS", buf_str(&b), 1) == 0;
    buf_close(&b);
    return set;
}

void pager_open(struct pager *p, const struct out *o)
{
    int fd[2];
    const char *pager = pager_command(o);
    *p = (struct pager){.terminal = -1};
    if (pager == NULL || pipe_open(fd, 0) < 0)
        return;
    p->terminal = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    p->pid = p->terminal >= 0 ? fork() : -1;
    if (p->pid == 0) {
        (void)signal(SIGPIPE, SIG_DFL);
        if (dup2(fd[0], STDIN_FILENO) >= 0 && set_less_variable() && setenv("LV", "-c", 0) == 0)
            execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
        _exit(127);
    }
    if (p->pid > 0) {
        /* Ctrl-C is only for the pager, in which it stops a search */
        (void)signal(SIGINT, SIG_IGN);
        if (dup2(fd[1], STDOUT_FILENO) < 0) {
            kill(p->pid, SIGTERM);
            close(p->terminal);
            p->terminal = -1;
        }
    } else {
        p->pid = 0;
    }
    close(fd[0]);
    close(fd[1]);
}

void pager_close(struct pager *p)
{
    if (p->terminal >= 0) {
        /* closes the last writing end of the pipe, so that the pager reads EOF */
        (void)dup2(p->terminal, STDOUT_FILENO);
        close(p->terminal);
    }
    while (p->pid > 0 && waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    *p = (struct pager){.terminal = -1};
}
