/* which.h - finds programs.
 *
 * Owns      nothing; every result is allocated and belongs to the caller.
 * Errors    NULL.
 * Blocks    on the file system only. */
#ifndef MI_CLI_WRAP_WHICH_H
#define MI_CLI_WRAP_WHICH_H

#include "base/base.h"

/* The absolute path of this program: preferably a path in PATH that leads to it, because that stays valid after an
 * update. NULL: see errno. */
char *which_this_program(void);
/* Whether PATH leads to this program by its plain name, mcp-interposer. */
bool which_is_in_path(void);
/* The directory of PATH that contains this command. NULL: none, or a standard system directory. */
char *which_far_directory(const char *command);
/* Makes a path absolute; it need not exist. NULL: out of memory. */
char *which_absolute(const char *path);

#endif
