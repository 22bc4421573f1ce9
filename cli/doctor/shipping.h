/* shipping.h - the check of what was sent to central stores.
 *
 * Blocks    on the vault. */
#ifndef MI_CLI_DOCTOR_SHIPPING_H
#define MI_CLI_DOCTOR_SHIPPING_H

#include "cli/doctor/checks.h"

/* Nothing is checked if the configuration has no target, and the vault was never sent. */
void doctor_shipping(struct doctor *d, const char *url);

#endif
