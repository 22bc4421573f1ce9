/* tape.h - messages to be added to a cassette: collected during a replay, written at its end.
 *
 * Rules     the messages of the file stay, and the new ones follow; or the file has the new ones alone. The file is written
 *           whole or not at all, and read strictly before it replaces another.
 *           Messages are sanitized.
 * Owns      the messages.
 * Errors    tape_write() logs them.
 * Blocks    tape_write() on the files. */
#ifndef MI_CLI_RECORDINGS_TAPE_H
#define MI_CLI_RECORDINGS_TAPE_H

#include "vault/cassette/file.h"

struct tape;

/* from: the cassette whose messages come first; NULL: none. `header`: of a new cassette, if `from` is NULL. to: the file to
 * write. All borrowed. 0 or MI_ENOMEM. */
MI_MUST int tape_open(struct tape **ret, const char *from, const struct query_session *header,
                      const char *to);
void tape_close(struct tape *t); /* NULL is allowed */
/* ctx is a struct tape; as keep() in replay/mock/forward.h. 0 or MI_ENOMEM. */
MI_MUST int tape_keep(void *ctx, bool from_client, struct slice message, int64_t now_us);
/* Writes the file, and says so. Without messages nothing is written. EXIT_FINE or EXIT_TROUBLE. */
MI_MUST int tape_write(struct tape *t);

#endif
