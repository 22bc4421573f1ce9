/* ecma.h - translates a regular expression of ECMA-262, as JSON Schema uses it, to the syntax of PCRE2.
 *
 * \p{Letter} and \p{gc=Lu} become \p{L} and \p{Lu}; \s and \S get the meaning that ECMA-262 gives
 * them. (Inside brackets \S has its ASCII meaning, but \s and \S together still match everything.)
 * All other text is copied; pattern.c sets the options that it needs.
 *
 * Blocks    never. Pure. */
#ifndef MI_BASE_ECMA_H
#define MI_BASE_ECMA_H

#include "base/buf.h"

/* Appends at most 20 bytes for each byte of the expression. */
void ecma_regex_to_pcre(struct buf *b, struct slice regex);

#endif
