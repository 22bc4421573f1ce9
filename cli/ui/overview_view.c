/* overview_view.c - the overview as a view: its cursor is in the table of tools, and Enter shows
 * the calls of a tool. */
#include "cli/ui/page.h"

#include "vault/query/filter.h"

/* Searches all lines of the overview. Writes the tools to `tool`, in the order of their lines.
 * Returns the number of lines above the first tool. */
static size_t overview_search_lines(struct ui *u, struct line_seek *seek,
                                    uint32_t tool[FIGURES_TOOLS], size_t *ret_tools)
{
    struct area a = {0, 0, u->width, u->height};
    struct page p = {.u = u, .area = &a, .seek = seek};
    *ret_tools = figures_sort_tools(&u->listing.figures, tool, FIGURES_TOOLS);
    overview_draw_page(&p, tool, *ret_tools);
    return p.line - *ret_tools;
}

/* Returns the index of the selected tool in `tool`, whose order may change when calls are added. */
static size_t find_selected_tool_row(struct ui *u, const uint32_t *tool, size_t n)
{
    size_t at = 0, selected = stack_top(u)->at;
    while (at < n && (size_t)tool[at] + 1 != selected)
        at++;
    return at < n ? at : 0;
}

static int draw_overview_view(struct ui *u, const struct area *a)
{
    struct layer *l = stack_top(u);
    struct page p = {.u = u, .area = a, .top = &l->top};
    struct line_seek seek = {0};
    uint32_t tool[FIGURES_TOOLS];
    size_t n, height = a->height - 1;
    draw_caption(u, a, u->focus, "overview");
    size_t above = overview_search_lines(u, &seek, tool, &n);
    size_t at = find_selected_tool_row(u, tool, n);
    l->at = n > 0 ? (size_t)tool[at] + 1 : 0;
    if (l->moved && above + at < l->top)
        l->top = above + at;
    else if (l->moved && above + at + 1 > l->top + height)
        l->top = above + at + 1 - height;
    l->moved = false;
    l->top = size_min(l->top, above + n > height ? above + n - height : 0);
    p.chosen = n > 0 ? above + at + 1 : 0;
    overview_draw_page(&p, tool, n);
    return 0;
}

static int overview_move_cursor(struct ui *u, enum motion m, int by)
{
    struct layer *l = stack_top(u);
    uint32_t tool[FIGURES_TOOLS];
    size_t n = figures_sort_tools(&u->listing.figures, tool, FIGURES_TOOLS);
    if (m == MOVE_SCROLL || n == 0)
        return scroll_page(u, m, by);
    size_t at = find_selected_tool_row(u, tool, n);
    l->found = 0;
    l->moved = m != MOVE_FIRST && (at > 0 || by > 0);
    /* until the cursor was moved, the lines above the first tool are shown */
    l->top = l->moved ? l->top : 0;
    move_top_line(&at, m, by, u->height > 6 ? u->height - 6 : 1);
    l->at = (size_t)tool[size_min(at, n - 1)] + 1;
    return 0;
}

static void overview_search_and_scroll(struct ui *u, bool forward)
{
    struct line_seek s = page_begin_search(u, forward);
    uint32_t tool[FIGURES_TOOLS];
    size_t n, above = overview_search_lines(u, &s, tool, &n), found = line_search_end(u, &s);
    page_scroll_to_match(u, found);
    if (found > above)
        stack_top(u)->at = (size_t)tool[found - 1 - above] + 1;
}

/* Writes a filter for the calls whose `field` (tool or method) has this name. Returns NULL if there
 * can be no such filter; a message says why. */
static const char *write_filter_for_name(struct ui *u, const char *field, struct slice name,
                                         struct buf *b)
{
    bool words = memchr(name.p, ' ', name.n) != NULL, single = memchr(name.p, '\'', name.n) != NULL;
    char quote = !words ? '\0' : single ? '"' : '\'';
    buf_slice_add(b, name);
    bool glob = filter_is_glob(buf_str(b));
    buf_clear(b);
    buf_printf(b, "%.1s%s:", &quote, field);
    for (size_t i = 0; i < name.n; i++) {
        if (glob && memchr("*?[\\", name.p[i], 4) != NULL)
            buf_addc(b, '\\');
        buf_addc(b, name.p[i]);
    }
    buf_printf(b, "%.1s", &quote);
    if (b->failed || b->n > PROMPT_MAX)
        ui_say_error(u, "this name is too long for a filter");
    else if (quote == '"' && memchr(name.p, '"', name.n) != NULL)
        ui_say_error(
            u, "a filter cannot have this name, because the name contains both kinds of quotes");
    else
        return buf_str(b);
    return NULL;
}

/* Filters the calls of the selected tool or method. */
static int filter_by_selected_tool(struct ui *u)
{
    struct figures *f = &u->listing.figures;
    uint32_t tool[FIGURES_TOOLS];
    struct buf text = {0};
    int st = 0;
    size_t n = figures_sort_tools(f, tool, FIGURES_TOOLS), at = find_selected_tool_row(u, tool, n);
    if (n == 0)
        return 0;
    const char *filter = write_filter_for_name(u, f->tool[tool[at]].is_tool ? "tool" : "method",
                                               intern_get_text(&f->names, tool[at]), &text);
    if (filter != NULL) {
        stack_close(u);
        if (stack_top(u)->view != u->layer[0].view)
            stack_open_main(u, PANE_LIST);
        u->focus = PANE_LIST;
        st = feed_set_filter(u, filter);
    }
    buf_close(&text);
    return st == MI_EINVAL ? 0 : st;
}

/* Shows the overview of the next or the previous session of the list. */
static int show_next_overview(struct ui *u, bool next)
{
    size_t at = sessions_find_row_of_id(&u->sessions, u->session_cursor.key), n = u->sessions.n;
    /* if there is no previous session (`at` is 0), `to` becomes SIZE_MAX, which is not a session */
    size_t to = next ? at + 1 : at - 1;
    if (at >= n || to >= n)
        return 0;
    stack_top(u)->at = stack_top(u)->top = 0;
    u->session_cursor.key = u->sessions.id[to];
    return feed_choose_session(u, u->sessions.id[to]);
}

static int overview_handle_action(struct ui *u, enum action x)
{
    bool session = ui_get_chosen_session(u) != NULL;
    if (x == ACTION_OPEN && session)
        return filter_by_selected_tool(u);
    if ((x == ACTION_NEXT_ROW_BEFORE || x == ACTION_PREVIOUS_ROW_BEFORE) && session)
        return show_next_overview(u, x == ACTION_NEXT_ROW_BEFORE);
    if (x == ACTION_EXPORT && session)
        ask_file(u, false);
    else if (x == ACTION_DIFF && session)
        open_prompt(u, ASK_DIFF, "");
    else
        return VIEW_UNKNOWN;
    return 0;
}

static const struct hint of_overview[] = {{ACTION_OPEN, "its calls"},
                                          {ACTION_NEXT_ROW_BEFORE, "next session"},
                                          {ACTION_DIFF, "compare"},
                                          {ACTION_EXPORT, "export"},
                                          {ACTION_NONE, NULL}};

const struct view_ops overview_view = {
    .draw = draw_overview_view,
    .move = overview_move_cursor,
    .key = overview_handle_action,
    .search = overview_search_and_scroll,
    .hints = {of_overview},
};
