/* message.h - reads the messages of a recording and passes them to the reader's callback. */
#ifndef MI_VAULT_CASSETTE_MESSAGE_H
#define MI_VAULT_CASSETTE_MESSAGE_H

#include "vault/cassette/reader.h"

/* Reads a line of a cassette that is a message. 0, MI_EINVAL or MI_ENOMEM. */
MI_MUST int cassette_read_message(struct cassette_reader *r, struct slice line);
/* Passes a message to the callback. Sets the message's number, the fields that are not set in m,
 * and the request that m answers or cancels. re: number of this request; below 0: find the request
 * by its id. */
MI_MUST int cassette_deliver_message(struct cassette_reader *r, struct query_message *m,
                                     int64_t re);

#endif
