/* paint.h - converts styles to curses attributes and colours, for the number of colours of the
 * terminal.
 *
 * Blocks    never. */
#ifndef MI_CLI_UI_SCREEN_PAINT_H
#define MI_CLI_UI_SCREEN_PAINT_H

#include "cli/ui/screen/screen.h"

void paint_open(void); /* call after the screen is set up */
/* Sets *ret_attribute to a curses attr_t, and *ret_pair to a colour pair. */
void paint_find_attributes(enum screen_line kind, enum cells_style style, bool found,
                           unsigned *ret_attribute, short *ret_pair);

#endif
