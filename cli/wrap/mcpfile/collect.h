/* collect.h - recognizes servers among the values of a scan, by their paths, and adds them to the list. */
#ifndef MI_CLI_WRAP_MCPFILE_COLLECT_H
#define MI_CLI_WRAP_MCPFILE_COLLECT_H

#include "cli/wrap/mcpfile/value.h"

/* Whether the current path is that of a server, by its name or as an element of a list. */
bool mcpfile_is_server(struct mcpfile_scan *s);
/* Whether the value at the current path is the array of args of a server, or of its command and args. */
bool mcpfile_is_args(struct mcpfile_scan *s);
void mcpfile_add_arg(struct mcpfile_scan *s, struct span token);
/* Adds the value to its server if it is a member of one. */
void mcpfile_collect(struct mcpfile_scan *s, const struct mcpfile_value *v);

#endif
