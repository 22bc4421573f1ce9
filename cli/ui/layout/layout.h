/* layout.h - divides the screen into panes, depending on its size and the pane with the focus.
 *
 * Panes     sessions, list (the calls or messages of one session), detail (one call or message).
 *           Wide screens show all three side by side. Medium screens show two panes, one above
 *           the other: sessions and list, or list and detail. Small screens show one pane. A
 *           zoomed pane is shown alone.
 * Lines     the header is the first line; on screens with LAYOUT_TWO_LINES or more lines, it is the
 *           first two lines. The footer is the last line. The first line of a pane is its title.
 * Units     columns and lines, from 0.
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_LAYOUT_LAYOUT_H
#define MI_CLI_UI_LAYOUT_LAYOUT_H

#include "base/base.h"

#define LAYOUT_MIN_WIDTH 24
#define LAYOUT_MIN_HEIGHT 6
#define LAYOUT_TWO_LINES 20  /* screens with this many lines have a header of two lines */
#define LAYOUT_TWO_HEIGHT 20 /* screens with this many lines and columns have two panes */
#define LAYOUT_TWO_WIDTH 70
#define LAYOUT_THREE_WIDTH 132 /* screens with this many columns have three panes */

enum pane { PANE_SESSIONS, PANE_LIST, PANE_DETAIL, PANES };

struct area {
    size_t x, y, width, height; /* width 0: the area is not shown */
};

struct layout_panes {
    struct area pane[PANES];
    size_t header; /* number of lines of the header */
    bool usable;   /* false: the screen is too small for any pane */
};

void layout_panes(struct layout_panes *l, size_t width, size_t height, enum pane focus, bool zoom);
static inline bool layout_shows_pane(const struct layout_panes *l, enum pane p)
{
    return l->pane[p].width > 0;
}
/* Returns the pane at a position; PANES if there is none. */
enum pane layout_pane_at(const struct layout_panes *l, size_t x, size_t y);

#endif
