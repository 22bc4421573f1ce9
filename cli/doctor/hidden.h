/* hidden.h - checks of `doctor`: tools that a client called although a rule hides them from it
 * (docs/context.md).
 *
 * The check counts all calls of the last HIDDEN_DAYS days, except those of imported sessions.
 * Blocks    on the vault. */
#ifndef MI_CLI_DOCTOR_HIDDEN_H
#define MI_CLI_DOCTOR_HIDDEN_H

#include "cli/doctor/checks.h"

#define HIDDEN_DAYS 7

void doctor_check_hidden_tools(struct doctor *d);

#endif
