/* repair.h - `doctor --repair`: brings what can be read of databases that were put aside into the vault.
 *
 * Each session becomes an imported one, with an event `imported` that names the file. A session that was brought in
 * before, as far as it can be read, is not brought in again. The damaged files are not changed: the database is read
 * through a hard link in a directory `.repair-PID` of the vault, or through a copy if its header is destroyed.
 *
 * Blocks    on the disk, as long as reading everything takes. */
#ifndef MI_CLI_DOCTOR_REPAIR_H
#define MI_CLI_DOCTOR_REPAIR_H

#include "cli/doctor/checks.h"

void doctor_repair(struct doctor *d);

#endif
