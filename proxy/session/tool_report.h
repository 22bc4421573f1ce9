/* tool_report.h - a rule for tools that is not what its author meant: stderr, an event `tools-rule` and an escalation.
 *
 * Changes   gate.judged.
 * Blocks    never. */
#ifndef MI_PROXY_SESSION_TOOL_REPORT_H
#define MI_PROXY_SESSION_TOOL_REPORT_H

#include "proxy/session/state.h"

/* A list is complete. The first one is compared with the rule. cut: all its tools. */
void tool_report_list(struct traffic *t, const struct tool_cut *cut);

#endif
