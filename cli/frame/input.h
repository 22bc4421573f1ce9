/* input.h - reads whole files, and verifier keys.
 *
 * Owns      nothing: text is appended to the caller's buffer.
 * Errors    a message on stderr; the functions return the exit status.
 * Blocks    on the file. */
#ifndef MI_CLI_FRAME_INPUT_H
#define MI_CLI_FRAME_INPUT_H

#include "evidence/key.h"

/* Reads a file (`-` is stdin) of at most `max` bytes. Returns EXIT_FINE or EXIT_TROUBLE. */
MI_MUST int input_read_path(const char *path, size_t max, struct buf *b);
/* Reads a verifier key: `key` is the key itself, or a file that contains it. Returns EXIT_FINE,
 * EXIT_USAGE or EXIT_TROUBLE. */
MI_MUST int input_read_public_key(const char *key, struct public_key *ret);

#endif
