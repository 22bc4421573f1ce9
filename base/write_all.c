#include "base/write_all.h"

#include <errno.h>
#include <unistd.h>

int write_all(int fd, struct slice text)
{
    while (text.n > 0) {
        ssize_t n = write(fd, text.p, text.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return MI_EIO;
        text = (struct slice){text.p + n, text.n - (size_t)n};
    }
    return 0;
}
