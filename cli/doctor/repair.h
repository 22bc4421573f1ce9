/* repair.h - `doctor --repair`: reads what can be read from damaged databases that were put aside,
 * and imports it into the vault.
 *
 * Each session becomes an imported session, with an event `imported` that names the file. A session
 * is not imported again if everything that can be read of it was imported before. The damaged files
 * are not changed: the database is read through a hard link in a directory `.repair-PID` of the
 * vault or, if the header of the database is destroyed, from a copy.
 *
 * Blocks    on the disk until everything is read. */
#ifndef MI_CLI_DOCTOR_REPAIR_H
#define MI_CLI_DOCTOR_REPAIR_H

#include "cli/doctor/checks.h"

void doctor_repair(struct doctor *d);

#endif
