/* tool_ask.h - asks the server for its list of tools, for tool_gate.h, while messages of the client wait.
 *
 * With --read-only a call needs the tool's hint. If no list with this tool was seen, and after each change of the list, the
 * whole list is asked for, within TOOL_ASK_US. Calls, and what cancels them, wait meanwhile, in order; other messages do not. If the
 * list does not come, the reason is kept, the calls that wait are refused, and so are all others until TOOL_ASK_RETRY_US later, or
 * until the list changes.
 *
 * Owns      copies of the messages that wait; at most TOOL_ASK_LINES_MAX, of TOOL_ASK_BYTES_MAX together: beyond, asking has failed.
 * Changes   gate: what it says of the list that is asked for, and of messages that wait.
 * Blocks    never. */
#ifndef MI_PROXY_SESSION_TOOL_ASK_H
#define MI_PROXY_SESSION_TOOL_ASK_H

#include "proxy/session/message.h"

#define TOOL_ASK_US INT64_C(10000000)
#define TOOL_ASK_RETRY_US INT64_C(5000000)
#define TOOL_ASK_PAGES_MAX 1000
#define TOOL_ASK_ROUNDS_MAX 3 /* lists, if each changes while it is read */
#define TOOL_ASK_LINES_MAX 1024
#define TOOL_ASK_BYTES_MAX ((size_t)8 << 20)

/* modern: as a client of 2026-07-28. */
void tool_ask_begin(struct traffic *t, bool modern);
/* An answer to our own request. True: to that for a list. */
bool tool_ask_answer(struct traffic *t, const struct rpc *m);
/* Microseconds since the session's start at which tool_ask_due() must be called; INT64_MAX: never. */
int64_t tool_ask_due_us(const struct traffic *t);
void tool_ask_due(struct traffic *t, int64_t now_us);
/* The list will not come. `why` is a clause. */
void tool_ask_fail(struct traffic *t, const char *why);
/* The process has ended, and another one is started: its list is asked for again if messages wait. */
void tool_ask_restart(struct traffic *t);

/* Keeps a copy of the message's line. false: the limit is reached, or memory is: asking has failed, and what waits must be handled
 * first. */
MI_MUST bool tool_ask_keep(struct traffic *t, const struct message *x, findings found);
/* Does a call wait that this id may name? */
bool tool_ask_waits(const struct traffic *t, struct json_value id);
/* Do messages of the client wait? */
bool tool_ask_holds(const struct traffic *t);
/* The next message whose wait is over, which the caller frees with tool_ask_line_free(). NULL: none. */
struct tool_ask_line *tool_ask_next(struct traffic *t);
void tool_ask_line_free(struct tool_ask_line *l);
void tool_ask_close(struct tool_gate *g); /* safe to call twice */

#endif
