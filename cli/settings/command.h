/* command.h - a command of the program: its name, options, help and function.
 *
 * main() reads the settings of the command (cli/settings/config.h) and passes them to run(), which
 * returns the exit status. Each folder of cli/ declares its commands in its commands.h. Only
 * cli/main.c has the table of all commands, and passes it down.
 *
 * Owns      nothing: commands and their tables are static.
 * Errors    run() reports errors on stderr, and returns their kind as the exit status. */
#ifndef MI_CLI_SETTINGS_COMMAND_H
#define MI_CLI_SETTINGS_COMMAND_H

#include "base/opt.h"

/* The exit status of all commands. `proxy` returns the exit status of the server, unless the proxy
 * itself fails. */
enum {
    EXIT_FINE = 0,
    EXIT_FOUND = 1,   /* a finding or a mismatch */
    EXIT_USAGE = 2,   /* options, arguments or configuration are wrong */
    EXIT_TROUBLE = 3, /* the program itself failed */
};

/* The table of every command ends with these options. A command without a vault omits
 * COMMAND_OPT_VAULT. */
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

/* Text for the help of commands that have an operand SESSION, which query_session()
 * (vault/query/reader.h) resolves. */
#define COMMAND_SESSION_HELP                                                                       \
    "SESSION is an ID or the beginning of a UID, as `sessions` prints them; the name\n"            \
    "of a server, for its newest session; or `last`.\n"

struct settings; /* cli/settings/config.h */

struct command {
    const char *name;
    const char *aliases; /* other names, separated by blanks; NULL: none */
    const char *summary; /* one line about the command, for the list of commands */
    /* words after the command's name in its usage line, such as "[OPTIONS] [SESSION]" */
    const char *usage;
    const char *about;       /* more text for the help, in whole lines; NULL: none */
    const struct opt *table; /* options of the command; ends with COMMAND_OPTS */
    int operands_max;        /* maximum number of operands; not used if server_command is true */
    /* true: after the options, the command line has the command of an MCP server */
    bool server_command;
    /* runs the command, and returns its exit status; NULL: mcp-interposer-ship runs the command */
    int (*run)(const struct settings *s);
    /* Runs the command although the configuration file is invalid; `error` says why the file is
     * invalid. NULL: the command does not run with an invalid file, which is a usage error. */
    int (*run_misconfigured)(const struct settings *s, const char *error);
    /* If the command has verbs, such as `audit key`: for each verb, a command named "COMMAND VERB"
     * with its own options, operands and help; ended by NULL. The command itself then has only a
     * name and a summary. NULL: the command has no verbs. */
    const struct command *const *verbs;
    /* Reports a usage error to the client of this command, after it was printed on stderr. NULL:
     * the command has no client. */
    void (*refuse)(const char *error);
};

/* Finds a command by its name or an alias. `commands`: the table of the program, ended by NULL.
 * Returns NULL if there is no such command. */
const struct command *command_find(const struct command *const *commands, const char *name);
/* Finds a verb of a command that has verbs. Returns NULL if there is no such verb. */
const struct command *command_find_verb(const struct command *c, const char *verb);
/* Returns the next command. Instead of a command with verbs, returns each of its verbs. Set *at to
 * {0} first. Returns NULL after the last command. */
struct command_place {
    size_t command, verb;
};
const struct command *command_get_next(const struct command *const *commands,
                                       struct command_place *at);
/* Returns whether `first_word` is the first word of the command's name. This word is also the name
 * of the command's section in the configuration file. */
bool command_has_first_word(const struct command *c, const char *first_word);
/* Appends the help of one command. */
void command_append_help(struct buf *b, const struct command *c);
void command_append_general_help(struct buf *b, const struct command *const *commands);
/* Reports a usage error on stderr, with a hint. If the command answers an MCP client, also reports
 * the error to the client. Returns EXIT_USAGE. */
int command_fail_usage(const struct command *c, const char *error);
/* Call this function first. If stdin, stdout or stderr is closed, opens /dev/null for it, so that
 * no other file gets its descriptor. Also makes write() return an error when a file reaches its
 * size limit (RLIMIT_FSIZE); otherwise a signal would end the program. */
void command_prepare_process(void);
/* Reports the error of a function that has failed with `status`. If `status` is MI_ENOMEM or
 * `error` is empty, reports "out of memory". Returns EXIT_TROUBLE. */
int command_fail(int status, const struct buf *error);

#endif
