/* commands.h - the commands of mcp-interposer-ship. Each returns the exit status
 * (cli/settings/command.h). */
#ifndef MI_SHIP_COMMANDS_H
#define MI_SHIP_COMMANDS_H

#include "cli/settings/config.h"
#include "vault/query/reader.h"

int run_init(const struct settings *s);
int run_ship_to_command(const struct settings *s);
int run_status(const struct settings *s);
int run_forget(const struct settings *s);
/* Opens the store of --from (cli/frame/session.h). */
int open_remote_store_query(const struct settings *s, struct query **ret);

#endif
