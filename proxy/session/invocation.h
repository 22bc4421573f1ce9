/* invocation.h - finished requests of the client, as the journal logs them. */
#ifndef MI_PROXY_SESSION_INVOCATION_H
#define MI_PROXY_SESSION_INVOCATION_H

#include "proxy/session/message.h"

/* Returns the invocation of the request p, finished now. The caller sets status, error, result and
 * response_bytes. */
struct invocation invocation_make_for_request(const struct traffic *t, const struct pending *p);
/* Returns the invocation of the request p, finished by the server's answer x. It borrows texts from
 * x and p. */
struct invocation invocation_make_from_answer(const struct traffic *t, const struct pending *p,
                                              const struct message *x, bool tool_error);
/* Logs a request that ended with an error of the interposer. The caller has set x->status. */
void invocation_log_error(struct traffic *t, struct invocation *x, int code, const char *why,
                          size_t bytes);
void invocation_log_cancelled_call(struct traffic *t, const struct pending *p);

#endif
