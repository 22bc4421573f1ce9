/* paths.h - the default paths of the vault and the configuration, and the search in PATH.
 *
 * Rules     as in the XDG Base Directory Specification: a variable that is empty or not an absolute
 *           path is ignored. Without HOME, the home directory is process_find_home_directory().
 * Owns      nothing; every returned path is allocated and belongs to the caller.
 * Errors    NULL if memory runs out, or with errno ENOENT if there is no home directory.
 * Blocks    only in process_find_home_directory(). */
#ifndef MI_CLI_SETTINGS_PATHS_H
#define MI_CLI_SETTINGS_PATHS_H

#include "base/base.h"

/* Returns `given` with a leading `~/` expanded, because no shell does this in a configuration file
 * or in the JSON of a client. If `given` is NULL, returns $XDG_STATE_HOME/mcp-interposer, or else
 * ~/.local/state/mcp-interposer. */
char *path_of_vault(const char *given);
/* Returns $XDG_STATE_HOME/mcp-interposer-backups, or else ~/.local/state/mcp-interposer-backups. */
char *path_of_backup_directory(void);
/* Returns $XDG_STATE_HOME/mcp-interposer-audit, or else ~/.local/state/mcp-interposer-audit. */
char *path_of_audit_directory(void);
/* Returns `given` with a leading `~/` expanded. If `given` is NULL, returns
 * $XDG_CONFIG_HOME/mcp-interposer/config.ini, or else ~/.config/mcp-interposer/config.ini. */
char *path_of_config_file(const char *given);
/* Returns the path that path_of_config_file() returns, but with the file name audit.key instead of
 * config.ini. */
char *path_of_audit_key(const char *given);
/* Returns `given` with a leading `~/` expanded. */
char *path_expand_home(const char *given);
/* Returns a path below the home directory, for a file of another program. */
char *path_in_home(const char *below);
/* Returns a path below $XDG_CONFIG_HOME, or else ~/.config, for a file of another program. */
char *path_in_user_config(const char *below);
/* Returns the first directory of a list such as PATH that has the program, and sets *rest to the
 * list after this directory. Returns NULL if no directory has the program. */
char *path_find_directory_of_program(const char *list, const char *program, const char **rest);
/* Whether the path is a file that can be executed. */
bool path_is_program(const char *path);
/* Returns whether a directory of PATH contains this program. */
bool path_has_program(const char *program);
/* Returns the path of a document of docs/, for messages. The document is in share/doc next to the
 * directory bin of this program (after `make install`), or in the source tree in which this program
 * was built. If neither has it, returns docs/NAME. */
char *path_find_document(const char *name);

#endif
