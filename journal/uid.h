/* uid.h - the public name of a session: sortable by time, unique without coordination.
 *
 * Form      26 characters of Crockford's base 32: 48 bits of milliseconds since the Unix epoch,
 *           then 80 random bits. Safe in file names and URLs.
 * Blocks    never, once the kernel's random pool is ready (getentropy(3)). */
#ifndef MI_JOURNAL_UID_H
#define MI_JOURNAL_UID_H

#include "base/base.h"

#define UID_LEN 26

/* Makes a uid. ret has UID_LEN + 1 bytes. Returns 0 or MI_EIO. */
MI_MUST int uid_make(int64_t wall_us, char *ret);
/* Writes the first 10 characters of uids made at wall_us, and a NUL. A uid that is made later never
 * sorts before this text. */
#define UID_TIME_LEN 10
void uid_make_time_prefix(int64_t wall_us, char ret[UID_TIME_LEN + 1]);
/* Whether a text has the form of a uid. */
bool uid_is_valid(struct slice text);

#endif
