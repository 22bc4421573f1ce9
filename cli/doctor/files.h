/* files.h - checks of `doctor`: permissions of the vault, whether it can be written, disk space, databases that
 * were put aside, recent escalations.
 *
 * Blocks    on the disk. */
#ifndef MI_CLI_DOCTOR_FILES_H
#define MI_CLI_DOCTOR_FILES_H

#include "cli/doctor/checks.h"

void doctor_files(
    struct doctor *d); /* owner and mode of each file; writing; disk space; damaged databases */
void doctor_escalations(struct doctor *d); /* those written within a day */

#endif
