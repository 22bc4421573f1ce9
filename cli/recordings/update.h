/* update.h - new answers for a cassette: collected during a verification, written at its end.
 *
 * Rules     messages that were not verified, or matched, are unchanged; the file is written whole or not at all.
 * Owns      the answers.
 * Errors    update_write() logs them.
 * Blocks    update_write() on the file. */
#ifndef MI_CLI_RECORDINGS_UPDATE_H
#define MI_CLI_RECORDINGS_UPDATE_H

#include "base/buf.h"

struct update;

MI_MUST int update_open(struct update **ret); /* 0 or MI_ENOMEM */
void update_close(struct update *u);          /* NULL is allowed */
/* Replaces the recorded answer `seq` with this message. 0 or MI_ENOMEM. */
MI_MUST int update_keep(struct update *u, int64_t seq, struct slice message);
/* EXIT_FINE or EXIT_TROUBLE. Without an answer the file is not touched. */
MI_MUST int update_write(struct update *u, const char *path);

#endif
