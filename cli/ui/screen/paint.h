/* paint.h - the attributes and colours of styles, for the colours that the terminal has.
 *
 * Blocks    never. */
#ifndef MI_CLI_UI_SCREEN_PAINT_H
#define MI_CLI_UI_SCREEN_PAINT_H

#include "cli/ui/screen/screen.h"

void paint_open(void); /* after the screen is set up */
/* attribute: curses' attr_t; pair: of colours. */
void paint_of(enum screen_line kind, enum cells_style style, bool found, unsigned *ret_attribute,
              short *ret_pair);

#endif
