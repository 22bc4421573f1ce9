/* input.h - reads whole files, and verifier keys.
 *
 * Owns      nothing: text is appended to the caller's buffer.
 * Errors    a message on stderr; the functions return the exit status.
 * Blocks    on the file. */
#ifndef MI_CLI_FRAME_INPUT_H
#define MI_CLI_FRAME_INPUT_H

#include "evidence/key.h"

/* Read an open file from its position, or a file by its path: at most `max` bytes. Return 0 or,
 * without a message, an errno such as EFBIG or ENOMEM. */
MI_MUST int input_read_fd(int fd, size_t max, struct buf *b);
MI_MUST int input_read_file(const char *path, size_t max, struct buf *b);
/* Reads a file (`-` is stdin), with a message if that fails. Returns EXIT_FINE or EXIT_TROUBLE. */
MI_MUST int input_read(const char *path, size_t max, struct buf *b);
/* Reads a verifier key: `key` is the key itself, or a file that contains it. Returns EXIT_FINE,
 * EXIT_USAGE or EXIT_TROUBLE. */
MI_MUST int input_read_public_key(const char *key, struct public_key *ret);

#endif
