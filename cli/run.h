/* run.h - from the words of a command line to an exit status; what the main() of each program shares.
 *
 * Errors    a message on stderr, and the status to exit with.
 * Blocks    as the command does. */
#ifndef MI_CLI_RUN_H
#define MI_CLI_RUN_H

#include "cli/settings/config.h"

/* Writes the text to stdout, and frees it; an error is reported. */
int run_print(struct buf *b);
int run_help(const struct command *c);
/* Reports a verb that a command does not have, and the nearest one. NULL: none was given. */
int run_unknown_verb(const struct command *c, const char *verb);
/* Reads the settings of the command, and calls `run` with them and argv. argv[0]: the command, or its verb. */
typedef int (*run_fn)(const struct settings *s, char **argv);
int run_command(const struct command *c, run_fn run, int argc, char **argv);

#endif
