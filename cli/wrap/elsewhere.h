/* elsewhere.h - finds configuration files with wrapped servers in other directories: projects in
 * which `wrap` was run before.
 *
 * The backups name these files: a file has a backup while any of its servers is wrapped.
 *
 * Blocks    on the file system only. */
#ifndef MI_CLI_WRAP_ELSEWHERE_H
#define MI_CLI_WRAP_ELSEWHERE_H

#include "cli/wrap/clients.h"

/* Adds the files that have a backup in the directory `backups` and a wrapped server, sorted by
 * path. Skips files that are in the list already, or cannot be read or parsed. Returns 0 or
 * MI_ENOMEM. */
MI_MUST int find_client_files_elsewhere(struct client_files *l, const char *backups);

#endif
