/* update.h - new answers for a cassette. They are collected during a verification and written at
 * its end.
 *
 * Rules     if a message was not verified, or matched, it does not change. The file is written
 *           completely or not at all.
 * Owns      the answers.
 * Errors    update_write() logs them.
 * Blocks    update_write() on the file. */
#ifndef MI_CLI_RECORDINGS_UPDATE_H
#define MI_CLI_RECORDINGS_UPDATE_H

#include "base/buf.h"

struct update;

MI_MUST int update_open(struct update **ret); /* returns 0 or MI_ENOMEM */
void update_close(struct update *u);          /* u may be NULL */
/* Replaces the recorded answer `seq` with this message. Returns 0 or MI_ENOMEM. */
MI_MUST int update_keep_answer(struct update *u, int64_t seq, struct slice message);
/* Writes the file. If there is no new answer, the file is not touched. Returns EXIT_FINE or
 * EXIT_TROUBLE. */
MI_MUST int update_write(struct update *u, const char *path);

#endif
