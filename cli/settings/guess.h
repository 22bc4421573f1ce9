/* guess.h - words that users try as a command or as an option, and what does what they mean.
 *
 * Blocks    never. Pure; the table is static. */
#ifndef MI_CLI_SETTINGS_GUESS_H
#define MI_CLI_SETTINGS_GUESS_H

#include "base/base.h"

struct guess {
    const char *words; /* `a|b|c`; none is the name of a command */
    const char *hint;  /* commands in backquotes, without the name of the program */
};

const struct guess *guess_at(size_t i);   /* NULL: past the last one */
const char *guess_hint(const char *word); /* NULL: none */
/* For an option that the command does not have, such as `--status` or `--status=x`. NULL: none. */
const char *guess_option(const char *option);

#endif
