/* git.h - whether a file belongs to the work tree of a git repository, which other people check out elsewhere.
 *
 * Blocks    on the file system only. */
#ifndef MI_CLI_WRAP_GIT_H
#define MI_CLI_WRAP_GIT_H

#include "base/base.h"

/* A directory or file `.git` is in a directory above the file (gitrepository-layout(5)). path: absolute, links
 * resolved. False if out of memory. */
bool git_contains(const char *path);

#endif
