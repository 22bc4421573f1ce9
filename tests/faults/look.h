/* look.h - checks what a session recorded and what its peers received.
 *
 *   - The peers receive the same lines as without faults, in the same order. If an allocation failed, or
 *     recording under `stop`, lines may be missing, but each request still has exactly one answer.
 *   - After the next command that uses the vault, every message that was released is in the database once. Under
 *     `pass`, those that did not fit into the journal are missing, and counted in gap events (or, if the fault never
 *     ends, the log says that some messages were not recorded). With sync_full (the faults of `sync`), a message
 *     is in the database before it is released.
 *   - Every row in the database equals the row that was added, and PRAGMA integrity_check reports ok.
 *   - Every line of the log directory is complete; none is missing unless an allocation or the file failed.
 *
 * Owns      a copy of what the peers receive without faults.
 * Blocks    on the vault's file system only. */
#ifndef MI_TESTS_LOOK_H
#define MI_TESTS_LOOK_H

#include "base/base.h"

extern char look_verdict[1000]; /* why the last check failed */

/* Always false. */
bool look_bad(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void look_is_reference(
    const char *vault);          /* the last session had no fault: keep it for comparison */
bool look_at_peers(bool closed); /* closed: the client's stream was closed because memory ran out */
bool look_at_vault(const char *vault);

#endif
