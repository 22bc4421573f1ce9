/* server_side.h - what a server wrote, in the recordings of other programs: read by the rules of the proxy (wire/server_lines),
 * so that importing a transcript gives the messages that recording with the proxy gives.
 *
 * Rules     the message has the repaired text, and the names of findings. What the proxy would not have forwarded is a
 *           line of noise. The interposer's own errors are not made up. The times of the recording decide how long a line waits for the next one.
 * Errors    those of the reader: MI_ENOMEM, MI_EINVAL.
 * Blocks    never. */
#ifndef MI_VAULT_CASSETTE_SERVER_SIDE_H
#define MI_VAULT_CASSETTE_SERVER_SIDE_H

#include "vault/cassette/reader.h"

void server_side_open(struct cassette_reader *r);
void server_side_close(struct cassette_reader *r);
/* A line of the server. found: what is known about it. */
MI_MUST int server_side_line(struct cassette_reader *r, struct slice line, int64_t t_us,
                             findings found);
/* Passes a message of the client, which decides what later lines of the server belong to. */
MI_MUST int server_side_client(struct cassette_reader *r, struct query_message *m);
/* The recording has ended: nothing waits any longer. */
MI_MUST int server_side_end(struct cassette_reader *r);

#endif
