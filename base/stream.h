/* stream.h - a descriptor that never blocks us and whose flags nobody else sees change.
 *
 * O_NONBLOCK belongs to the open file description, which we share with whoever started us. So a pipe or
 * a terminal is opened anew through /proc; a socket is used with MSG_DONTWAIT; where neither goes, a
 * write is cut to what a writable pipe must take (PIPE_BUF, pipe(7)); a regular file never blocks.
 *
 * Owns      its descriptor.
 * Blocks    never, except on the disk for a regular file. */
#ifndef MI_BASE_STREAM_H
#define MI_BASE_STREAM_H

#include "base/base.h"

#include <sys/uio.h>

struct stream {
    int fd;      /* -1: closed */
    bool socket; /* read and written with MSG_DONTWAIT */
    bool shared; /* blocking, and not ours to change */
};

/* A private stream on the same file as fd, which stays open. 0 or MI_EIO. */
MI_MUST int stream_open(struct stream *s, int fd, bool for_writing);
/* Our stdin and stdout become private streams. Descriptors 0 and 1 become /dev/null, so that nothing else
 * can write to whoever reads our stdout, and the pipes close when the streams do. 0, or MI_EIO and errno. */
MI_MUST int stream_take_stdio(struct stream *in, struct stream *out);
/* Takes over a descriptor of ours that is non-blocking already. */
struct stream stream_own(int fd);
void stream_close(struct stream *s); /* safe to call twice */
/* Bytes read; 0: nothing there now; MI_ENOENT: end of stream; MI_EIO: an error, taken as the end. */
MI_MUST ssize_t stream_read(const struct stream *s, char *p, size_t n);
/* Bytes written; 0: no more fits now; MI_EIO: nobody will read any more, or an error. */
MI_MUST ssize_t stream_write(const struct stream *s, const struct iovec *v, int n);

#endif
