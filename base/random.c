#include "base/random.h"

#include <assert.h>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

/* /dev/urandom is used if a filter of system calls denies getrandom(2). */
int random_fill(void *p, size_t n)
{
    assert(n <= RANDOM_MAX);
    if (getentropy(p, n) == 0)
        return 0;
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    bool done = fd >= 0 && read(fd, p, n) == (ssize_t)n;
    if (fd >= 0)
        close(fd);
    return done ? 0 : MI_EIO;
}
