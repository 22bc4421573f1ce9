/* new_cassette.h - collects new messages during a replay, and writes them to a cassette at its end.
 *
 * Rules     the cassette has the messages of another cassette and the new messages, or only the new
 *           messages. Messages are sanitized with the rules of the current configuration. The file
 *           is written completely or not at all, and only if it can be read back.
 * Owns      the messages.
 * Errors    new_cassette_write_file() logs them.
 * Blocks    new_cassette_write_file() on the files. */
#ifndef MI_CLI_RECORDINGS_NEW_CASSETTE_H
#define MI_CLI_RECORDINGS_NEW_CASSETTE_H

#include "vault/cassette/cassette_file.h"

struct new_cassette;

/* from: the cassette whose messages come first; NULL: only new messages are written, below
 * `header`. to: the file to write. All three are borrowed. Returns 0 or MI_ENOMEM. */
MI_MUST int new_cassette_open(struct new_cassette **ret, const char *from,
                              const struct query_session *header, const char *to);
void new_cassette_close(struct new_cassette *t); /* `t` may be NULL */
/* Adds a message, like keep() in replay/mock/forwarder.h. ctx is a struct new_cassette. Returns 0
 * or MI_ENOMEM. */
MI_MUST int new_cassette_add_message(void *ctx, bool from_client, struct slice message,
                                     int64_t now_us);
/* Writes the file, and a note to stderr. If there are no new messages, writes nothing. Returns
 * EXIT_FINE or EXIT_TROUBLE. */
MI_MUST int new_cassette_write_file(struct new_cassette *t);

#endif
