#include "base/write_all.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

int write_all(int fd, struct slice text)
{
    while (text.n > 0) {
        ssize_t n = write(fd, text.p, text.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            (void)poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
            continue;
        }
        if (n <= 0)
            return MI_EIO;
        text = (struct slice){text.p + n, text.n - (size_t)n};
    }
    return 0;
}

int write_and_close(int fd, struct slice text, bool sync)
{
    int st = write_all(fd, text);
    if (st == 0 && sync && fsync(fd) != 0)
        st = MI_EIO;
    int e = errno;
    if (close(fd) != 0 && st == 0) {
        st = MI_EIO;
        e = errno;
    }
    errno = e;
    return st;
}
