/* batch.h - JSON-RPC batches: lines that are arrays. Only revision 2025-03-26 has them (mcp-wire.md
 * 1.4). A batch is forwarded as a whole, and each member is recorded and correlated. An invalid
 * batch is rejected as a whole, and each request in it gets an error. */
#ifndef MI_PROXY_SESSION_BATCH_H
#define MI_PROXY_SESSION_BATCH_H

#include "proxy/session/message.h"

void batch_handle_message(struct traffic *t, struct message *x);

#endif
