/* server_side.h - reads the server's lines in recordings of other programs by the rules of the
 * proxy (wire/server_lines), so that an import gives the same messages as recording with the proxy.
 *
 * Rules     messages have the repaired text, and the names of findings. Lines that the proxy would
 *           not have forwarded are noise. Errors that the proxy would have sent are not added. The
 *           times of the recording decide how long an incomplete line waits for the next line.
 * Errors    those of the reader: MI_ENOMEM, MI_EINVAL.
 * Blocks    never. */
#ifndef MI_VAULT_CASSETTE_SERVER_SIDE_H
#define MI_VAULT_CASSETTE_SERVER_SIDE_H

#include "vault/cassette/reader.h"

void server_side_open(struct cassette_reader *r);
void server_side_close(struct cassette_reader *r);
/* Reads a line of the server. found: findings about the line so far. */
MI_MUST int server_side_read_line(struct cassette_reader *r, struct slice line, int64_t t_us,
                                  findings found);
/* Passes a message of the client to the callback. Later lines of the server may belong to this
 * message. */
MI_MUST int server_side_read_client_message(struct cassette_reader *r, struct query_message *m);
/* Passes the incomplete line, which waits for the next line, to the callback. Call this function at
 * the end of the recording. */
MI_MUST int server_side_flush_waiting_line(struct cassette_reader *r);

#endif
