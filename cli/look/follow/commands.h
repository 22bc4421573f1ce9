/* commands.h - the command `tail`. */
#ifndef MI_CLI_LOOK_FOLLOW_COMMANDS_H
#define MI_CLI_LOOK_FOLLOW_COMMANDS_H

#include "cli/settings/command.h"

extern const struct command command_tail;

#endif
