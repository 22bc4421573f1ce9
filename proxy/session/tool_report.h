/* tool_report.h - reports rules for tools that their author perhaps did not mean.
 *
 * A rule with a name that no tool has is reported on stderr and as an event `tools-rule`. A rule
 * that hides every tool is also reported as an escalation.
 *
 * Changes   gate.judged.
 * Blocks    never. */
#ifndef MI_PROXY_SESSION_TOOL_REPORT_H
#define MI_PROXY_SESSION_TOOL_REPORT_H

#include "proxy/session/state.h"

/* Call it when a list is complete; the first list is compared with the rule. cut: the tools of the
 * whole list. */
void tool_report_list(struct traffic *t, const struct tool_cut *cut);

#endif
