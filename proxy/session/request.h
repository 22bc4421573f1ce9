/* request.h - pending requests: the table and the timers of the client's requests, kept in step.
 *
 * Changes   open, timers, refused. */
#ifndef MI_PROXY_SESSION_REQUEST_H
#define MI_PROXY_SESSION_REQUEST_H

#include "proxy/session/message.h"

/* Adds the request to the table of its sender; a client's request gets a timer. Errors: those of pending_add(). The
 * caller sets `asked`, t_us, request_seq, size and written_at. */
MI_MUST int request_open(struct traffic *t, const struct message *x, struct pending **ret);
/* A request of the server was forwarded: the client's deadlines wait for its answer. */
void request_pause_deadlines(struct traffic *t, int64_t now_us);
/* Closes the request: no further answer is expected. dir: its sender. */
void request_close(struct traffic *t, enum row_direction dir, struct pending *p);
/* The request was cancelled by its sender or is abandoned by us: a late answer is dropped. */
void request_abandon(struct traffic *t, enum row_direction dir, struct pending *p);
/* The client's request `seq` is not forwarded. The ids of the last REFUSED_MAX are known. */
void request_refused(struct traffic *t, struct json_value id, uint64_t seq);
/* The seq of the refused request with this id, if no other one has it; 0: none. */
uint64_t request_refused_seq(struct traffic *t, struct json_value id);
/* Whether a server process has read the whole request. The last one has read `read` bytes: see pending.written_at. */
bool request_was_read(struct pending *p, uint64_t read);

#endif
