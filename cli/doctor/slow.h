/* slow.h - checks of `doctor`: tools whose calls took more than two thirds of their deadline, or reached it.
 *
 * All calls of the last SLOW_DAYS days count, except those of imported sessions. A call that took longer than its deadline
 * and was answered reported progress, or had another deadline: it does not count.
 *
 * Blocks    on the vault. */
#ifndef MI_CLI_DOCTOR_SLOW_H
#define MI_CLI_DOCTOR_SLOW_H

#include "cli/doctor/checks.h"
#include "cli/doctor/rules.h"

#define SLOW_DAYS 7

void doctor_slow(struct doctor *d, const struct rules *rules);

#endif
