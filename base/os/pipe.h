/* pipe.h - connects two processes by pipes, and by channels for short messages.
 *
 * All descriptors are close-on-exec from the start.
 *
 * Linux     pipe(2); a channel is a pair of SOCK_SEQPACKET sockets, unix(7).
 * Errors    MI_EIO: see errno.
 * Blocks    never, except reads and writes of a pipe that was opened without O_NONBLOCK. */
#ifndef MI_BASE_OS_PIPE_H
#define MI_BASE_OS_PIPE_H

#include "base/base.h"

#include <sys/types.h>

/* Opens a pipe: fd[0] is read, fd[1] is written. flags: 0 or O_NONBLOCK, for both ends. Returns 0
 * or MI_EIO. */
MI_MUST int pipe_open(int fd[2], int flags);

/* Enlarges the buffer of a pipe to at least n bytes, if the system allows it. Returns the previous
 * size, or 0 if the size was not changed. A larger buffer only saves time, so a system may do
 * nothing here. */
size_t pipe_widen(int fd, size_t n);
/* Reduces the buffer of a pipe to n bytes. Returns false if the buffer contains more than n
 * bytes now. */
bool pipe_reduce_buffer(int fd, size_t n);

/* Opens a channel of two ends; both can send and receive. A message has 1 to 4096 bytes and arrives
 * complete and in order, or not at all. Returns 0 or MI_EIO. */
MI_MUST int channel_open(int fd[2]);
/* Sends a message. Returns false, with errno, if the other end is closed or does not read; then the
 * message is lost. */
bool channel_send(int fd, const void *p, size_t n);
/* Sends a message of one byte together with an open file; the receiver gets a descriptor of the
 * file. */
bool channel_send_file(int fd, char what, int file);
/* Receives a message. Returns the number of bytes (the rest of a longer message is lost), 0 if no
 * message has arrived, MI_ENOENT if the other end is closed and every message was received, or
 * MI_EIO. *ret_file: the descriptor that came with the message, or -1; if ret_file is NULL, such a
 * descriptor is dropped. */
MI_MUST ssize_t channel_receive(int fd, void *p, size_t max, int *ret_file);

#endif
