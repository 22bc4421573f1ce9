/* request.h - opens and closes pending requests, together with the timers of the client's requests.
 *
 * Changes   open, timers, refused. */
#ifndef MI_PROXY_SESSION_REQUEST_H
#define MI_PROXY_SESSION_REQUEST_H

#include "proxy/session/message.h"

/* Adds the request to the table of its sender; a client's request gets a timer. Returns what
 * pending_add() returns. The caller sets `asked`, t_us, request_seq, size and written_at. */
MI_MUST int request_open(struct traffic *t, const struct message *x, struct pending **ret);
/* Pauses the deadlines of the client's requests until no request of the server is open. Does
 * nothing if the client has closed its output, because then it cannot answer. */
void request_pause_deadlines(struct traffic *t, int64_t now_us);
/* Closes a request: no further answer is expected. dir: its direction. */
void request_close(struct traffic *t, enum row_direction dir, struct pending *p);
/* Marks a request as cancelled by its sender or abandoned by the interposer: a late answer is
 * dropped. */
void request_abandon(struct traffic *t, enum row_direction dir, struct pending *p);
/* Notes that the client's request `seq` is not forwarded. The ids of the newest REFUSED_MAX such
 * requests are remembered, each until another request has the same id. */
void request_remember_refused_id(struct traffic *t, struct json_value id, uint64_t seq);
/* Returns the seq of the newest refused request with this id; 0 if there is none, or if a pending
 * request has this id. */
uint64_t request_find_seq_of_refused(struct traffic *t, struct json_value id);
/* Returns the id that a `notifications/cancelled` or `$/cancelRequest` names; its type is JSON_NONE
 * if the message names no id, or is another message. */
struct json_value request_get_id_to_cancel(const struct rpc *m);
/* Returns true if a server process has read the whole request. read: number of bytes that the last
 * process has read, counted like pending.written_at. */
bool request_was_read_by_server(struct pending *p, uint64_t read);

#endif
