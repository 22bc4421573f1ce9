/* files.h - checks of `doctor`: the permissions of the vault, whether it can be written, the space
 * on the disk, databases that were put aside, and recent escalations.
 *
 * Blocks    on the disk. */
#ifndef MI_CLI_DOCTOR_FILES_H
#define MI_CLI_DOCTOR_FILES_H

#include "cli/doctor/checks.h"

/* Checks the owner and mode of each file, whether the vault can be written, the free disk space,
 * and whether there are damaged databases. */
void doctor_check_files(struct doctor *d);
/* Reports escalations that were written within the last day. */
void doctor_check_escalations(struct doctor *d);

#endif
