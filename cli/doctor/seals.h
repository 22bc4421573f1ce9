/* seals.h - checks of `doctor`: sessions that are not sealed and not running (docs/evidence.md).
 *
 * The end of a session seals it, also the end that another process records for a killed proxy. What is left:
 * a session on another machine or in a container, which cannot be looked at from here; one whose proxy was killed
 * before its process was recorded, and whose journal is gone; and one that has an end, which only a change of the vault
 * explains. A killed proxy of this machine is reported by the check of the proxies.
 *
 * Blocks    on the vault. */
#ifndef MI_CLI_DOCTOR_SEALS_H
#define MI_CLI_DOCTOR_SEALS_H

#include "cli/doctor/checks.h"

#define SEALS_IDLE_DAYS 1 /* a session elsewhere without a message for longer is reported */

void doctor_seals(struct doctor *d);

#endif
