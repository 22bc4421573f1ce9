/* page.h - a view that is a page of lines. The same code draws the lines or searches them for a
 * text.
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
    size_t line;            /* index in the page of the line that is added next */
    size_t chosen;          /* 1 + the selected line; 0: none */
    struct line_seek *seek; /* NULL: lines are drawn; otherwise lines are searched instead */
};

void page_begin_line(struct page *p); /* begins a line, which the caller fills through u->cells */
void page_end_line(struct page *p);
/* Returns true if the page must be drawn again, because its last line is above the bottom of the
 * screen. Then sets *top so that the last line is at the bottom. */
bool page_correct_top_line(struct page *p);
/* Adds the overview of the chosen session to the page. The overview ends with the n tools of
 * `tool`, one on each line. */
void overview_draw_page(struct page *p, const uint32_t *tool, size_t n);

#endif
