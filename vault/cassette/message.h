/* message.h - the messages of a recording, from a line to the reader's callback. */
#ifndef MI_VAULT_CASSETTE_MESSAGE_H
#define MI_VAULT_CASSETTE_MESSAGE_H

#include "vault/cassette/reader.h"

/* Reads a line of a cassette that is a message. 0, MI_EINVAL or MI_ENOMEM. */
MI_MUST int cassette_read_message(struct cassette_reader *r, struct slice line);
/* Passes a message to the callback. Sets the message's number, the fields that its line omits, and
 * its request: re, or if re < 0, the request that the id names. Fields set in m are kept. */
MI_MUST int cassette_pass_message(struct cassette_reader *r, struct query_message *m, int64_t re);

#endif
