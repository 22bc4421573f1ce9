/* tool_ask.h - requests the list of tools from the server, for tool_gate.h, while messages of the
 * client wait.
 *
 * With --read-only a call is forwarded only if the tool's hint is known. If no list with this tool
 * was seen, and after each change of the list, the whole list is requested; it must arrive within
 * TOOL_ASK_US. Calls and their cancellations wait meanwhile, in order; other messages do not wait.
 * If the list does not arrive, the reason is kept, and the waiting calls are refused. Later calls
 * are refused as well, for TOOL_ASK_RETRY_US or until the list changes.
 *
 * Owns      copies of the messages that wait; at most TOOL_ASK_LINES_MAX messages with
 *           TOOL_ASK_BYTES_MAX bytes together. If more messages wait, the request for the list
 *           counts as failed.
 * Changes   gate: its members about the requested list and the waiting messages.
 * Blocks    never. */
#ifndef MI_PROXY_SESSION_TOOL_ASK_H
#define MI_PROXY_SESSION_TOOL_ASK_H

#include "proxy/session/message.h"

#define TOOL_ASK_US INT64_C(10000000)
#define TOOL_ASK_RETRY_US INT64_C(5000000)
#define TOOL_ASK_PAGES_MAX 1000
#define TOOL_ASK_ROUNDS_MAX 3 /* maximum number of attempts to read a list that changes meanwhile */
#define TOOL_ASK_LINES_MAX 1024
#define TOOL_ASK_BYTES_MAX ((size_t)8 << 20)

/* Requests the list of tools. modern: the request has the form required by revision 2026-07-28. */
void tool_ask_send_list_request(struct traffic *t, bool modern);
/* Handles an answer to one of the interposer's own requests. Returns false if it does not answer
 * the request for a list. */
bool tool_ask_handle_answer(struct traffic *t, const struct rpc *m);
/* Returns the time since the session's start at which tool_ask_fail_if_timed_out() must be called;
 * INT64_MAX: no list is awaited, or the server is not read now. */
int64_t tool_ask_deadline_us(const struct traffic *t);
void tool_ask_fail_if_timed_out(struct traffic *t, int64_t now_us);
/* Call this function if the list of tools cannot be obtained. why: the reason, as a clause. */
void tool_ask_end_with_failure(struct traffic *t, const char *why);
/* Call this function when another server process is started: requests the list of tools again if a
 * request for the list was pending. */
void tool_ask_list_tools_again(struct traffic *t);

/* Keeps a copy of the message's line. Returns false if a limit is reached or memory runs out:
 * then the request for the list counts as failed, and the waiting messages must be handled
 * first. */
MI_MUST bool tool_ask_queue_message(struct traffic *t, const struct message *x, findings found);
/* Returns true if a message waits that may contain a call with this id. */
bool tool_ask_has_waiting_call(const struct traffic *t, struct json_value id);
/* Returns true if messages of the client wait for the list of tools. */
bool tool_ask_has_waiting_lines(const struct traffic *t);
/* Returns the next message whose wait is over, or NULL. The caller frees it with
 * tool_ask_free_line(). */
struct tool_ask_line *tool_ask_get_next_ready_line(struct traffic *t);
void tool_ask_free_line(struct tool_ask_line *l);
void tool_ask_close(struct tool_gate *g); /* safe to call twice */

#endif
