/* collect.h - collects servers and their members while a configuration file is scanned. The keys
 * above a value, its path, tell to which server and member the value belongs. */
#ifndef MI_CLI_WRAP_MCPFILE_COLLECT_H
#define MI_CLI_WRAP_MCPFILE_COLLECT_H

#include "cli/wrap/mcpfile/value.h"

/* Whether the current path leads to a server, by its name or as an element of a list. */
bool mcpfile_path_is_server(struct mcpfile_scan *s);
/* Whether the value at the current path holds the args of a server, or an array of its command and
 * args. */
bool mcpfile_path_is_args(struct mcpfile_scan *s);
/* Appends a string to mcpfile.arg. */
void mcpfile_add_arg(struct mcpfile_scan *s, struct span token);
/* If the value at the current path is a member of a server, adds it to that server. */
void mcpfile_collect(struct mcpfile_scan *s, const struct mcpfile_value *v);

#endif
