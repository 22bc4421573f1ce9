/* signing.h - checks of `doctor`: the key that signs checkpoints, and whether everything that has
 * ended is signed and anchored.
 *
 * Blocks    on the vault, and on the files of anchors. */
#ifndef MI_CLI_DOCTOR_SIGNING_H
#define MI_CLI_DOCTOR_SIGNING_H

#include "cli/doctor/checks.h"

void doctor_check_signing(struct doctor *d, const struct settings *s, bool has_vault);

#endif
