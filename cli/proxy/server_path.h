/* server_path.h - --path: directories in which the command of the server is searched.
 *
 * Blocks    never. */
#ifndef MI_CLI_PROXY_SERVER_PATH_H
#define MI_CLI_PROXY_SERVER_PATH_H

#include "base/opt.h"

#define SERVER_PATH_MISSING "missing server: put its command after '--'"

/* Appends the values of --path to the environment variable PATH, which the server inherits: `npx`,
 * for example, is a script that looks for `node`. Returns 0, MI_ENOMEM or MI_EINVAL; for MI_EINVAL,
 * `error` holds a sentence. */
MI_MUST int server_path_extend(const struct opt_set *s, struct buf *error);

#endif
