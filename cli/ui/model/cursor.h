/* cursor.h - the selected row of a list, and the part of the list that is on the screen.
 *
 * The rows of a list have keys, and both ends of a list may grow. So the cursor remembers the key of its row and the line
 * of the screen on which it stands. The caller finds the row's present place in the list, and passes it in.
 *
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_MODEL_CURSOR_H
#define MI_CLI_UI_MODEL_CURSOR_H

#include "base/base.h"

struct cursor {
    int64_t key;   /* of the selected row; 0: none yet */
    size_t line;   /* of the pane, from 0 */
    bool follows;  /* it stays on the last row when rows are added */
    size_t height; /* lines of the pane, as last drawn */
};

/* The place of the first row on the screen, in a list of n rows with the selected one at `at`. Sets the line and the
 * height. */
size_t cursor_top(struct cursor *c, size_t n, size_t at, size_t height);
/* The place after moving by so many rows. The list scrolls when the cursor reaches its edge. */
size_t cursor_move(struct cursor *c, size_t n, size_t at, int64_t rows);
/* The same by a page; the cursor stays on its line. pages: -1 or 1. */
size_t cursor_page(struct cursor *c, size_t n, size_t at, int pages);
/* Scrolls by so many rows; the cursor stays on its row as long as that is on the screen. */
size_t cursor_scroll(struct cursor *c, size_t n, size_t at, int64_t rows);
/* The place of the row on this line; n: none. */
size_t cursor_on_line(const struct cursor *c, size_t n, size_t at, size_t line);

#endif
