/* recorders.h - checks of `doctor`: the directory of the journals, the recorder process of each
 * running session, and whether the recorder is confined.
 *
 * Blocks    up to RECORDER_SETTLE_MS for each recorder that has something to store. */
#ifndef MI_CLI_DOCTOR_RECORDERS_H
#define MI_CLI_DOCTOR_RECORDERS_H

#include "cli/doctor/checks.h"

#define RECORDER_SETTLE_MS 1000

void doctor_check_recorders(struct doctor *d);
/* Checks only the journals that killed sessions have left. This is for a vault that does not
 * exist. */
void doctor_check_journals(struct doctor *d);

#endif
