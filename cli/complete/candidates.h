/* candidates.h - the words that a shell offers for the last word of a command line.
 *
 * Rules     a candidate is a line: the whole word, then optionally a tab and a description. A word
 *           that does not begin with the typed text is left out. A word from a recording is also
 *           left out if a shell would interpret one of its characters, because the scripts put
 *           candidates onto a command line.
 * Owns      a buffer of lines.
 * Errors    are kept in the buffer.
 * Blocks    never. Pure. */
#ifndef MI_CLI_COMPLETE_CANDIDATES_H
#define MI_CLI_COMPLETE_CANDIDATES_H

#include "base/buf.h"

#define CANDIDATES_MAX 50 /* maximum number of candidates from recordings */

struct candidates {
    struct buf lines;    /* owned */
    struct slice before; /* borrowed; each candidate begins with this prefix */
    const char *word;    /* borrowed; the part of the typed word after `before` */
    size_t recorded;     /* the number of candidates from recordings */
};

/* about: a description of the candidate; NULL if there is none. */
void candidates_add(struct candidates *c, const char *text, const char *about);
/* Adds each word of a list such as `a|b` or "a, b". */
void candidates_add_words(struct candidates *c, const char *words);
/* Adds a word from a recording, unless this word was added before, or CANDIDATES_MAX words from
 * recordings were added. */
void candidates_add_recorded_word(struct candidates *c, struct slice text, const char *about);
/* Adds an instruction for the completion script of the shell, such as `:files`. */
void candidates_request_from_shell(struct candidates *c, const char *what);

#endif
