/* string.h - the text of a string or key in a configuration file, escapes resolved. */
#ifndef MI_CLI_WRAP_MCPFILE_STRING_H
#define MI_CLI_WRAP_MCPFILE_STRING_H

#include "cli/wrap/mcpfile/servers.h"

/* Appends the text of the token, which was scanned before and so is valid. */
void mcpfile_string(const struct mcpfile *f, struct span token, struct buf *b);

#endif
