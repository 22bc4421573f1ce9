/* server_path.h - where the server's command is searched: --path.
 *
 * Blocks    never. */
#ifndef MI_CLI_PROXY_SERVER_PATH_H
#define MI_CLI_PROXY_SERVER_PATH_H

#include "base/opt.h"

#define SERVER_PATH_MISSING "missing server: put its command after '--'"

/* Appends the values of --path to PATH, so that the server has them as well: `npx` is a script that looks for `node`.
 * 0, MI_EINVAL with a sentence in error, or MI_ENOMEM. */
MI_MUST int server_path_extend(const struct opt_set *s, struct buf *error);

#endif
