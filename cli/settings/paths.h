/* paths.h - the default paths of the vault and the configuration, and the search in PATH.
 *
 * Rules     XDG Base Directory Specification: a variable that is empty or not an absolute path is
 *           ignored. Without HOME the home directory is process_home().
 * Owns      nothing; every path that is returned is allocated and belongs to the caller. NULL: out of memory, or no
 *           home directory (errno is ENOENT).
 * Blocks    process_home() only. */
#ifndef MI_CLI_SETTINGS_PATHS_H
#define MI_CLI_SETTINGS_PATHS_H

#include "base/base.h"

/* `given`, with a leading `~/` resolved (in a configuration file or a client's JSON no shell does
 * this); NULL: $XDG_STATE_HOME/mcp-interposer, else ~/.local/state/mcp-interposer. */
char *path_vault(const char *given);
/* $XDG_STATE_HOME/mcp-interposer-backups, else ~/.local/state/mcp-interposer-backups. */
char *path_backups(void);
/* $XDG_STATE_HOME/mcp-interposer-audit, else ~/.local/state/mcp-interposer-audit. */
char *path_audit_state(void);
/* `given`, or $XDG_CONFIG_HOME/mcp-interposer/config.ini, else ~/.config/mcp-interposer/config.ini. */
char *path_config(const char *given);
/* The same for audit.key. */
char *path_audit_key(const char *given);
/* `given`, with a leading `~/` resolved. */
char *path_given(const char *given);
/* The path of another program's file: below the home directory, or below $XDG_CONFIG_HOME, else ~/.config. */
char *path_home(const char *below);
char *path_user_config(const char *below);
/* The first directory of a list such as PATH that has this program; NULL: none. *rest: the list after it. */
char *path_search(const char *list, const char *program, const char **rest);
/* Whether it is a file that can be executed. */
bool path_is_program(const char *path);
/* Whether PATH leads to a program of this name. */
bool path_has_program(const char *program);
/* Where a document of docs/ is found, for messages: as `make install` installs it, in share/doc next to the bin of this
 * program; in the source tree that this program was built in; else docs/NAME. */
char *path_document(const char *name);

#endif
