/* commands.h - the commands `export` and `import`. */
#ifndef MI_CLI_EXPORT_COMMANDS_H
#define MI_CLI_EXPORT_COMMANDS_H

#include "cli/settings/command.h"

extern const struct command command_export;
extern const struct command command_import;

#endif
