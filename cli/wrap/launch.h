/* launch.h - the commands that start the interposer: its path, its name, or a package runner such
 * as `npx -y mcp-interposer@1.2.3`.
 *
 * Rules     package launchers set MCP_INTERPOSER_COMMAND to the command that starts the program
 *           again, as words separated by blanks. The value `mcp-interposer` means that the
 *           package is installed and PATH leads to its launcher. With the value
 *           `npx -y mcp-interposer@1.2.3`, the path of this program must not be written into a
 *           configuration file, because npx may remove its directory.
 * Owns      the words.
 * Blocks    on the file system only. */
#ifndef MI_CLI_WRAP_LAUNCH_H
#define MI_CLI_WRAP_LAUNCH_H

#include "base/buf.h"

#define LAUNCH_VARIABLE "MCP_INTERPOSER_COMMAND"
#define LAUNCH_WORDS_MAX 8

/* The command words that start this program. */
struct launch {
    char *text; /* owned; text of the words */
    /* words of the command: the program and its first args; ended by NULL */
    const char *words[LAUNCH_WORDS_MAX + 1];
    bool by_runner; /* the words begin with a package runner */
    /* the plain name of the program, without a directory, also starts this program through PATH */
    bool in_path;
};

/* Finds the command that starts this program: the value of MCP_INTERPOSER_COMMAND if it names a
 * package runner, otherwise the path of this program. Returns 0; MI_EINVAL or MI_EIO with a
 * sentence in `error`; MI_ENOMEM. */
MI_MUST int launch_find_command(struct launch *l, struct buf *error);
void launch_close(struct launch *l); /* safe to call twice */

/* Returns whether this command, with these args (ended by NULL), starts the interposer. *ret_n:
 * number of args before the interposer's own args; 0 if the command is the interposer itself. */
bool launch_starts_interposer(const char *command, const char *const *args, size_t *ret_n);
/* Whether the word is the package with a version, such as mcp-interposer@1.2.3, and `l` starts
 * another version. */
bool launch_word_names_other_version(const struct launch *l, struct slice word);
/* Appends the command that starts this program in a shell. */
void launch_append_command(const struct launch *l, struct buf *b);

#endif
