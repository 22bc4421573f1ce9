/* git.h - is a file in the work tree of a git repository, which other people check out elsewhere?
 *
 * Blocks    on the file system only. */
#ifndef MI_CLI_WRAP_GIT_H
#define MI_CLI_WRAP_GIT_H

#include "base/base.h"

/* Whether a directory above the file contains a directory or file `.git` (gitrepository-layout(5)).
 * path: absolute, links resolved. Returns false if memory is short. */
bool git_repository_contains(const char *path);

#endif
