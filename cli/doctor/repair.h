/* repair.h - `doctor --repair`: reads what it can from databases that were put aside, and brings it
 * into the vault.
 *
 * Each session becomes an imported session, with an event `imported` that names the file. If all
 * that can be read of a session was brought in before, it is not brought in again. The damaged
 * files are not changed: the database is read through a hard link in a directory `.repair-PID` of
 * the vault or, if its header is destroyed, from a copy.
 *
 * Blocks    on the disk until everything is read. */
#ifndef MI_CLI_DOCTOR_REPAIR_H
#define MI_CLI_DOCTOR_REPAIR_H

#include "cli/doctor/checks.h"

void doctor_repair(struct doctor *d);

#endif
