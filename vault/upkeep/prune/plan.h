/* plan.h - selects the sessions and files that a prune run removes. */
#ifndef MI_VAULT_UPKEEP_PRUNE_PLAN_H
#define MI_VAULT_UPKEEP_PRUNE_PLAN_H

#include "vault/upkeep/prune/state.h"

/* Makes the plan. Returns 0, MI_EBUSY or MI_ESTORE (with a sentence in p->d.error), or
 * MI_ENOMEM. */
MI_MUST int prune_make_plan(struct prune *p);

#endif
