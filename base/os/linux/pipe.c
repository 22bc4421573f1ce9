#include "base/os/pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

int pipe_open(int fd[2], int flags)
{
    return pipe2(fd, O_CLOEXEC | flags) == 0 ? 0 : MI_EIO;
}

/* The pipes of one user should together have at most /proc/sys/fs/pipe-user-pages-soft pages;
 * pipe(7) describes what happens beyond this limit. */
size_t pipe_widen(int fd, size_t n)
{
    int before = fcntl(fd, F_GETPIPE_SZ);
    if (before < 0 || (size_t)before >= n || fcntl(fd, F_SETPIPE_SZ, (int)n) < 0)
        return 0;
    return (size_t)before;
}

bool pipe_reduce_buffer(int fd, size_t n)
{
    return fcntl(fd, F_SETPIPE_SZ, (int)n) >= 0 || errno != EBUSY;
}

/* ---- channels ------------------------------------------------------------------------------- */

/* Buffer for the control message of one descriptor. */
union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int))];
};

int channel_open(int fd[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd) == 0 ? 0
                                                                                          : MI_EIO;
}

bool channel_send(int fd, const void *p, size_t n)
{
    return send(fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)n;
}

bool channel_send_file(int fd, char what, int file)
{
    union control control = {0};
    struct iovec text = {&what, 1};
    struct msghdr m = {.msg_iov = &text,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof file);
    memcpy(CMSG_DATA(c), &file, sizeof file);
    return sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

ssize_t channel_receive(int fd, void *p, size_t max, int *ret_file)
{
    union control control;
    struct iovec text = {p, max};
    struct msghdr m = {.msg_iov = &text, .msg_iovlen = 1};
    if (ret_file != NULL) {
        m.msg_control = control.bytes;
        m.msg_controllen = sizeof control.bytes;
    }
    ssize_t n;
    /* A reset connection reports ECONNRESET once, before the end of the stream. */
    do
        n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (n < 0 && (errno == EINTR || errno == ECONNRESET));
    if (n < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : MI_EIO;
    if (n == 0)
        return MI_ENOENT;
    if (ret_file != NULL) {
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        *ret_file = -1;
        if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
            memcpy(ret_file, CMSG_DATA(c), sizeof *ret_file);
    }
    return n;
}
