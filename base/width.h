/* width.h - finds the columns of a terminal that a character takes.
 *
 * The table is our own, because wcwidth() knows only the characters of the locale, and a machine
 * may have no locale files; recordings contain any characters.
 * Blocks    never. Pure. */
#ifndef MI_BASE_WIDTH_H
#define MI_BASE_WIDTH_H

#include "base/base.h"

/* Returns the columns of a printed character: 0 (combining), 1 or 2 (wide). */
size_t width_of_char(uint32_t code);
/* Returns true if the character is visible and its width is known. Returns false for control and
 * format characters, for characters that are ignored by default (such as variation selectors), and
 * for characters that are private or not assigned in this version of Unicode. */
bool width_char_is_printable(uint32_t code);

#endif
