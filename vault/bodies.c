#include "vault/bodies.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

void bodies_open(struct bodies *b, int dir_fd, bool sync)
{
    *b = (struct bodies){.dir_fd = dir_fd, .fd = -1, .sync = sync};
}

void bodies_close(struct bodies *b)
{
    if (b->fd >= 0)
        close(b->fd);
    b->fd = -1;
}

static int open_file(struct bodies *b, const char *uid)
{
    int dir = vault_dir_sub(b->dir_fd, VAULT_BODIES, true);
    if (dir < 0)
        return MI_EIO;
    b->fd = vault_dir_file(dir, uid, O_WRONLY | O_CREAT);
    int e = errno;
    close(dir);
    errno = e;
    if (b->fd < 0)
        return MI_EIO;
    off_t end = lseek(b->fd, 0, SEEK_END); /* a session goes on after its store was opened anew */
    if (end < 0) {
        bodies_close(b);
        return MI_EIO;
    }
    b->tail = end;
    return 0;
}

int bodies_add(struct bodies *b, const char *uid, struct slice body, int64_t *ret_offset)
{
    if (b->fd < 0 && open_file(b, uid) < 0)
        return MI_EIO;
    static const char newline = '\n';
    size_t done = 0;
    while (done < body.n + 1) {
        size_t left = done < body.n ? body.n - done : 0;
        struct iovec v[2] = {
            {.iov_base = (void *)(uintptr_t)(body.p + done), .iov_len = left},
            {.iov_base = (void *)(uintptr_t)&newline, .iov_len = 1},
        };
        ssize_t n = pwritev(b->fd, left > 0 ? v : v + 1, left > 0 ? 2 : 1, b->tail + (int64_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            if (n == 0)
                errno = ENOSPC;
            return MI_EIO;
        }
        done += (size_t)n;
    }
    if (b->sync && fdatasync(b->fd) != 0)
        return MI_EIO;
    *ret_offset = b->tail;
    b->tail += (int64_t)done;
    return 0;
}
