/* guess.h - words that users try as a command or an option, and the command or option that they
 * need instead.
 *
 * Blocks    never. Pure; the table is static. */
#ifndef MI_CLI_SETTINGS_GUESS_H
#define MI_CLI_SETTINGS_GUESS_H

#include "base/base.h"

struct guess {
    /* words that a user may type, separated by `|`; none of them is the name of a command */
    const char *words;
    const char *hint; /* commands to suggest, in backquotes, without the name of the program */
};

/* Returns row i of the table for commands, or NULL after the last row. */
const struct guess *guess_get_row(size_t i);
/* Returns the hint for a word that is not a command, or NULL. */
const char *guess_hint_for_word(const char *word);
/* Returns a hint for an unknown option, such as `--status` or `--status=x`; NULL: there is no
 * hint. */
const char *guess_hint_for_option(const char *option);

#endif
