/* command_table.h - the table of all commands, for the main() of this program and of
 * mcp-interposer-ship.
 *
 * Owns      nothing: commands are static. */
#ifndef MI_CLI_COMMAND_TABLE_H
#define MI_CLI_COMMAND_TABLE_H

#include "cli/settings/command.h"

/* The commands in the order of the help, then NULL. */
extern const struct command *const table_of_commands[];

#endif
