/* commands.h - the commands of mcp-interposer-ship, a program of its own: their names, options and help are those of this
 * program, which starts it. */
#ifndef MI_CLI_SHIP_COMMANDS_H
#define MI_CLI_SHIP_COMMANDS_H

#include "cli/settings/command.h"

#define SHIP_PROGRAM "mcp-interposer-ship"

extern const struct command command_ship;
extern const struct command ship_init;
extern const struct command ship_to;
extern const struct command ship_status;
extern const struct command ship_forget;

/* Runs mcp-interposer-ship in place of this process, for a command without run(), or one with --from. It is beside this
 * program, or in PATH. argv[0…] are the words of the command, and argv[-1] is free for the program. Returns an exit status
 * if that fails. */
int ship_command(char **argv);

#endif
