/* commands.h - the command `completion`. */
#ifndef MI_CLI_COMPLETE_COMMANDS_H
#define MI_CLI_COMPLETE_COMMANDS_H

#include "cli/settings/command.h"

extern const struct command command_completion;

#endif
