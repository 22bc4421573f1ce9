/* commands.h - the command `doctor`. */
#ifndef MI_CLI_DOCTOR_COMMANDS_H
#define MI_CLI_DOCTOR_COMMANDS_H

#include "cli/settings/command.h"

extern const struct command command_doctor;

#endif
