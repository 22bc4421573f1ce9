#include "proxy/apart.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

static const int deaf_to[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE};

void apart_begin(int fd, const char *name)
{
    for (size_t i = 0; i < MI_COUNT(deaf_to); i++)
        signal(deaf_to[i], SIG_IGN);
    setsid();
    prctl(PR_SET_NAME, name);
    int null = open("/dev/null", O_RDWR);
    for (int i = 0; i <= 2 && null >= 0; i++)
        dup2(null, i);
    if (fd != APART_FD && dup2(fd, APART_FD) < 0)
        _exit(1);
    if (close_range(APART_FD + 1, ~0u, 0) != 0)
        for (int i = APART_FD + 1; i < 1024; i++)
            close(i);
}

void apart_end(void)
{
    sigset_t none;
    for (size_t i = 0; i < MI_COUNT(deaf_to); i++)
        signal(deaf_to[i], SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}
