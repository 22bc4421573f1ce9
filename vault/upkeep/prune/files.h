/* files.h - the files that a prune run may remove, and those that it plans to remove.
 *
 * Blocks    on the disk. */
#ifndef MI_VAULT_UPKEEP_PRUNE_FILES_H
#define MI_VAULT_UPKEEP_PRUNE_FILES_H

#include "vault/upkeep/prune/state.h"

/* Finds the log files, the escalations, and the large bodies without a session, which an
 * interrupted removal leaves behind. Plans the removal of these bodies, and adds their size to
 * *bytes. Returns 0, MI_ESTORE or MI_ENOMEM. */
MI_MUST int prune_files_find(struct prune *p, int64_t *bytes);
/* Plans the removal of the large bodies of a session, and adds their size to *bytes. */
MI_MUST int prune_files_plan_bodies(struct prune *p, int64_t id, int64_t *bytes);
/* Plans the removal of the next file. Returns the size of the file. */
int64_t prune_files_plan_next_file(struct prune_files *f);
/* Plans the removal of the files whose data all precede the time until_us. Returns their total
 * size. */
int64_t prune_files_plan_until_time(struct prune_files *f, int64_t until_us);
void prune_files_close(struct prune_files *f);

#endif
