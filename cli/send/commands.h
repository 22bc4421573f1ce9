/* commands.h - the command that sends a request to a server. */
#ifndef MI_CLI_SEND_COMMANDS_H
#define MI_CLI_SEND_COMMANDS_H

#include "cli/settings/command.h"

extern const struct command command_send;

#endif
