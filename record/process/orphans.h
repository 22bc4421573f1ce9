/* orphans.h - stores the journals that are left after both processes of a session were killed.
 *
 * A journal is an orphan if neither of its locks is held. An orphan is stored as the session's own
 * recorder process would have stored it: exactly once (store.h), with the session's rules for
 * secrets in addition to the active rules. Then the session is closed and the journal removed. If
 * several processes find an orphan, one of them stores it. A journal of another version of the
 * program is not touched, and a journal that cannot be stored now is kept. A file that never became
 * a journal, because its proxy was killed while making it, is removed after ORPHANS_UNFINISHED_US.
 * Blocks    on the disk. All journals together wait at most ORPHANS_WAIT_US for a locked database;
 *           after ORPHANS_SAY_US the wait is logged, unless `between` is set. If the directory is
 *           empty, the only cost is one opendir(3). */
#ifndef MI_RECORD_PROCESS_ORPHANS_H
#define MI_RECORD_PROCESS_ORPHANS_H

#include "base/base.h"

#define ORPHANS_WAIT_US 2000000
#define ORPHANS_SAY_US 250000
#define ORPHANS_UNFINISHED_US 60000000 /* a younger file may be a journal that is being made */

/* Stores the orphans of this vault; the vault need not exist. between: called after each
 * transaction, or NULL. */
void orphans_store_all(const char *vault, void (*between)(void *ctx), void *ctx);

#endif
