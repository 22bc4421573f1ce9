/* server_url.h - the URL that a server's command connects to, for error messages.
 *
 * `npx -y mcp-remote https://example.com/mcp --header …` has https://example.com/mcp. The first argument that is a URL
 * counts, unless it is the value of an option.
 * Secrets   user, password, query and fragment are left out; the rest is sanitized.
 * Blocks    never. Pure. */
#ifndef MI_CLI_FRAME_SERVER_URL_H
#define MI_CLI_FRAME_SERVER_URL_H

#include "base/buf.h"

/* Appends the URL; nothing if there is none. b->failed: out of memory. */
void server_url(char *const *argv, struct buf *b);

#endif
