/* input.h - files that are read whole, and verifier keys.
 *
 * Owns      nothing: the text is appended to the caller's buffer.
 * Errors    a message on stderr; the exit status to end with.
 * Blocks    on the file. */
#ifndef MI_CLI_FRAME_INPUT_H
#define MI_CLI_FRAME_INPUT_H

#include "evidence/key.h"

/* An open file, from where it is to its end, or a file: at most `max` bytes. 0 or, without a message, an errno, such as
 * EFBIG or ENOMEM. */
MI_MUST int input_read_fd(int fd, size_t max, struct buf *b);
MI_MUST int input_read_file(const char *path, size_t max, struct buf *b);
/* The same with a message; "-": stdin. EXIT_FINE, or EXIT_TROUBLE. */
MI_MUST int input_read(const char *path, size_t max, struct buf *b);
/* A verifier key: the text itself, or a file with it. EXIT_FINE, EXIT_USAGE or EXIT_TROUBLE. */
MI_MUST int input_key(const char *key, struct public_key *ret);

#endif
