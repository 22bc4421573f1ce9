/* quoted_words.h - cuts a line into words, for the filter.
 *
 * Rules     blanks separate words. A word that begins with ' or " ends with the next such
 *           character, and may contain blanks.
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_QUOTED_WORDS_H
#define MI_CLI_UI_QUOTED_WORDS_H

#include "base/base.h"

/* Writes the words to `out`, which must have room for the line with its NUL. words[] points to the
 * words and ends with NULL. Returns false if there are more than max - 1 words. */
MI_MUST bool split_quoted_words(const char *line, char *out, char **words, size_t max);

#endif
