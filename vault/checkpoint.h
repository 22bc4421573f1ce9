/* checkpoint.h - move the write-ahead log into the database, from a process that may wait for the disk.
 *
 * A checkpoint syncs files, which may take as long as the disk likes. A proxy never does it in the way of
 * a message: its attendant (proxy/attendant.h) calls this.
 * Blocks    on disk I/O, and for locks CHECKPOINT_WAIT_US at most. */
#ifndef MI_VAULT_CHECKPOINT_H
#define MI_VAULT_CHECKPOINT_H

#include "base/base.h"

#define CHECKPOINT_WAIT_US 8000

/* First what goes without holding anybody up, then the little that is left, which lets the log start
 * anew. 0 or MI_ESTORE: the vault is not there, or busy. */
MI_MUST int checkpoint_vault(const char *vault);

#endif
