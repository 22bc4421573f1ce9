/* tool_findings.h - adds a finding to a result of our tools.
 *
 * Owns      nothing.
 * Blocks    never. Pure. */
#ifndef MI_CLI_MCP_TOOL_FINDINGS_H
#define MI_CLI_MCP_TOOL_FINDINGS_H

#include "cli/check/findings.h"
#include "cli/mcp/tool.h"

/* Adds the members of the finding to the object, and adds its text without a newline. */
void findings_add_finding(struct tool_call *c, const struct check_report *report,
                          const struct check_finding *f);

#endif
