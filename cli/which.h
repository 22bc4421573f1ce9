/* which.h - where a program lies.
 *
 * Owns      nothing; every result is allocated and belongs to the caller.
 * Errors    NULL.
 * Blocks    on the file system only. */
#ifndef MI_CLI_WHICH_H
#define MI_CLI_WHICH_H

#include "base/base.h"

/* This program, by an absolute path: the one in PATH that is it, as that outlives an update, else its
 * own. NULL: errno says why. */
char *which_ourselves(void);
/* The directory of PATH that has this command, unless one of the system's usual directories has it.
 * NULL: they do, or nobody does. */
char *which_far_directory(const char *command);
/* A path below the working directory made absolute; it need not exist. NULL: no memory. */
char *which_absolute(const char *path);

#endif
