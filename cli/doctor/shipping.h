/* shipping.h - a check of `doctor`: whether the vault was sent to its central stores.
 *
 * Blocks    on the vault. */
#ifndef MI_CLI_DOCTOR_SHIPPING_H
#define MI_CLI_DOCTOR_SHIPPING_H

#include "cli/doctor/checks.h"

/* If the configuration has no target and the vault was never sent, nothing is checked. */
void doctor_check_shipping(struct doctor *d, const char *url);

#endif
