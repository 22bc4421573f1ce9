/* update.h - new answers for a cassette: kept while a verification runs, written when it is over.
 *
 * Rules     what was not verified, or matched, stays as it is; the file is written whole or not at all.
 * Owns      the answers.
 * Errors    update_write() tells them on stderr.
 * Blocks    update_write() on the file. */
#ifndef MI_CLI_UPDATE_H
#define MI_CLI_UPDATE_H

#include "base/buf.h"

struct update;

MI_MUST int update_open(struct update **ret); /* 0 or MI_ENOMEM */
void update_close(struct update *u);          /* NULL is fine */
/* The recorded answer `seq` shall be this message. 0 or MI_ENOMEM. */
MI_MUST int update_keep(struct update *u, int64_t seq, struct slice message);
/* EXIT_FINE or EXIT_TROUBLE. Without anything kept the file is not touched. */
MI_MUST int update_write(struct update *u, const char *path);

#endif
