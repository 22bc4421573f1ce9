/* ask.h - asks the person at the terminal: for confirmation, and for a secret.
 *
 * Blocks    until a line is entered. */
#ifndef MI_CLI_FRAME_ASK_H
#define MI_CLI_FRAME_ASK_H

#include "base/buf.h"

/* Returns true if somebody can read and answer a question: stdin and stderr must be terminals. */
bool ask_user_has_terminal(void);
/* Writes the question and `[y/N]` to stderr, and reads a line from stdin. Returns true if the line
 * is `y` or `yes`. */
bool ask_user_for_yes(const char *question);
/* Maximum bytes of a secret. A line of a terminal has at most 4095 bytes (N_TTY); the kernel
 * silently drops the rest of a longer line. */
#define ASK_SECRET_MAX ((size_t)4094)
/* Writes the question to stderr, reads a line without echo, and appends it without its newline. A
 * signal takes effect after the terminal is restored. Returns 0; MI_ENOENT: nothing was entered;
 * MI_EFULL: more than ASK_SECRET_MAX bytes. */
MI_MUST int ask_user_to_type_secret(const char *question, struct buf *ret);

#endif
