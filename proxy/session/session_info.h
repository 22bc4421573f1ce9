/* session_info.h - session metadata learned from messages: names and versions of the peers, the
 * protocol version.
 *
 * Changes   version, knows_client, handshake. */
#ifndef MI_PROXY_SESSION_SESSION_INFO_H
#define MI_PROXY_SESSION_SESSION_INFO_H

#include "proxy/session/state.h"

void session_info_record_client(struct traffic *t, const struct rpc *m, bool modern);
void session_info_handle_result(struct traffic *t, const struct pending *p, const struct rpc *m);

#endif
