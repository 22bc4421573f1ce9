/* page.h - a view that is a page of lines, which are drawn, or looked at for a text, one after the other.
 *
 * Owns      nothing.
 * Blocks    never. */
#ifndef MI_CLI_UI_PAGE_H
#define MI_CLI_UI_PAGE_H

#include "cli/ui/ui.h"

struct page {
    struct ui *u;
    const struct area *area;
    size_t *top;            /* the first line that is drawn */
    size_t line;            /* the next one, from the first of the page */
    size_t chosen;          /* 1 + the selected line; 0: none */
    struct line_seek *seek; /* not NULL: lines are looked at, not drawn */
};

void page_begin(struct page *p); /* a line, which is filled through u->cells */
void page_end(struct page *p);
/* Whether the page has to be drawn again, because fewer lines than a screen followed *top. It is the last full screen then. */
bool page_ended_early(struct page *p);
/* The overview of the chosen session. Its last lines are these tools. */
void page_overview(struct page *p, const uint32_t *tool, size_t n);

#endif
