/* run.h - runs the words of a command line and returns an exit status. The main() of each program
 * uses it.
 *
 * Errors    are reported on stderr; the function returns the exit status.
 * Blocks    as the command does. */
#ifndef MI_CLI_RUN_H
#define MI_CLI_RUN_H

#include "cli/settings/config.h"

/* Writes the text to stdout and frees it. Reports a failed write. */
int run_print_to_stdout(struct buf *b);
/* Prints the help of the command. */
int run_help(const struct command *c);
/* Reports that the command has no such second word, and suggests the nearest one. verb: the second
 * word; NULL: it is missing. */
int run_unknown_verb(const struct command *c, const char *verb);
typedef int (*run_fn)(const struct settings *s, char **argv);
/* Reads the settings of the command, then calls `run` with the settings and argv. argv[0]: the last
 * word of the command's name. */
int run_command(const struct command *c, run_fn run, int argc, char **argv);

#endif
