/* size.h - how large a vault is, and how much smaller it is without a session.
 *
 * Pages     the rows of a session are next to each other in `messages`, and SQLite fills a page before it begins the
 *           next one (https://www.sqlite.org/fileformat2.html, "B-tree Pages"). So the size of the rows in order gives
 *           the number of pages. Sessions that were recorded at the same time share pages: the sum of their sizes is right,
 *           and the size of one of them is not exact.
 * Blocks    on the disk: reads the rows of the session, but not the files. */
#ifndef MI_VAULT_UPKEEP_PRUNE_SIZE_H
#define MI_VAULT_UPKEEP_PRUNE_SIZE_H

#include "vault/upkeep/prune/state.h"

/* The vault's bytes: the used pages of the database, large bodies, log files, escalations, and the search index. Not
 * counted: free pages, the write-ahead log, and databases that were put aside. 0 or MI_ESTORE. */
MI_MUST int prune_size_vault(struct prune *p, int64_t *ret);
/* The bytes that removing the session frees: its rows, and the file of the search index that it is in, if that was not
 * counted for another session. Its messages are added to those of the plan. Call it for sessions in the order of their ids. Without its large bodies. 0 or MI_ESTORE. */
MI_MUST int prune_size_session(struct prune *p, int64_t id, int64_t *ret);

#endif
