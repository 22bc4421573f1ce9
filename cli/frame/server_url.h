/* server_url.h - the URL that a server's command connects to, for error messages.
 *
 * Which one that is, base/server_url.h says.
 * Secrets   user, password, query and fragment are left out; the rest is sanitized.
 * Blocks    never. Pure. */
#ifndef MI_CLI_FRAME_SERVER_URL_H
#define MI_CLI_FRAME_SERVER_URL_H

#include "base/buf.h"

/* Appends the URL; nothing if there is none. b->failed: out of memory. */
void server_url(char *const *argv, struct buf *b);

#endif
