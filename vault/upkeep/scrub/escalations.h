/* escalations.h - replaces secrets in the names in the table `escalations`. */
#ifndef MI_VAULT_UPKEEP_SCRUB_ESCALATIONS_H
#define MI_VAULT_UPKEEP_SCRUB_ESCALATIONS_H

#include "vault/upkeep/scrub/state.h"

/* Does nothing in a scan without changes: it finds the same names in the files of VAULT/Escalations.
 * 0, MI_ESTORE or MI_ENOMEM. */
MI_MUST int scrub_escalations(struct scrub *s);

#endif
