#include "base/os/changes.h"

#include <sys/inotify.h>
#include <unistd.h>

int changes_watch_dir(const char *dir)
{
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd >= 0 && inotify_add_watch(fd, dir, IN_MODIFY | IN_CREATE | IN_ONLYDIR) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

void changes_discard_events(int fd)
{
    char events[8192];
    while (read(fd, events, sizeof events) > 0)
        continue;
}
