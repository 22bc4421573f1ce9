/* wrapped.h - checks of `doctor`: the configuration files of MCP clients.
 *
 * Blocks    on the disk. */
#ifndef MI_CLI_DOCTOR_WRAPPED_H
#define MI_CLI_DOCTOR_WRAPPED_H

#include "cli/doctor/checks.h"

void doctor_wrapped(struct doctor *d); /* wrapped servers whose programs do not exist */

#endif
