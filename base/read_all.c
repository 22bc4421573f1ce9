#include "base/read_all.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define PART ((size_t)64 << 10)

int read_all(int fd, size_t max, struct buf *b)
{
    for (ssize_t n = 1; n != 0;) {
        if (b->n > max)
            return EFBIG;
        if (!buf_reserve(b, PART))
            return ENOMEM;
        n = read(fd, b->p + b->n, PART);
        if (n < 0 && errno != EINTR)
            return errno;
        b->n += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

int read_all_of_file(const char *path, size_t max, struct buf *b)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return errno;
    int e = read_all(fd, max, b);
    close(fd);
    return e;
}
