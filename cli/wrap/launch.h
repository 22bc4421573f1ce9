/* launch.h - the commands that start the interposer: its path, its name, or a package runner such as
 * `npx -y mcp-interposer@1.2.3`.
 *
 * Rules     launchers of packages set MCP_INTERPOSER_COMMAND to the command that starts the program again, its words
 *           separated by blanks. `mcp-interposer`: the package is installed, and PATH leads to its launcher.
 *           `npx -y mcp-interposer@1.2.3`: npx may remove the directory that this program is in, so its path must not be
 *           written into a configuration file.
 * Owns      the words.
 * Blocks    on the file system only. */
#ifndef MI_CLI_WRAP_LAUNCH_H
#define MI_CLI_WRAP_LAUNCH_H

#include "base/buf.h"

#define LAUNCH_VARIABLE "MCP_INTERPOSER_COMMAND"
#define LAUNCH_WORDS_MAX 8

/* How to start this program. */
struct launch {
    char *text;                              /* owned; the words are in it */
    const char *words[LAUNCH_WORDS_MAX + 1]; /* a command and its first args; ended by NULL */
    bool by_runner;                          /* the words are those of a package runner */
    bool in_path;                            /* the plain name starts this program as well */
};

/* Finds it by the variable, else by the path of this program. 0, MI_EINVAL or MI_EIO (`error` has the sentence) or
 * MI_ENOMEM. */
MI_MUST int launch_open(struct launch *l, struct buf *error);
void launch_close(struct launch *l); /* safe to call twice */

/* Whether this command with these args (ended by NULL) starts the interposer. *ret_n: the number of args in front of
 * those of the interposer; 0 if the command is the program itself. */
bool launch_is_ours(const char *command, const char *const *args, size_t *ret_n);
/* Whether this is the package with a version, such as mcp-interposer@1.2.3, but not the one of `l`. */
bool launch_is_other_version(const struct launch *l, struct slice package);
/* Appends what to type in a shell to start this program. */
void launch_add(const struct launch *l, struct buf *b);

#endif
