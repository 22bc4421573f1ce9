/* commands.h - the commands that the program mcp-interposer-ship runs. mcp-interposer has their
 * names, options and help, and starts mcp-interposer-ship. */
#ifndef MI_CLI_SHIP_COMMANDS_H
#define MI_CLI_SHIP_COMMANDS_H

#include "cli/settings/command.h"

#define SHIP_PROGRAM "mcp-interposer-ship"

extern const struct command command_ship;
extern const struct command ship_init;
extern const struct command ship_to;
extern const struct command ship_status;
extern const struct command ship_forget;

/* Replaces this process by mcp-interposer-ship, for a command without run() or with --from. The
 * program is searched in the directory of this program, then in PATH. argv[0…] are the words of the
 * command; argv[-1] is overwritten with the name of the program. If this fails, returns the exit
 * status. */
int run_ship_command(char **argv);

#endif
