/* slow.h - checks of `doctor`: tools whose calls took more than two thirds of their deadline, or
 * reached it.
 *
 * The check reads all calls of the last SLOW_DAYS days, except those of imported sessions. It
 * ignores calls that were answered after their deadline: they reported progress, or had another
 * deadline.
 *
 * Blocks    on the vault. */
#ifndef MI_CLI_DOCTOR_SLOW_H
#define MI_CLI_DOCTOR_SLOW_H

#include "cli/doctor/checks.h"
#include "cli/doctor/deadline_rules.h"

#define SLOW_DAYS 7

void doctor_check_slow_tools(struct doctor *d, const struct rules *rules);

#endif
