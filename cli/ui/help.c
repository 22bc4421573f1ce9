/* help.c - the view that lists the keys. */
#include "cli/ui/page.h"

static void draw_help_lines(struct page *p)
{
    struct cells *c = &p->u->cells;
    const struct keys_row *r;
    for (size_t i = 0; (r = keys_get_row(i)) != NULL; i++) {
        if (central_explain_unavailable(p->u, r->action) != NULL)
            continue;
        if (r->action == ACTION_NONE && i > 0) {
            page_begin_line(p);
            page_end_line(p);
        }
        page_begin_line(p);
        if (r->action == ACTION_NONE) {
            cells_add_format(c, CELLS_TITLE, " %s", r->names);
        } else {
            cells_add_format(c, CELLS_FOLD, "   %-14s", r->names);
            cells_add_str(c, CELLS_PLAIN, r->what);
        }
        page_end_line(p);
    }
}

static int help_view_ignore_key(struct ui *u, enum action x)
{
    (void)u, (void)x;
    return VIEW_UNKNOWN;
}

static int draw_help(struct ui *u, const struct area *a)
{
    struct page p = {.u = u, .area = a, .top = &stack_top(u)->top};
    draw_caption(u, a, u->focus, "keys (? or Esc: back)");
    do
        draw_help_lines(&p);
    while (page_correct_top_line(&p));
    return 0;
}

static void help_search_lines(struct ui *u, bool forward)
{
    struct area a = {0, 0, u->width, u->height};
    struct line_seek s = page_begin_search(u, forward);
    struct page p = {.u = u, .area = &a, .seek = &s};
    draw_help_lines(&p);
    page_scroll_to_match(u, line_search_end(u, &s));
}

const struct view_ops help_view = {
    .draw = draw_help,
    .move = scroll_page,
    .key = help_view_ignore_key,
    .search = help_search_lines,
};
