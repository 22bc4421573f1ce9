#include "record/detach.h"

#include "base/os/file.h"
#include "base/os/spawn.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static const int ignored[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE};

/* Moves the descriptors to their new numbers. Moves them to higher numbers first, so that no
 * descriptor is overwritten. */
static void renumber_and_keep_descriptors(const int *fds, size_t n)
{
    int high[DETACH_MAX], end = DETACH_FD + (int)n;
    assert(n <= DETACH_MAX);
    for (size_t i = 0; i < n; i++)
        if ((high[i] = fcntl(fds[i], F_DUPFD, DETACH_FD + DETACH_MAX)) < 0)
            _exit(1);
    for (size_t i = 0; i < n; i++)
        if (dup2(high[i], DETACH_FD + (int)i) < 0)
            _exit(1);
    close_fds_from_number(end);
}

void detach_process(const int *fds, size_t n)
{
    /* Removes the proxy's handler, which would write to a descriptor of the proxy's event loop. */
    signal(SIGCHLD, SIG_DFL);
    for (size_t i = 0; i < MI_COUNT(ignored); i++)
        signal(ignored[i], SIG_IGN);
    setsid();
    int null = file_open_dev_null();
    for (int i = 0; i <= 2 && null >= 0; i++)
        dup2(null, i);
    renumber_and_keep_descriptors(fds, n);
}

void detach_reset_signals(void)
{
    sigset_t none;
    for (size_t i = 0; i < MI_COUNT(ignored); i++)
        signal(ignored[i], SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}
