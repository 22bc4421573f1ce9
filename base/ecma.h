/* ecma.h - writes a regular expression of ECMA-262, as JSON Schema uses it, in the syntax of PCRE2.
 *
 * \p{Letter}, \p{gc=Lu} and the like become \p{L}, \p{Lu}; \s and \S are the white space of
 * ECMA-262. (Inside brackets \S is the ASCII one, but \s and \S together still match everything.)
 * The rest is copied; pattern.c sets options for it.
 *
 * Blocks    never. Pure. */
#ifndef MI_BASE_ECMA_H
#define MI_BASE_ECMA_H

#include "base/buf.h"

/* Appends at most 20 bytes for each byte of the expression. */
void ecma_regex_to_pcre(struct buf *b, struct slice regex);

#endif
