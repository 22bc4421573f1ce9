/* tool_report.h - a rule for tools that is perhaps not what its author meant: stderr and an event `tools-rule`, if it has names that no tool
 * has; an escalation, too, if it hides every tool.
 *
 * Changes   gate.judged.
 * Blocks    never. */
#ifndef MI_PROXY_SESSION_TOOL_REPORT_H
#define MI_PROXY_SESSION_TOOL_REPORT_H

#include "proxy/session/state.h"

/* A list is complete. The first one is compared with the rule. cut: all its tools. */
void tool_report_list(struct traffic *t, const struct tool_cut *cut);

#endif
