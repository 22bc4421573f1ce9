/* server_url.h - the URL that a server's command connects to, for error messages.
 *
 * base/server_url.h finds the URL.
 * Secrets   user, password, query and fragment are left out; the rest is sanitized.
 * Blocks    never. Pure. */
#ifndef MI_CLI_FRAME_SERVER_URL_H
#define MI_CLI_FRAME_SERVER_URL_H

#include "base/buf.h"

/* Appends the URL, if there is one. Sets b->failed if memory is short. */
void server_url_append_from_argv(char *const *argv, struct buf *b);

#endif
