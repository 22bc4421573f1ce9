/* commands.h - the commands that remove or change recordings. */
#ifndef MI_CLI_UPKEEP_COMMANDS_H
#define MI_CLI_UPKEEP_COMMANDS_H

#include "cli/settings/command.h"

extern const struct command command_escalations;
extern const struct command command_prune;
extern const struct command command_reap;
extern const struct command command_redact;

#endif
