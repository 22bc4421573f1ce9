/* commands.h - the commands that edit the configuration of clients. */
#ifndef MI_CLI_WRAP_COMMANDS_H
#define MI_CLI_WRAP_COMMANDS_H

#include "cli/settings/command.h"

extern const struct command command_wrap;
extern const struct command command_unwrap;

#endif
