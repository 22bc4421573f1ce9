/* tool_report.h - reports a tool rule that may be a mistake of its author.
 *
 * A rule with a name that no tool has is reported on stderr and as an event `tools-rule`. A rule
 * that hides every tool is also reported as an escalation.
 *
 * Changes   gate.judged.
 * Blocks    never. */
#ifndef MI_PROXY_SESSION_TOOL_REPORT_H
#define MI_PROXY_SESSION_TOOL_REPORT_H

#include "proxy/session/state.h"

/* Call this function when a list of tools is complete. Only the first list is compared with the
 * tool rule. cut: numbers of tools listed and hidden in the whole list. */
void tool_report_record_rule_effect(struct traffic *t, const struct tool_cut *cut);

#endif
