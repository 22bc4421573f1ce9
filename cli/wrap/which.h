/* which.h - finds programs.
 *
 * Owns      nothing; every result is allocated and belongs to the caller.
 * Errors    functions that return a path return NULL.
 * Blocks    on the file system only. */
#ifndef MI_CLI_WRAP_WHICH_H
#define MI_CLI_WRAP_WHICH_H

#include "base/base.h"

/* Returns the absolute path of this program. Prefers a path in PATH that leads to the program,
 * because such a path stays valid after an update. Returns NULL with errno set on an error. */
char *which_get_own_path(void);
/* Whether the plain name mcp-interposer leads to this program through PATH. */
bool which_program_is_in_path(void);
/* Returns the directory of PATH that contains this command; NULL: no directory contains it, or the
 * directory is a standard system directory. */
char *which_find_nonstandard_dir(const char *command);
/* Makes a path absolute; the file need not exist. Returns NULL if memory is short. */
char *which_make_path_absolute(const char *path);

#endif
