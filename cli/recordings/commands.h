/* commands.h - the commands that let a recording replace a server, or compare a server with a
 * recording. */
#ifndef MI_CLI_RECORDINGS_COMMANDS_H
#define MI_CLI_RECORDINGS_COMMANDS_H

#include "cli/settings/command.h"

extern const struct command command_replay;
extern const struct command command_verify;

#endif
