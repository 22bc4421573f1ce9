/* ask.h - asks the person at the terminal: before something is removed, and for a secret.
 *
 * Blocks    until a line is entered. */
#ifndef MI_CLI_FRAME_ASK_H
#define MI_CLI_FRAME_ASK_H

#include "base/buf.h"

/* Somebody can read the question and answer it: stdin and stderr are terminals. */
bool ask_possible(void);
/* Writes the question and `[y/N]` to stderr, and reads a line of stdin. true: it is `y` or `yes`. */
bool ask_yes(const char *question);
/* Bytes. A terminal's line has at most 4095 (N_TTY): the kernel drops the rest, without a sign. */
#define ASK_SECRET_MAX ((size_t)4094)
/* Writes the question to stderr, and appends a line of the terminal, which it does not show, without its end. A signal has its
 * effect after the terminal is as it was. 0; MI_ENOENT: nothing was entered; MI_EFULL: more than ASK_SECRET_MAX. */
MI_MUST int ask_secret(const char *question, struct buf *ret);

#endif
