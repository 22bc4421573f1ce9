/* look.h - is what a session left behind, and what its peers got, what it has to be?
 *
 *   - What the peers got is what they get without faults; where memory failed, or recording under
 *     `stop`, some of it may be missing, in order, and each request has its one answer all the same.
 *   - Under `stop`, whatever was released was in the database before, and every line that a peer got is;
 *     under `pass`, what is not in there is counted in gap events (or, when the fault never ends, the
 *     log says that not everything is recorded).
 *   - Every row that is there is the one that was meant, and PRAGMA integrity_check says ok.
 *   - Every line of the log directory is whole; none is missing unless its memory or its file failed.
 *
 * Owns      a copy of what the peers get without faults.
 * Blocks    on the vault's file system only. */
#ifndef MI_TESTS_LOOK_H
#define MI_TESTS_LOOK_H

#include "base/base.h"

extern char look_verdict[1000]; /* why the last look was false */

/* Always false. */
bool look_bad(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void look_is_reference(const char *vault); /* the session just played had no fault */
bool look_at_peers(bool closed);           /* closed: the client's stream was, for want of memory */
bool look_at_vault(const char *vault);

#endif
