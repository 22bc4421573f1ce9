/* command.h - a command of the program: its name, options, help and function.
 *
 * main() reads the settings of the command (cli/settings/config.h) and passes them to run(), which returns the exit
 * status. Each folder of cli/ declares its commands in its commands.h; only cli/main.c has the table of all of them,
 * and passes it down.
 *
 * Owns      nothing: commands and their tables are static.
 * Errors    run() reports them on stderr; the exit status gives their kind. */
#ifndef MI_CLI_SETTINGS_COMMAND_H
#define MI_CLI_SETTINGS_COMMAND_H

#include "base/opt.h"

/* Exit status of all commands; `proxy` otherwise ends with the server's own. */
enum {
    EXIT_FINE = 0,
    EXIT_FOUND = 1,   /* a finding or a mismatch */
    EXIT_USAGE = 2,   /* wrong options, arguments or configuration */
    EXIT_TROUBLE = 3, /* our own failure */
};

/* Every command's table ends with these; commands without a vault omit the first. */
#define COMMAND_OPT_VAULT                                                                          \
    {'V', "vault", "DIR", NULL, "directory of the vault (see: mcp-interposer help)"},              \
    {                                                                                              \
        0, "journal-dir", "DIR", NULL, "directory of journals, in memory"                          \
    }
#define COMMAND_OPTS                                                                               \
    {0, "config", "FILE", NULL, "configuration file"},                                             \
        {'h', "help", NULL, NULL, "show this help"},                                               \
    {                                                                                              \
        0                                                                                          \
    }

/* For the help of commands with a SESSION; query_session() (vault/query/reader.h) has these rules. */
#define COMMAND_SESSION_HELP                                                                       \
    "SESSION is an ID or the beginning of a UID, as `sessions` prints them; the name\n"            \
    "of a server, for its newest session; or `last`.\n"

struct settings; /* cli/settings/config.h */

struct command {
    const char *name;
    const char *aliases;                  /* other names, separated by blanks; NULL: none */
    const char *summary;                  /* its line in the list of commands */
    const char *usage;                    /* after the name: "[OPTIONS] [SESSION]" */
    const char *about;                    /* more for its help, whole lines; NULL: nothing */
    const struct opt *table;              /* ends with COMMAND_OPTS */
    int operands_max;                     /* ignored with server_command */
    bool server_command;                  /* a server's command line follows the options */
    int (*run)(const struct settings *s); /* the exit status; NULL: mcp-interposer-ship runs it */
    /* Runs with an invalid configuration file, of which `error` says what is wrong. NULL: that is a usage error. */
    int (*run_misconfigured)(const struct settings *s, const char *error);
    /* The verbs of a command such as `audit key`, ended by NULL. Each is a command named "COMMAND VERB", with options,
     * operands and help of its own; a command with verbs has only name and summary. NULL: it has no verbs. */
    const struct command *const *verbs;
    /* Reports a usage error, which is on stderr already, to the client of this command. NULL: it has no client. */
    void (*refuse)(const char *error);
};

/* `commands` is the table of a program, ended by NULL. */
const struct command *command_find(const struct command *const *commands,
                                   const char *name); /* NULL: there is none */
/* The verb of a command that has verbs, by its second word. */
const struct command *command_verb(const struct command *c,
                                   const char *verb); /* NULL: there is none */
/* Iterates over the commands, and over its verbs instead of a command that has verbs. *at starts at {0}. NULL: no more. */
struct command_place {
    size_t command, verb;
};
const struct command *command_next(const struct command *const *commands, struct command_place *at);
/* Compares the first word of the command's name, which is the name of its section in the configuration. */
bool command_is(const struct command *c, const char *first_word);
/* The help of one command, and of the program. */
void command_help(struct buf *b, const struct command *c);
void command_help_all(struct buf *b, const struct command *const *commands);
/* Reports a usage error on stderr, with a hint, and to a waiting client. EXIT_USAGE. */
int command_usage(const struct command *c, const char *error);
/* Opens /dev/null for a closed stdin, stdout or stderr, so that no other file gets its descriptor. A limit on the size of files
 * (RLIMIT_FSIZE) becomes an error of write(), not a signal that ends the program. Call it first. */
void command_prepare(void);
/* Reports a failed call: its error, or "out of memory" for MI_ENOMEM or without one. Returns EXIT_TROUBLE. */
int command_fail(int status, const struct buf *error);

#endif
