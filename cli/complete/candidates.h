/* candidates.h - words that a shell offers for the last word of a command line.
 *
 * Rules     a candidate is a line: the whole word and, after a tab, an optional description. Words that do not begin
 *           with the typed text are left out. So are words from recordings with a character that a shell interprets,
 *           because the scripts put candidates onto a command line.
 * Owns      a buffer of lines.
 * Errors    sticky in the buffer.
 * Blocks    never. Pure. */
#ifndef MI_CLI_COMPLETE_CANDIDATES_H
#define MI_CLI_COMPLETE_CANDIDATES_H

#include "base/buf.h"

#define CANDIDATES_MAX 50 /* from recordings */

struct candidates {
    struct buf lines;    /* owned */
    struct slice before; /* borrowed; a prefix of each candidate */
    const char *word;    /* borrowed; the typed text after the prefix */
    size_t recorded;     /* candidates from recordings */
};

/* about: its description; NULL: none. */
void candidates_add(struct candidates *c, const char *text, const char *about);
/* The words of `a|b` or "a, b". */
void candidates_add_words(struct candidates *c, const char *words);
/* A word from a recording. Duplicates are left out, and all words after the first CANDIDATES_MAX. */
void candidates_add_recorded(struct candidates *c, struct slice text, const char *about);
/* A request to the shell's script, such as `:files`. */
void candidates_ask_shell(struct candidates *c, const char *what);

#endif
