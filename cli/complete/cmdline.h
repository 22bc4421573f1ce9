/* cmdline.h - determines what a partly typed command line expects next.
 *
 * Owns      nothing: everything is borrowed from the words and the tables.
 * Blocks    never. Pure. */
#ifndef MI_CLI_COMPLETE_CMDLINE_H
#define MI_CLI_COMPLETE_CMDLINE_H

#include "cli/settings/command.h"

enum cmdline_want {
    CMDLINE_NOTHING,
    CMDLINE_COMMAND,    /* the name of a command, or an option in front of it */
    CMDLINE_VERB,       /* a verb of `command` */
    CMDLINE_HELP_TOPIC, /* the name of a command, after `help` */
    CMDLINE_OPTION,
    CMDLINE_VALUE, /* of `option` */
    CMDLINE_OPERAND,
    CMDLINE_SERVER, /* the words from server_at on are a command line of their own */
};

struct cmdline {
    enum cmdline_want want;
    const struct command *command; /* NULL: none is typed yet, or it is unknown */
    const struct opt *option;
    struct slice before; /* the start of the last word that is kept, such as `--format=` */
    const char *word;    /* the rest of the last word: the part to complete */
    int server_at;
    int operands;               /* before the word, if want is CMDLINE_OPERAND */
    const char *vault, *config; /* values of these options; NULL: not given */
};

/* words: those after the name of the program; the last one is the word to complete. */
void cmdline_read(struct cmdline *l, const struct command *const *commands, int n,
                  char *const *words);
/* Whether the command's usage has this operand, such as "SESSION" or "FILE". */
bool cmdline_takes(const struct command *c, const char *operand);

#endif
