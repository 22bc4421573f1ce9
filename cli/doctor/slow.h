/* slow.h - checks of `doctor`: tools whose calls took more than two thirds of their deadline, or reached it.
 *
 * Only the sessions of the last SLOW_DAYS days are read, and at most the newest SLOW_SESSIONS. A call that took longer
 * than its deadline and was answered reported progress, or had another deadline: it does not count. Neither do imported
 * sessions.
 *
 * Blocks    on the vault. */
#ifndef MI_CLI_DOCTOR_SLOW_H
#define MI_CLI_DOCTOR_SLOW_H

#include "cli/doctor/checks.h"
#include "cli/doctor/rules.h"

#define SLOW_DAYS 7
#define SLOW_SESSIONS 200
#define SLOW_TOOLS 512 /* others are not counted */

void doctor_slow(struct doctor *d, const struct rules *rules);

#endif
