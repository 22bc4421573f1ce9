/* table.h - all commands, for main() of this program and of mcp-interposer-ship.
 *
 * Owns      nothing: commands are static. */
#ifndef MI_CLI_TABLE_H
#define MI_CLI_TABLE_H

#include "cli/settings/command.h"

/* In the order of the help; ended by NULL. */
extern const struct command *const table_of_commands[];

#endif
