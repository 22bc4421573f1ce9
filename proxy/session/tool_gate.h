/* tool_gate.h - the rule of --tools, --hide-tools and --read-only in a session (wire/mcp/tool_rule.h): hidden tools are
 * cut out of lists, and calls of them are refused.
 *
 * Record    has what the server sent, and an event `tools-hidden` with the names. A refused call is recorded as refused.
 * Hints     of tools, for --read-only, are those of the newest list, which is asked for if it is needed (tool_ask.h).
 * Changes   gate, apart from what tool_ask.h changes. The rule is borrowed.
 * Blocks    never. */
#ifndef MI_PROXY_SESSION_TOOL_GATE_H
#define MI_PROXY_SESSION_TOOL_GATE_H

#include "proxy/session/message.h"

/* ---- messages of the client ---- */

/* Whether the message must wait for the server's list; the gate then requests the list. */
bool tool_gate_must_wait(struct traffic *t, const struct message *x);
/* Returns false if x must not be forwarded; then x is recorded, and the client got an answer. */
MI_MUST bool tool_gate_admits_message(struct traffic *t, struct message *x);

/* ---- messages of the server ---- */

/* Checks whether hidden tools can be cut from the answer to p, if p asks for tools. Returns false
 * if not; then the answer is recorded as refused, and the client got an error. */
MI_MUST bool tool_gate_accepts_answer(struct traffic *t, struct message *x, struct pending *p);
/* Cuts hidden tools from the recorded answer x to p, unless x is a member of a batch. Returns false
 * if out of memory; then the connection is closed. */
MI_MUST bool tool_gate_cut_answer(struct traffic *t, struct message *x, const struct pending *p,
                                  uint64_t seq);
void tool_gate_on_notification(struct traffic *t, const struct message *x);

/* ---- batches ---- */

/* Cuts from a batch, which must be recorded, what a single message would lose: refused calls of the
 * client, refused lists and hidden tools of the server. *ret_kept: number of members left; if 0,
 * the text is unchanged. Returns false if out of memory; then the connection is closed. */
MI_MUST bool tool_gate_cut_batch(struct traffic *t, struct message *batch, size_t *ret_kept);

#endif
