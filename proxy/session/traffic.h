/* traffic.h - checks, correlates and records the lines of both peers, and stages, rejects or drops
 * them.
 *
 * Both directions take the same steps: line -> JSON check -> JSON-RPC view -> pending table -> row
 * -> outbox. Bytes are staged in two outboxes and rows are appended to the journal; the owner of
 * both releases the bytes at the end of the loop turn, when the rows are recorded.
 *
 * Rules     mcp-wire.md 1 and 6; docs/findings.md lists which lines are repaired, rejected or
 *           dropped.
 * Errors    lack of memory never ends the session: a line that cannot be staged is rejected.
 * Blocks    never. */
#ifndef MI_PROXY_SESSION_TRAFFIC_H
#define MI_PROXY_SESSION_TRAFFIC_H

#include "proxy/session/state.h"
#include "proxy/session/tool_ask.h"
#include "wire/line.h"

/* journal and server are borrowed. */
void traffic_open(struct traffic *t, const struct journal *j, const char *server, enum validate v,
                  size_t max_message);
void traffic_close(struct traffic *t);
/* Sets the deadlines of all later requests. The rules are borrowed. max_us: value of --max-timeout;
 * 0: none. */
void traffic_set_deadlines(struct traffic *t, const struct deadlines *rules, int64_t max_us);

/* Handles one line of a peer, as line_next() returned it. The byte after the line may be
 * overwritten. */
void traffic_handle_line(struct traffic *t, enum row_direction dir, struct line *line);
/* Handles a line longer than --max-message; `line` has its first bytes. */
void traffic_handle_long_line(struct traffic *t, enum row_direction dir, const struct line *line);
/* Handles an incomplete line: the stream ended before the line's newline. */
void traffic_handle_last_line(struct traffic *t, enum row_direction dir, struct line *line);
/* Notes that a line has been incomplete for some time: n bytes of the line have arrived. When the
 * line is complete, the line gets a finding. */
void traffic_report_incomplete_line(struct traffic *t, enum row_direction dir, size_t n);
/* Call this function when the client has closed its output. Such a client cannot answer requests of
 * the server, so deadlines are not paused for them. */
void traffic_on_client_closed(struct traffic *t);
/* Handles the messages of the client that no longer wait for the list of tools (tool_gate.h). Call
 * this function after expire_due_requests(). */
void traffic_release_waiting_lines(struct traffic *t);
/* Call this function if the list of tools cannot be read: handles the messages that waited for the
 * list. why: the reason, as a clause. */
void traffic_handle_tools_list_failure(struct traffic *t, const char *why);
/* Returns true while the client does not read the answers of the interposer itself. Then the client
 * must not be read. The outbox of the server does not stop the reading in this case: the
 * interposer answers the client's messages itself and does not forward them, so these messages do
 * not fill that outbox. */
bool traffic_must_not_read_client(struct traffic *t);

#endif
