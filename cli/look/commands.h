/* commands.h - the commands that list and show the content of the vault. */
#ifndef MI_CLI_LOOK_COMMANDS_H
#define MI_CLI_LOOK_COMMANDS_H

#include "cli/settings/command.h"

extern const struct command command_sessions;
extern const struct command command_show;
extern const struct command command_stats;
extern const struct command command_tools;

#endif
