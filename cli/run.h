/* run.h - runs the words of a command line and returns an exit status. The main() of each program
 * uses it.
 *
 * Errors    are reported on stderr; the function returns the exit status.
 * Blocks    as the command does. */
#ifndef MI_CLI_RUN_H
#define MI_CLI_RUN_H

#include "cli/settings/config.h"

/* Writes the text to stdout, and frees it. If that fails, reports the error. */
int run_print(struct buf *b);
int run_help(const struct command *c);
/* Reports that the command has no such second word, and suggests the nearest one. verb: NULL if
 * none was given. */
int run_unknown_verb(const struct command *c, const char *verb);
/* Reads the settings of the command, then calls `run` with them and argv. argv[0]: the name of the
 * command, or the second word of its name. */
typedef int (*run_fn)(const struct settings *s, char **argv);
int run_command(const struct command *c, run_fn run, int argc, char **argv);

#endif
