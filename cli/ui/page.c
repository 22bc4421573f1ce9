#include "cli/ui/page.h"

#include "cli/ui/text/find.h"

void page_begin_line(struct page *p)
{
    /* a search also covers the columns to the right of the screen */
    size_t width = p->seek != NULL ? LINE_SEEK_COLUMNS : p->area->width;
    cells_begin_line(&p->u->cells, 0, width, p->u->ascii);
}

void page_end_line(struct page *p)
{
    size_t line = p->line++;
    if (p->seek != NULL)
        line_search_test_line(p->u, p->seek, line);
    else if (line >= *p->top && line - *p->top + 1 < p->area->height)
        draw_line_with_matches(p->u, p->area, 1 + line - *p->top,
                               p->chosen == line + 1 ? SCREEN_CHOSEN : SCREEN_NORMAL);
}

bool page_correct_top_line(struct page *p)
{
    size_t height = p->area->height - 1, most = p->line > height ? p->line - height : 0;
    bool early = *p->top > most;
    if (early)
        *p->top = most;
    p->line = 0;
    return early;
}

int scroll_page(struct ui *u, enum motion m, int by)
{
    stack_top(u)->found = 0;
    move_top_line(&stack_top(u)->top, m, by, u->height > 6 ? u->height - 6 : 1);
    return 0;
}

struct line_seek page_begin_search(struct ui *u, bool forward)
{
    const struct layer *l = stack_top(u);
    size_t from = l->found > 0 ? l->found - 1 : forward ? l->top - 1 : l->top;
    return (struct line_seek){.forward = forward, .from = from};
}

void page_scroll_to_match(struct ui *u, size_t found)
{
    struct layer *l = stack_top(u);
    if (found == 0)
        return;
    l->found = found;
    l->top = found - 1 - size_min(found - 1, PAIR_VIEW_ABOVE);
}

/* ---- searching in lines ---- */

void line_search_test_line(struct ui *u, struct line_seek *s, size_t line)
{
    if (find_next_match(buf_slice(&u->cells.text), 0, slice_of(u->search)) == FIND_NONE)
        return;
    bool ahead = s->from == SIZE_MAX || (s->forward ? line > s->from : line < s->from);
    if (ahead && (s->found == 0 || !s->forward))
        s->found = 1 + line;
    if (s->other == 0 || !s->forward)
        s->other = 1 + line;
}

size_t line_search_end(struct ui *u, const struct line_seek *s)
{
    if (s->other == 0)
        ui_say_error(u, "'%s' was not found", u->search);
    else if (s->found == 0)
        ui_say(u, "the search wrapped around");
    return s->found != 0 ? s->found : s->other;
}
