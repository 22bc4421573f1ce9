#include "base/io/stream.h"

#include "base/os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

int stream_open(struct stream *s, int fd, bool for_writing)
{
    struct stat st;
    *s = (struct stream){.fd = -1};
    if (fstat(fd, &st) != 0)
        return MI_EIO;
    if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)) {
        int flags = (for_writing ? O_WRONLY : O_RDONLY) | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
        s->fd = file_reopen(fd, flags);
        if (s->fd >= 0)
            return 0;
    }
    s->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    s->socket = S_ISSOCK(st.st_mode);
    s->shared = !s->socket && !S_ISREG(st.st_mode);
    return s->fd >= 0 ? 0 : MI_EIO;
}

int stream_make_stdio_private(struct stream *in, struct stream *out)
{
    if (stream_open(in, STDIN_FILENO, false) < 0 || stream_open(out, STDOUT_FILENO, true) < 0)
        return MI_EIO;
    int null = file_open_dev_null();
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
        return MI_EIO;
    if (null > STDERR_FILENO)
        close(null);
    return 0;
}

struct stream stream_take_over_fd(int fd)
{
    return (struct stream){.fd = fd};
}

void stream_close(struct stream *s)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

static bool is_retryable_errno(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

ssize_t stream_read(const struct stream *s, char *p, size_t n)
{
    ssize_t got = s->socket ? recv(s->fd, p, n, MSG_DONTWAIT) : read(s->fd, p, n);
    if (got > 0)
        return got;
    if (got == 0)
        return MI_ENOENT;
    return is_retryable_errno() ? 0 : MI_EIO; /* EIO: the terminal has hung up */
}

ssize_t stream_write(const struct stream *s, const struct iovec *v, int n)
{
    ssize_t put;
    if (s->socket) {
        struct msghdr m = {.msg_iov = (struct iovec *)(uintptr_t)v};
        /* msg_iovlen is an int or a size_t, depending on libc; n is at most IOV_MAX, so it fits */
        m.msg_iovlen = (unsigned short)n;
        put = sendmsg(s->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
    } else if (s->shared) {
        put = write(s->fd, v[0].iov_base, size_min(v[0].iov_len, PIPE_BUF));
    } else if (n == 1) {
        put = write(s->fd, v[0].iov_base, v[0].iov_len);
    } else {
        put = writev(s->fd, v, n);
    }
    if (put > 0)
        return put;
    return put < 0 && !is_retryable_errno() ? MI_EIO : 0;
}
