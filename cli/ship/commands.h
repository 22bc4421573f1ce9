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

/* Runs mcp-interposer-ship with argv[2…] in place of this process. It is beside this program, or in PATH. Returns an exit
 * status if that fails. */
int ship_program(int argc, char **argv);
/* The same for a command with --from: argv[0…] are its words, and argv[-1] is free for the program. */
int ship_command(char **argv);

#endif
