/* complete.h - `mcp-interposer __complete WORDS...`: prints the candidates for the completion
 * scripts of the shells.
 *
 * WORDS     the words of a command line after the name of the program; the last word is completed.
 * Output    candidates (cli/complete/candidates.h), and lines for the script: `:files` and
 *           `:directories` stand for paths that begin with the last word; `:server N` means that
 *           WORDS from N on are the command line of another program.
 * Errors    are not reported; there are fewer candidates.
 * Blocks    on the configuration file and, for candidates from recordings, on the vault. */
#ifndef MI_CLI_COMPLETE_COMPLETE_H
#define MI_CLI_COMPLETE_COMPLETE_H

#include "cli/settings/command.h"

void complete_command_line(struct buf *ret, const struct command *const *commands, int n,
                           char *const *words);

#endif
