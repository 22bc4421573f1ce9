/* commands.h - the command `audit`, and its verbs. */
#ifndef MI_CLI_AUDIT_COMMANDS_H
#define MI_CLI_AUDIT_COMMANDS_H

#include "cli/settings/command.h"

extern const struct command command_audit;

extern const struct command audit_key;
extern const struct command audit_checkpoint;
extern const struct command audit_prove;
extern const struct command audit_check;
extern const struct command audit_verify;

#endif
