/* commands.h - the command `mcp`. */
#ifndef MI_CLI_MCP_COMMANDS_H
#define MI_CLI_MCP_COMMANDS_H

#include "cli/settings/command.h"

extern const struct command command_mcp;

#endif
