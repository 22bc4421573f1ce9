/* commands.h - the command `proxy`. */
#ifndef MI_CLI_PROXY_COMMANDS_H
#define MI_CLI_PROXY_COMMANDS_H

#include "cli/settings/command.h"

extern const struct command command_proxy;

#endif
