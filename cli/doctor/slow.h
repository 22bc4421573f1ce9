/* slow.h - checks of `doctor`: tools whose calls took more than two thirds of their deadline, or reached it.
 *
 * The sessions of the last SLOW_DAYS days are read, and SLOW_TOOLS tools in them; the report says if there are more. A call that took longer
 * than its deadline and was answered reported progress, or had another deadline: it does not count. Neither do imported
 * sessions.
 *
 * Blocks    on the vault. */
#ifndef MI_CLI_DOCTOR_SLOW_H
#define MI_CLI_DOCTOR_SLOW_H

#include "cli/doctor/checks.h"
#include "cli/doctor/rules.h"

#define SLOW_DAYS 7
#define SLOW_TOOLS 512

void doctor_slow(struct doctor *d, const struct rules *rules);

#endif
