/* width.h - the columns of a terminal that a character takes.
 *
 * A table of our own, not wcwidth(): recordings contain any characters, but the C library knows only those of the locale,
 * and a machine may have no files of locales.
 * Blocks    never. Pure. */
#ifndef MI_BASE_WIDTH_H
#define MI_BASE_WIDTH_H

#include "base/base.h"

/* Returns the columns of a printed character: 0 (combining), 1 or 2 (wide). */
size_t width_of(uint32_t code);
/* Whether the character is visible and its width is known: not a control or format character, one
 * that is ignored by default (such as variation selectors), private, or not assigned in this
 * version of Unicode. */
bool width_printable(uint32_t code);

#endif
