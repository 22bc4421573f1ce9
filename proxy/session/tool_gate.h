/* tool_gate.h - applies the rule of --tools, --hide-tools and --read-only (wire/mcp/tool_rule.h):
 * hidden tools are removed from lists, and calls of hidden tools are refused.
 *
 * Record    the list is recorded as the server sent it, with an event `tools-hidden` that has the
 *           names of the hidden tools. A refused call is recorded as refused.
 * Hints     --read-only uses the tools' hints in the newest list, which is requested if it is
 *           needed (tool_ask.h).
 * Changes   gate, except the members that tool_ask.h changes. The rule is borrowed.
 * Blocks    never. */
#ifndef MI_PROXY_SESSION_TOOL_GATE_H
#define MI_PROXY_SESSION_TOOL_GATE_H

#include "proxy/session/message.h"

/* ---- messages of the client ---- */

/* Returns true if the message must wait for the server's list of tools. The list is requested if
 * necessary. */
bool tool_gate_must_delay_message(struct traffic *t, const struct message *x);
/* Returns false if x must not be forwarded; then x is recorded, and the client has got an
 * answer. */
MI_MUST bool tool_gate_admits_message(struct traffic *t, struct message *x);

/* ---- messages of the server ---- */

/* Returns false if p asks for tools, and hidden tools cannot be removed from the answer x because x
 * is invalid. Then x is recorded as refused, and the client has got an error. */
MI_MUST bool tool_gate_accepts_answer(struct traffic *t, struct message *x, struct pending *p);
/* Removes hidden tools from the recorded answer x to p, unless x is a member of a batch. Returns
 * false if out of memory; then the connection is closed. */
MI_MUST bool tool_gate_remove_hidden_tools(struct traffic *t, struct message *x,
                                           const struct pending *p, uint64_t seq);
/* Forgets the tools' hints if this notification of the server says that the list has changed. */
void tool_gate_on_notification(struct traffic *t, const struct message *x);

/* ---- batches ---- */

/* Removes from a batch what would not be forwarded in single messages: refused calls of the client,
 * refused lists and hidden tools of the server. *ret_kept: number of members left; if 0, the text
 * is unchanged. Returns false if out of memory; then the connection is closed. */
MI_MUST bool tool_gate_remove_refused_members(struct traffic *t, struct message *batch,
                                              size_t *ret_kept);

#endif
