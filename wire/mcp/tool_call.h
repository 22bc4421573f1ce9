/* tool_call.h - whether a message of the client calls a tool that a rule hides.
 *
 * Readers   two readers may take one message for calls of different tools (tool_rule.h): a message with several readings
 *           is ambiguous, whatever it calls.
 * Owns      nothing.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_MCP_TOOL_CALL_H
#define MI_WIRE_MCP_TOOL_CALL_H

#include "wire/mcp/tool_hints.h"
#include "wire/mcp/tool_rule.h"

enum tool_verdict {
    TOOL_CALL_KEPT,      /* also: not a call */
    TOOL_CALL_AMBIGUOUS, /* *ret_fault says why */
    TOOL_CALL_HIDDEN,    /* by its name */
    TOOL_CALL_WRITES,    /* by --read-only: the list has it without the hint */
    TOOL_CALL_UNLISTED,  /* --read-only, and the list does not have it */
    TOOL_CALL_UNKNOWN,   /* --read-only, and no list is known that could have it */
};
/* hints: NULL: each tool only reads. *name: the tool, unescaped, unless the call is ambiguous. */
enum tool_verdict tool_call_verdict(const struct tool_rule *r, const struct tool_hints *hints,
                                    const struct rpc *m, struct buf *name, const char **ret_fault);
/* Appends why a call is refused. failure: why no list is known; "": there was none. */
void tool_call_explain(const struct tool_rule *r, enum tool_verdict v, const char *fault,
                       struct slice name, const char *failure, struct buf *why);
/* Of a call that is refused; its name is error.data.cause. */
enum finding tool_call_finding(enum tool_verdict v);
/* Appends the rule, truncated. */
void tool_call_add_rule(const struct tool_rule *r, struct buf *b);

#endif
