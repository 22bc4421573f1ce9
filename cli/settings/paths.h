/* paths.h - the default paths of the vault and the configuration, and the search in PATH.
 *
 * Rules     as in the XDG Base Directory Specification: a variable that is empty or not an absolute
 *           path is ignored. Without HOME, the home directory is process_home().
 * Owns      nothing; every returned path is allocated and belongs to the caller. If memory runs out
 *           or there is no home directory, NULL is returned; without a home directory errno is
 *           ENOENT.
 * Blocks    process_home() only. */
#ifndef MI_CLI_SETTINGS_PATHS_H
#define MI_CLI_SETTINGS_PATHS_H

#include "base/base.h"

/* Returns the path `given` and resolves a leading `~/`, because no shell does this in a
 * configuration file or in the JSON of a client. If `given` is NULL: returns
 * $XDG_STATE_HOME/mcp-interposer, or else ~/.local/state/mcp-interposer. */
char *path_vault(const char *given);
/* Returns $XDG_STATE_HOME/mcp-interposer-backups, or else ~/.local/state/mcp-interposer-backups. */
char *path_backups(void);
/* Returns $XDG_STATE_HOME/mcp-interposer-audit, or else ~/.local/state/mcp-interposer-audit. */
char *path_audit_state(void);
/* Returns `given`. If it is NULL: returns $XDG_CONFIG_HOME/mcp-interposer/config.ini, or else
 * ~/.config/mcp-interposer/config.ini. */
char *path_config(const char *given);
/* The same for audit.key. */
char *path_audit_key(const char *given);
/* Returns `given` and resolves a leading `~/`. */
char *path_expand_home(const char *given);
/* Return the path of another program's file: below the home directory; and below $XDG_CONFIG_HOME,
 * or else ~/.config. */
char *path_in_home(const char *below);
char *path_in_user_config(const char *below);
/* Returns the path of the program in the first directory of the list that has it; the list is like
 * PATH. NULL: no directory has it. Sets *rest to the list after that directory. */
char *path_find_next(const char *list, const char *program, const char **rest);
/* Whether the path is a file that can be executed. */
bool path_is_program(const char *path);
/* Whether a directory of PATH has this program. */
bool path_has_program(const char *program);
/* Returns the path of a document of docs/, for messages. `make install` puts it into share/doc next
 * to the bin of this program. If it is not there: its path in the source tree in which this program
 * was built; or else docs/NAME. */
char *path_document(const char *name);

#endif
