/* elsewhere.h - files of other directories with wrapped servers: projects in which `wrap` was run
 * before.
 *
 * The files are known from their backups, which exist while any server of a file is wrapped.
 *
 * Blocks    on the file system only. */
#ifndef MI_CLI_WRAP_ELSEWHERE_H
#define MI_CLI_WRAP_ELSEWHERE_H

#include "cli/wrap/clients.h"

/* Adds files that have a backup in `backups` and a wrapped server and are not in the list, sorted
 * by path. Skips files that cannot be read or parsed. Returns 0 or MI_ENOMEM. */
MI_MUST int elsewhere_find(struct client_files *l, const char *backups);

#endif
