/* elsewhere.h - files of other directories in which servers are wrapped: the projects in which `wrap` was run before.
 *
 * They are known from the backups, which are kept as long as something in a file is wrapped.
 *
 * Blocks    on the file system only. */
#ifndef MI_CLI_WRAP_ELSEWHERE_H
#define MI_CLI_WRAP_ELSEWHERE_H

#include "cli/wrap/clients.h"

/* Adds each file that has a backup in the directory `backups` and a wrapped server, and is not in the list; sorted by
 * path. Files that cannot be read or parsed are skipped. 0 or MI_ENOMEM. */
MI_MUST int elsewhere_find(struct client_files *l, const char *backups);

#endif
