/* tool_call.h - determines whether a message of the client calls a tool that a rule hides.
 *
 * Readers   two readers may read one message as calls of different tools (tool_rule.h). Such a
 *           message is ambiguous, whatever tools it calls.
 * Owns      nothing.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_MCP_TOOL_CALL_H
#define MI_WIRE_MCP_TOOL_CALL_H

#include "wire/mcp/tool_hints.h"
#include "wire/mcp/tool_rule.h"

enum tool_verdict {
    TOOL_CALL_KEPT,      /* forward the message: its call is allowed, or it is not a call */
    TOOL_CALL_AMBIGUOUS, /* the call is ambiguous; *ret_fault says why */
    TOOL_CALL_HIDDEN,    /* the rule hides the tool by its name */
    /* --read-only hides the tool: the list has the tool, but does not mark it as read-only */
    TOOL_CALL_WRITES,
    TOOL_CALL_UNLISTED, /* --read-only refuses the call: the list does not have the tool */
    TOOL_CALL_UNKNOWN,  /* --read-only refuses the call: no list is known */
};
/* Decides whether a message is forwarded. hints: NULL means that every tool counts as read-only.
 * *name: unescaped name of the called tool, unless the message is ambiguous or not a call. */
enum tool_verdict tool_call_get_verdict(const struct tool_rule *r, const struct tool_hints *hints,
                                        const struct rpc *m, struct buf *name,
                                        const char **ret_fault);
/* Appends the reason why a call is refused. failure: the reason why no list of tools is known; ""
 * if nothing failed. */
void tool_call_explain_refusal(const struct tool_rule *r, enum tool_verdict v, const char *fault,
                               struct slice name, const char *failure, struct buf *why);
/* Returns the finding of a refused call. The answer has the name of the finding in
 * error.data.cause. */
enum finding tool_call_finding_of_verdict(enum tool_verdict v);
/* Appends the text of the rule, truncated. */
void tool_call_add_rule(const struct tool_rule *r, struct buf *b);

#endif
