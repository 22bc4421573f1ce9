/* definitions.h - the definitions of our tools. The Makefile (see EMBED) compiles
 * cli/mcp/tools.json into the program. */
#ifndef MI_CLI_MCP_DEFINITIONS_H
#define MI_CLI_MCP_DEFINITIONS_H

#include <stddef.h>

extern const char mcp_definitions[]; /* JSON text of mcp_definitions_n bytes, without a NUL */
extern const size_t mcp_definitions_n;

#endif
