/* commands.h - the command `check`. */
#ifndef MI_CLI_CHECK_COMMANDS_H
#define MI_CLI_CHECK_COMMANDS_H

#include "cli/settings/command.h"

extern const struct command command_check;

#endif
