/* tape.h - messages to be added to a cassette. They are collected during a replay and written at
 * its end.
 *
 * Rules     the new messages are appended to those of the file, or the file contains only new
 *           messages. The file
 *           is written completely or not at all; it is read strictly before it replaces another
 *           file. Messages are sanitized.
 * Owns      the messages.
 * Errors    tape_write() logs them.
 * Blocks    tape_write() on the files. */
#ifndef MI_CLI_RECORDINGS_TAPE_H
#define MI_CLI_RECORDINGS_TAPE_H

#include "vault/cassette/cassette_file.h"

struct tape;

/* from: the cassette whose messages come first; NULL if there is none. `header`: the header of a
 * new cassette, if `from` is NULL. to: the file to write. All three are borrowed. Returns 0 or
 * MI_ENOMEM. */
MI_MUST int tape_open(struct tape **ret, const char *from, const struct query_session *header,
                      const char *to);
void tape_close(struct tape *t); /* t may be NULL */
/* Adds a message, like keep() in replay/mock/forward.h. ctx is a struct tape. Returns 0 or
 * MI_ENOMEM. */
MI_MUST int tape_keep_message(void *ctx, bool from_client, struct slice message, int64_t now_us);
/* Writes the file, and says so. If there are no messages, writes nothing. Returns EXIT_FINE or
 * EXIT_TROUBLE. */
MI_MUST int tape_write(struct tape *t);

#endif
