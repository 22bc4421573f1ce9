/* seals.h - checks of `doctor`: sessions that are not sealed and not running (docs/evidence.md).
 *
 * The end of a session seals it, even if the proxy was killed and another process recorded the end.
 * Three kinds of sessions stay unsealed: a session of another machine or of a container, which
 * cannot be examined from here; a session whose proxy was killed before its process was recorded,
 * and whose journal is gone; and a session that has an end but no seal, which means that the vault
 * was changed. For killed proxies of this machine, see the check of the proxies.
 *
 * Blocks    on the vault. */
#ifndef MI_CLI_DOCTOR_SEALS_H
#define MI_CLI_DOCTOR_SEALS_H

#include "cli/doctor/checks.h"

/* days without a message after which a session of another machine is reported */
#define SEALS_IDLE_DAYS 1

void doctor_check_seals(struct doctor *d);

#endif
