/* token_words.h - counts words of small letters in blocks of bytes, for base/tokens.h: most of a
 * text consists of such words.
 *
 * Owns      nothing.
 * Blocks    never. Pure. */
#ifndef MI_BASE_TOKEN_WORDS_H
#define MI_BASE_TOKEN_WORDS_H

#include "base/tokens.h"

/* Reads the rest of a word of small letters, and the words that follow it. In prose, a space
 * between two words is part of the second word. i: index of a byte after a letter. Returns the
 * index of the first byte that was not read. */
size_t tokens_scan_words(struct tokens *t, const char *p, size_t i, size_t n);

#endif
