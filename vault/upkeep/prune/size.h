/* size.h - computes the size of a vault, and the bytes that removing a session frees.
 *
 * Pages     the rows of a session are next to each other in `messages`, and SQLite fills a page
 *           before it begins the next one (https://www.sqlite.org/fileformat2.html, "B-tree
 *           Pages"). So the number of pages is computed from the sizes of the rows in their order.
 *           Sessions that were recorded at the same time share pages: the sum of their sizes is
 *           right, but the size of each of them is not exact.
 * Blocks    on the disk: reads the rows of the session, but not the files. */
#ifndef MI_VAULT_UPKEEP_PRUNE_SIZE_H
#define MI_VAULT_UPKEEP_PRUNE_SIZE_H

#include "vault/upkeep/prune/state.h"

/* Computes the size of the vault in bytes: used pages of the database, large bodies, log files,
 * escalations, and the search index. Free pages, the write-ahead log, and damaged databases that
 * were renamed are not counted. Returns 0 or MI_ESTORE. */
MI_MUST int prune_compute_vault_size(struct prune *p, int64_t *ret);
/* Computes how many bytes removing a session frees: its rows, and its index file for searches,
 * unless that file was counted for an earlier session. Large bodies are not counted. Adds the
 * session's messages to those of the plan. Call it for the sessions in the order of their ids.
 * Returns 0 or MI_ESTORE. */
MI_MUST int prune_add_session_size(struct prune *p, int64_t id, int64_t *ret);

#endif
