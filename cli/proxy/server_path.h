/* server_path.h - where the command of the server is searched: --path.
 *
 * Blocks    never. */
#ifndef MI_CLI_PROXY_SERVER_PATH_H
#define MI_CLI_PROXY_SERVER_PATH_H

#include "base/opt.h"

#define SERVER_PATH_MISSING "missing server: put its command after '--'"

/* Appends the values of --path to PATH. The server inherits this PATH and needs it, too: `npx` is a
 * script that looks for `node`. Returns 0 or MI_ENOMEM; or MI_EINVAL, then error holds a
 * sentence. */
MI_MUST int server_path_extend(const struct opt_set *s, struct buf *error);

#endif
