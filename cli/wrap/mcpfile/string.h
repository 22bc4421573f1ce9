/* string.h - decodes strings and keys of a configuration file. */
#ifndef MI_CLI_WRAP_MCPFILE_STRING_H
#define MI_CLI_WRAP_MCPFILE_STRING_H

#include "cli/wrap/mcpfile/servers.h"

/* Appends the text of the token, with escapes resolved. The token must come from a scan, which has
 * checked it. */
void mcpfile_append_string(const struct mcpfile *f, struct span token, struct buf *b);

#endif
