/* commands.h - the commands of mcp-interposer-ship, which is another program. Their names, options
 * and help are in this program, which starts the other one. */
#ifndef MI_CLI_SHIP_COMMANDS_H
#define MI_CLI_SHIP_COMMANDS_H

#include "cli/settings/command.h"

#define SHIP_PROGRAM "mcp-interposer-ship"

extern const struct command command_ship;
extern const struct command ship_init;
extern const struct command ship_to;
extern const struct command ship_status;
extern const struct command ship_forget;

/* Runs mcp-interposer-ship in place of this process, for a command without run() or with --from.
 * The program is searched beside this one, then in PATH. argv[0…] are the words of the command;
 * argv[-1] is free for the name of the program. Returns only if that fails: an exit status. */
int run_ship_command(char **argv);

#endif
