/* commands.h - the command that compares two recordings. */
#ifndef MI_CLI_DIFF_COMMANDS_H
#define MI_CLI_DIFF_COMMANDS_H

#include "cli/settings/command.h"

extern const struct command command_diff;

#endif
