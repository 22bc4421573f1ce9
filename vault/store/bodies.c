#include "vault/store/bodies.h"

#include "base/os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#define NEW_RANGE_MIN ((int64_t)1 << 20)

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

static int bodies_open_file(struct bodies *b, const char *uid)
{
    int dir = vault_dir_open_sub(b->dir_fd, VAULT_BODIES, true);
    if (dir < 0)
        return MI_EIO;
    b->fd = vault_dir_open_file(dir, uid, O_WRONLY | O_CREAT);
    int e = errno;
    close(dir);
    errno = e;
    if (b->fd < 0)
        return MI_EIO;
    /* the file already exists if the writer was reopened during the session */
    off_t end = lseek(b->fd, 0, SEEK_END);
    if (end < 0) {
        bodies_close(b);
        return MI_EIO;
    }
    b->tail = b->reported = end;
    return 0;
}

int bodies_append_body(struct bodies *b, const char *uid, struct slice body, int64_t *ret_offset)
{
    if (b->fd < 0 && bodies_open_file(b, uid) < 0)
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
    if (b->sync && file_sync_data(b->fd) < 0)
        return MI_EIO;
    *ret_offset = b->tail;
    b->tail += (int64_t)done;
    return 0;
}

bool bodies_range_is_written(int fd, int64_t offset, int64_t length)
{
    int64_t end = offset + length, holes = 0;
    while (offset < end && holes <= BODIES_HOLES) {
        int64_t hole = file_find_next_hole(fd, offset);
        if (hole >= end)
            break;
        offset = file_find_next_data(fd, hole);
        holes += (offset < end ? offset : end) - hole;
    }
    return holes <= BODIES_HOLES;
}

bool bodies_take_new_range(struct bodies *b, int64_t *ret_from, int64_t *ret_to)
{
    if (b->tail - b->reported < NEW_RANGE_MIN)
        return false;
    *ret_from = b->reported;
    *ret_to = b->reported = b->tail;
    return true;
}

void bodies_write_to_disk(const char *vault, const char *uid, int64_t from, int64_t to)
{
    int dir = open(vault, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int bodies = dir >= 0 ? vault_dir_open_sub(dir, VAULT_BODIES, false) : -1;
    int fd = bodies >= 0 ? vault_dir_open_file(bodies, uid, O_RDONLY) : -1;
    from = to - from > BODIES_WRITE_MOST ? to - BODIES_WRITE_MOST : from;
    if (fd >= 0) {
        file_write_to_disk(fd, from, to);
        close(fd);
    }
    if (bodies >= 0)
        close(bodies);
    if (dir >= 0)
        close(dir);
}
