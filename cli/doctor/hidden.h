/* hidden.h - checks of `doctor`: tools that a client called and that a rule hides from it (docs/context.md).
 *
 * All calls of the last HIDDEN_DAYS days count, except those of imported sessions.
 * Blocks    on the vault. */
#ifndef MI_CLI_DOCTOR_HIDDEN_H
#define MI_CLI_DOCTOR_HIDDEN_H

#include "cli/doctor/checks.h"

#define HIDDEN_DAYS 7

void doctor_hidden(struct doctor *d);

#endif
