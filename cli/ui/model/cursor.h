/* cursor.h - the selected row of a list, and the part of the list that is on the screen.
 *
 * The rows of a list have keys, and both ends of a list may grow. So the cursor remembers the key
 * of the selected row, and the line of the screen that shows the row. The caller finds the current
 * index of the row in the list, and passes it as `at`.
 *
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_MODEL_CURSOR_H
#define MI_CLI_UI_MODEL_CURSOR_H

#include "base/base.h"

struct cursor {
    int64_t key;   /* key of the selected row; 0: no row was selected yet */
    size_t line;   /* screen line of the selected row within the pane, counted from 0 */
    bool follows;  /* true: the last row is always selected, even when rows are added */
    size_t height; /* number of lines of the pane when it was last drawn */
};

/* Returns the index of the first row on the screen. The list has n rows, and `at` is the index of
 * the selected row. Sets c->line and c->height. */
size_t cursor_compute_top_row(struct cursor *c, size_t n, size_t at, size_t height);
/* Returns the index of the selected row after the cursor has moved by this many rows. The list
 * scrolls when the cursor is at an edge of the pane. */
size_t cursor_move(struct cursor *c, size_t n, size_t at, int64_t rows);
/* Returns the index of the selected row after moving by a page. pages: -1 or 1. The cursor stays on
 * its line of the screen. */
size_t cursor_move_pages(struct cursor *c, size_t n, size_t at, int pages);
/* Returns the index of the selected row after scrolling by this many rows. The selected row does
 * not change as long as it is on the screen. */
size_t cursor_scroll_rows(struct cursor *c, size_t n, size_t at, int64_t rows);
/* Returns the index of the row on this line of the pane; n if there is none. */
size_t cursor_find_row_on_line(const struct cursor *c, size_t n, size_t at, size_t line);

#endif
