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

/* A list is complete. The first one is compared with the rule. cut: all its tools. */
void tool_report_list(struct traffic *t, const struct tool_cut *cut);

#endif
