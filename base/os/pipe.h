/* pipe.h - what connects two processes: pipes, and channels for short messages.
 *
 * All descriptors are close-on-exec from the start.
 *
 * Linux     pipe(2); a channel is a pair of SOCK_SEQPACKET sockets, unix(7).
 * Errors    MI_EIO: see errno.
 * Blocks    never; a pipe as its flags say. */
#ifndef MI_BASE_OS_PIPE_H
#define MI_BASE_OS_PIPE_H

#include "base/base.h"

#include <sys/types.h>

/* fd[0] is read, fd[1] is written. flags: 0 or O_NONBLOCK, for both. 0 or MI_EIO. */
MI_MUST int pipe_open(int fd[2], int flags);

/* Lets a pipe hold at least n bytes, if the system allows that. Returns how many it held before; 0: nothing was changed.
 * Only faster: it may do nothing. */
size_t pipe_widen(int fd, size_t n);
/* Lets it hold n bytes again. False: more are in it. */
bool pipe_narrow(int fd, size_t n);

/* Two ends; both send and receive. A message has 1 to 4096 bytes and arrives whole and in order, or not at all. 0 or
 * MI_EIO. */
MI_MUST int channel_open(int fd[2]);
/* False: the other end is closed, or does not read; the message is lost. See errno. */
bool channel_send(int fd, const void *p, size_t n);
/* A message of one byte with an open file, of which the receiver gets a descriptor. */
bool channel_send_file(int fd, char what, int file);
/* The number of bytes; the rest of a longer message is lost. 0: none has arrived; MI_ENOENT: the other end is closed,
 * and all was received; MI_EIO. ret_file: the descriptor that came with it, or -1; NULL: it is dropped. */
MI_MUST ssize_t channel_receive(int fd, void *p, size_t max, int *ret_file);

#endif
