/* wrapped.h - checks of `doctor`: the configuration files of MCP clients.
 *
 * Blocks    on the disk. */
#ifndef MI_CLI_DOCTOR_WRAPPED_H
#define MI_CLI_DOCTOR_WRAPPED_H

#include "cli/doctor/checks.h"
#include "cli/doctor/deadline_rules.h"

/* Reports wrapped servers whose programs do not exist or whose options are invalid, and names the
 * servers of plugins. Adds the deadlines of wrapped servers to `rules`. */
void doctor_check_wrapped_servers(struct doctor *d, struct rules *rules);

#endif
