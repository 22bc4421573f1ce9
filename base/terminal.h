/* terminal.h - the width of the terminal that is shown what we write.
 *
 * Blocks    never. */
#ifndef MI_BASE_TERMINAL_H
#define MI_BASE_TERMINAL_H

#include "base/base.h"

/* Columns of the terminal fd: as the terminal says, else COLUMNS in the environment, else 80. 0: fd is not a terminal. */
size_t terminal_columns(int fd);

#endif
