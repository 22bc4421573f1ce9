#include "cli/ui/layout/layout.h"

/* Places three panes side by side, with a column for a vertical line between them. */
static void layout_place_three_panes(struct layout_panes *l, struct area all)
{
    size_t sessions = all.width / 5;
    sessions = sessions < 28 ? 28 : sessions > 44 ? 44 : sessions;
    size_t list = (all.width - sessions - 2) * 45 / 100;
    size_t x = 0;
    l->pane[PANE_SESSIONS] = (struct area){x, all.y, sessions, all.height};
    x += sessions + 1;
    l->pane[PANE_LIST] = (struct area){x, all.y, list, all.height};
    x += list + 1;
    l->pane[PANE_DETAIL] = (struct area){x, all.y, all.width - x, all.height};
}

/* Places two panes, one above the other. The pane with the focus gets more lines. */
static void layout_place_two_panes(struct layout_panes *l, struct area all, enum pane focus)
{
    enum pane upper = focus == PANE_SESSIONS ? PANE_SESSIONS : PANE_LIST;
    size_t percent = focus == PANE_DETAIL ? 30 : focus == PANE_LIST ? 45 : 50;
    size_t n = all.height * percent / 100;
    struct area rest = {0, all.y + n, all.width, all.height - n};
    all.height = n;
    l->pane[upper] = all;
    l->pane[upper + 1] = rest;
}

void layout_panes(struct layout_panes *l, size_t width, size_t height, enum pane focus, bool zoom)
{
    *l = (struct layout_panes){.usable = width >= LAYOUT_MIN_WIDTH && height >= LAYOUT_MIN_HEIGHT};
    if (!l->usable)
        return;
    l->header = height >= LAYOUT_TWO_LINES ? 2 : 1;
    struct area all = {0, l->header, width, height - l->header - 1};
    if (zoom || width < LAYOUT_TWO_WIDTH || height < LAYOUT_TWO_HEIGHT)
        l->pane[focus] = all;
    else if (width < LAYOUT_THREE_WIDTH)
        layout_place_two_panes(l, all, focus);
    else
        layout_place_three_panes(l, all);
}

enum pane layout_pane_at(const struct layout_panes *l, size_t x, size_t y)
{
    for (int p = 0; p < PANES; p++) {
        const struct area *a = &l->pane[p];
        if (x >= a->x && x < a->x + a->width && y >= a->y && y < a->y + a->height)
            return (enum pane)p;
    }
    return PANES;
}
