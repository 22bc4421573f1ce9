/* request.h - pending requests: the table and the timers of the client's requests, kept in step.
 *
 * Changes   open, timers, refused. */
#ifndef MI_PROXY_SESSION_REQUEST_H
#define MI_PROXY_SESSION_REQUEST_H

#include "proxy/session/message.h"

/* Adds the request to the table of its sender; a client's request gets a timer. Returns what
 * pending_add() returns. The caller sets `asked`, t_us, request_seq, size and written_at. */
MI_MUST int request_open(struct traffic *t, const struct message *x, struct pending **ret);
/* Pauses the deadlines of the client's requests until a forwarded request of the server is
 * answered. */
void request_pause_deadlines(struct traffic *t, int64_t now_us);
/* Closes the request: no further answer is expected. dir: its sender. */
void request_close(struct traffic *t, enum row_direction dir, struct pending *p);
/* Marks a request that its sender cancelled or that we abandon: a late answer is dropped. */
void request_abandon(struct traffic *t, enum row_direction dir, struct pending *p);
/* Notes that the client's request `seq` is not forwarded. The ids of the last REFUSED_MAX such
 * requests are kept until they are used again. */
void request_refused(struct traffic *t, struct json_value id, uint64_t seq);
/* Returns the seq of the newest refused request with this id; 0 if there is none, or if a pending
 * request has this id. */
uint64_t request_refused_seq(struct traffic *t, struct json_value id);
/* Returns the id that a `notifications/cancelled` or `$/cancelRequest` names; its type is JSON_NONE
 * if the message names none or is another one. */
struct json_value request_cancelled_id(const struct rpc *m);
/* Whether a server process has read the whole request. The last process has read `read` bytes: see
 * pending.written_at. */
bool request_was_read(struct pending *p, uint64_t read);

#endif
