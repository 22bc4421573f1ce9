/* guess.h - words that users try as a command or an option, and the command or option that they
 * need instead.
 *
 * Blocks    never. Pure; the table is static. */
#ifndef MI_CLI_SETTINGS_GUESS_H
#define MI_CLI_SETTINGS_GUESS_H

#include "base/base.h"

struct guess {
    const char *words; /* words that users type, as `a|b|c`; none is the name of a command */
    const char *hint;  /* commands to suggest, in backquotes, without the name of the program */
};

const struct guess *guess_get(size_t i);           /* returns NULL after the last one */
const char *guess_hint_for_word(const char *word); /* returns NULL if there is none */
/* Returns the hint for an option that the command does not have, such as `--status` or
 * `--status=x`. NULL: none. */
const char *guess_hint_for_option(const char *option);

#endif
