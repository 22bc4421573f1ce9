/* cmdline.h - determines what may follow in a partly typed command line.
 *
 * Owns      nothing: everything is borrowed from the words and the tables.
 * Blocks    never. Pure. */
#ifndef MI_CLI_COMPLETE_CMDLINE_H
#define MI_CLI_COMPLETE_CMDLINE_H

#include "cli/settings/command.h"

enum cmdline_want {
    CMDLINE_NOTHING,
    /* the last word is the name of a command, or an option that precedes the name */
    CMDLINE_COMMAND,
    /* the last word is the second word of `command`, such as `check` in `audit check` */
    CMDLINE_VERB,
    CMDLINE_HELP_TOPIC, /* the last word is the name of a command, after `help` */
    CMDLINE_OPTION,
    CMDLINE_VALUE, /* the last word contains the value of `option` */
    CMDLINE_OPERAND,
    /* the last word belongs to a server's command line, which begins with word number server_at */
    CMDLINE_SERVER,
};

struct cmdline {
    enum cmdline_want want;
    const struct command *command; /* the typed command; NULL: none yet, or unknown */
    const struct opt *option;      /* for CMDLINE_VALUE */
    /* the beginning of the last word, which stays unchanged, such as `--format=` */
    struct slice before;
    const char *word; /* the rest of the last word, which is completed */
    int server_at;    /* for CMDLINE_SERVER: index of the first word of the server's command line */
    int operands;     /* for CMDLINE_OPERAND: number of operands before the last word */
    const char *vault, *config; /* values of --vault and --config; NULL: not given */
};

/* words: the words after the name of the program; the last word is completed. */
void cmdline_read(struct cmdline *l, const struct command *const *commands, int n,
                  char *const *words);
/* Whether the usage text of the command has this operand, such as "SESSION" or "FILE". */
bool cmdline_takes_operand(const struct command *c, const char *operand);

#endif
