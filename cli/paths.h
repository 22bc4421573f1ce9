/* paths.h - where the vault and the configuration are when nobody says so.
 *
 * Rules     XDG Base Directory Specification: a variable that is empty or not an absolute path does not
 *           count. HOME, when missing, is taken from the user database.
 * Owns      nothing; every result is allocated and belongs to the caller. NULL: no memory, or there is
 *           no home directory to be found (errno is ENOENT then).
 * Blocks    on the user database only. */
#ifndef MI_CLI_PATHS_H
#define MI_CLI_PATHS_H

#include "base/base.h"

/* `given`, with a leading `~/` resolved (no shell does it in a configuration file or in a client's
 * JSON); NULL: $XDG_STATE_HOME/mcp-interposer, else ~/.local/state/mcp-interposer. */
char *path_vault(const char *given);
/* The same with $XDG_CONFIG_HOME/mcp-interposer/config.ini, else ~/.config/mcp-interposer/config.ini. */
char *path_config(const char *given);
/* A file of another program: below the home directory; below $XDG_CONFIG_HOME, else ~/.config. */
char *path_home(const char *below);
char *path_user_config(const char *below);

#endif
