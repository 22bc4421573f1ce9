/* terminal.h - finds the width of the terminal to which this program writes.
 *
 * Blocks    never. */
#ifndef MI_BASE_TERMINAL_H
#define MI_BASE_TERMINAL_H

#include "base/base.h"

/* Returns the number of columns of the terminal `fd`. If the terminal does not report it, returns
 * the environment variable COLUMNS, or 80. Returns 0 if `fd` is not a terminal. */
size_t terminal_columns(int fd);

#endif
