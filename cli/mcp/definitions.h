/* definitions.h - the definitions of our tools: cli/mcp/tools.json, compiled into the program (see EMBED in the
 * Makefile). */
#ifndef MI_CLI_MCP_DEFINITIONS_H
#define MI_CLI_MCP_DEFINITIONS_H

#include <stddef.h>

extern const char mcp_definitions[]; /* JSON, mcp_definitions_n bytes, without a NUL */
extern const size_t mcp_definitions_n;

#endif
