/* send_list.h - prints the tools of a server with their arguments, as `send --list` does.
 *
 * Blocks    as stdout does. */
#ifndef MI_CLI_SEND_SEND_LIST_H
#define MI_CLI_SEND_SEND_LIST_H

#include "cli/frame/out.h"
#include "wire/schema/tools.h"

/* Prints the tools of a server. If `json` is true, prints each definition on one line, as the
 * server wrote it. Returns EXIT_FINE, EXIT_TROUBLE, or EXIT_FOUND (after a message on stderr) if
 * the server did not list its tools. */
MI_MUST int list_tools(const struct tools *t, bool json);

#endif
