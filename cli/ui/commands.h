/* commands.h - the command ui. */
#ifndef MI_CLI_UI_COMMANDS_H
#define MI_CLI_UI_COMMANDS_H

#include "cli/settings/command.h"

extern const struct command command_ui;

#endif
