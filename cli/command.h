/* command.h - what a command of the program is.
 *
 * A command's run() gets argv like a main(): argv[0] is a name, options begin at argv[1], argv[argc] is
 * NULL. It begins with settings_read() (cli/config.h) and returns the exit status.
 *
 * Owns      nothing: commands and their tables are static, one in each cmd_*.c.
 * Errors    are told on stderr by the command itself; the exit status says of which kind they are. */
#ifndef MI_CLI_COMMAND_H
#define MI_CLI_COMMAND_H

#include "base/opt.h"

/* Exit status of all commands; `proxy` otherwise ends with the server's own. */
enum {
    EXIT_FINE = 0,
    EXIT_FOUND = 1,   /* a finding or a mismatch */
    EXIT_USAGE = 2,   /* wrong options, arguments or configuration */
    EXIT_TROUBLE = 3, /* our own failure */
};

/* Every command's table ends with these two; the first is left out by commands without a vault. */
#define COMMAND_OPT_VAULT                                                                          \
    {                                                                                              \
        'V', "vault", "DIR", NULL, "where everything is stored (see below)"                        \
    }
#define COMMAND_OPTS                                                                               \
    {0, "config", "FILE", NULL, "configuration file (see below)"},                                 \
        {'h', "help", NULL, NULL, "show this help"},                                               \
    {                                                                                              \
        0                                                                                          \
    }

struct command {
    const char *name;
    const char *aliases;     /* other names, with blanks between; NULL: none */
    const char *summary;     /* what it does, in a few words: a line of the list of commands */
    const char *usage;       /* what follows the name: "[OPTIONS] [SESSION]" */
    const char *about;       /* more for its own help, whole lines; NULL: nothing */
    const struct opt *table; /* ends with COMMAND_OPTS */
    int operands_max;        /* most operands it takes; ignored with server_command */
    bool server_command; /* what follows the options is a server's command line, left untouched */
    int (*run)(int argc, char **argv);
};

extern const struct command command_proxy; /* cmd_proxy.c */
extern const struct command command_sessions;
extern const struct command command_show;
extern const struct command command_stats;
extern const struct command command_search;
extern const struct command command_check;
extern const struct command command_tools;
extern const struct command command_tail;
extern const struct command command_export;
extern const struct command command_import;
extern const struct command command_doctor;
extern const struct command command_prune;
extern const struct command command_ps;
extern const struct command command_reap;
extern const struct command command_redact;
extern const struct command command_replay;
extern const struct command command_verify;
extern const struct command command_wrap;
extern const struct command command_unwrap;
extern const struct command command_completion;

extern const struct command *const commands[]; /* all of them, ended by NULL */

const struct command *command_find(const char *name); /* NULL: there is none */
/* The help of one command, and of the program. */
void command_help(struct buf *b, const struct command *c);
void command_help_all(struct buf *b);

#endif
