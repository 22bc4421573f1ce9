/* commands.h - the command `search`. */
#ifndef MI_CLI_LOOK_SEARCH_COMMANDS_H
#define MI_CLI_LOOK_SEARCH_COMMANDS_H

#include "cli/settings/command.h"

extern const struct command command_search;

#endif
