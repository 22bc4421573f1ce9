/* server_name.h - the name of a server in recordings, derived from its command.
 *
 * `npx -y @scope/server-x@1.2 /dir` is `server-x`, `python3 tools/mail.py` is `mail`,
 * `/opt/bin/s` is `s`, `node /opt/mail-server/dist/index.js` and `python
 * /srv/mail-server/server.py` are `mail-server`. A name is one short line without control
 * characters or slashes.
 * Blocks    never. Pure. */
#ifndef MI_CLI_FRAME_SERVER_NAME_H
#define MI_CLI_FRAME_SERVER_NAME_H

#include "base/base.h"

#define SERVER_NAME_MAX 65

/* Writes the name to ret, which must have SERVER_NAME_MAX bytes. given: the name from the options;
 * NULL: the name is derived from argv. */
void server_name_choose(const char *given, char *const *argv, char *ret);

#endif
