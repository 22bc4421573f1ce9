/* stream.h - reads and writes without blocking, and without changing the flags of shared
 * descriptors.
 *
 * O_NONBLOCK belongs to the open file description, which is shared with the parent process. So a
 * pipe or a terminal is opened again (file_reopen()), and a socket is used with MSG_DONTWAIT. If
 * neither is possible, a write is limited to PIPE_BUF bytes, which a writable pipe accepts without
 * blocking (pipe(7)). A regular file never blocks.
 *
 * Owns      its descriptor.
 * Blocks    never, except on the disk for a regular file. */
#ifndef MI_BASE_IO_STREAM_H
#define MI_BASE_IO_STREAM_H

#include "base/base.h"

#include <sys/uio.h>

struct stream {
    int fd;      /* the descriptor; -1: closed */
    bool socket; /* the descriptor is a socket, which is used with MSG_DONTWAIT */
    bool shared; /* the descriptor may block, and its flags must not be changed */
};

/* Opens a private stream on the file of fd; fd stays open. Returns 0 or MI_EIO. */
MI_MUST int stream_open(struct stream *s, int fd, bool for_writing);
/* Turns stdin and stdout into private streams. Descriptors 0 and 1 become /dev/null: no other code
 * can write to stdout, and closing the streams closes the pipes. Returns 0, or MI_EIO with
 * errno. */
MI_MUST int stream_make_stdio_private(struct stream *in, struct stream *out);
/* Takes over a descriptor that is already non-blocking and not shared. */
struct stream stream_take_over_fd(int fd);
void stream_close(struct stream *s); /* safe to call twice */
/* Returns the number of bytes read, 0 if none are available now, MI_ENOENT at the end of the
 * stream, or MI_EIO. */
MI_MUST ssize_t stream_read(const struct stream *s, char *p, size_t n);
/* Returns the number of bytes written, 0 if the peer accepts none now, or MI_EIO if the peer has
 * closed or an error occurred. */
MI_MUST ssize_t stream_write(const struct stream *s, const struct iovec *v, int n);

#endif
