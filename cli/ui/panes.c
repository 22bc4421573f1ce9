/* panes.c - the main view. Its panes are the sessions, the calls or messages of one session, and
 * the detail of one call or message. */
#include "cli/ui/ui.h"

#include <stdlib.h>

#define SIDE_COLUMNS 8

/* ---- lists ---- */

static size_t find_selected_session_row(const struct ui *u)
{
    size_t at = sessions_find_row_of_id(&u->sessions, u->session_cursor.key);
    return at < u->sessions.n ? at : 0;
}

static int select_session_in_row(struct ui *u, size_t place)
{
    if (u->sessions.n == 0)
        return 0;
    int64_t id = u->sessions.id[size_min(place, u->sessions.n - 1)];
    /* The cursor moves to the session even if the session was removed; otherwise the cursor could
     * not move past this session. */
    u->session_cursor.key = id;
    if (u->sessions.store == NULL)
        return feed_choose_session(u, id);
    u->store.chooses =
        true; /* deferred_load_selected_session() loads the session when no key waits */
    return 0;
}

static int move_session_cursor(struct ui *u, enum motion m, int by)
{
    size_t at = find_selected_session_row(u);
    return select_session_in_row(u, move_cursor(&u->session_cursor, u->sessions.n, at, m, by));
}

static int move_list_cursor(struct ui *u, enum motion m, int by)
{
    list_select_row_at(
        u, move_cursor(&u->list_cursor, list_count_rows(u), list_find_selected_row(u), m, by));
    return 0;
}

/* ---- the detail ---- */

static int scroll_detail_pane(struct ui *u, enum motion m, int by)
{
    struct shown *s = &u->shown;
    size_t height = u->panes.pane[PANE_DETAIL].height, page = height > 2 ? height - 2 : 1;
    bool exact;
    if (s->doc == NULL || u->focus == PANE_SESSIONS)
        return 0;
    size_t n = detail_count_lines(s->doc, &exact);
    s->from = s->jumped ? 0 : s->from;
    s->jumped = false;
    size_t step = m == MOVE_PAGE ? page : 1;
    step *= (size_t)(by < 0 ? -by : by);
    if (m == MOVE_FIRST)
        s->at = 0;
    else if (m == MOVE_LAST)
        s->at = detail_count_exact_lines(s->doc) - 1;
    else if (by < 0)
        s->at -= size_min(s->at, step);
    else
        s->at += step;
    if (m == MOVE_PAGE && by > 0)
        s->top += page;
    else if (m == MOVE_PAGE)
        s->top -= size_min(s->top, page);
    if (exact && n > 0 && s->at >= n)
        s->at = n - 1;
    if (exact && s->top + page >= n)
        s->top = n > page ? n - page : 0;
    return 0;
}

static void move_focus_or_scroll(struct ui *u, bool right)
{
    struct shown *s = &u->shown;
    if (u->focus != PANE_DETAIL || (!right && s->from == 0)) {
        if (right && u->focus < PANE_DETAIL)
            u->focus++;
        else if (!right && u->focus > 0)
            u->focus--;
        return;
    }
    s->from = right ? s->from + SIDE_COLUMNS : s->from - size_min(s->from, SIDE_COLUMNS);
}

static void fold_selected_line(struct ui *u, enum detail_fold how)
{
    size_t line;
    if (u->shown.doc == NULL)
        return;
    int st = detail_fold_line(u->shown.doc, u->shown.at, how, &line);
    if (st == 0)
        u->shown.at = line;
    else if (st == MI_EFULL)
        ui_say_error(u, "too much is unfolded; fold something else first");
}

/* Ends the first of these that is active: the search, the zoom, the filter (only with Esc, and not
 * in the detail pane). If none is active, moves the focus to the previous pane. */
static int main_go_back(struct ui *u, enum action x)
{
    if (u->seek.on)
        u->seek.on = false;
    else if (u->zoom)
        u->zoom = false;
    else if (x == ACTION_BACK && u->filtered && u->focus != PANE_DETAIL)
        return feed_set_filter(u, "");
    else if (u->focus > stack_top(u)->floor)
        u->focus--;
    else
        return VIEW_UNKNOWN;
    return 0;
}

/* Goes to a session by number, UID or server, or to a message by number. In the detail pane, a
 * number is a line number, which the caller handles. */
static int go_to_item_in_focused_pane(struct ui *u, const char *to)
{
    struct query_session s;
    char *end;
    long long seq = strtoll(to, &end, 10);
    if (u->focus == PANE_DETAIL)
        return VIEW_UNKNOWN;
    if (u->focus == PANE_LIST) {
        if (*end != '\0' || seq < 1)
            ui_say_error(u, "':%s' is not the number of a message", to);
        else if (seq < u->listing.first)
            ui_say_error(u, "message %lld is not read yet", seq);
        else if (list_count_rows(u) > 0)
            list_select_row_at(u, size_min(list_find_seq(u, seq), list_count_rows(u) - 1));
        return 0;
    }
    int st = query_session(u->q, to, &s);
    if (st == MI_ENOENT || st == MI_EINVAL) {
        ui_say_error(u, "%s", query_error(u->q));
        return 0;
    }
    int64_t id = s.id;
    st = st == 0 && u->filtered ? feed_set_filter(u, "") : st;
    return st == 0 ? feed_choose_session(u, id) : st;
}

/* ---- the mouse ---- */

/* Selects the row that was clicked. If the row was already selected in the focused pane (`again`),
 * opens the row. */
static int handle_click_on_session(struct ui *u, size_t line, bool again)
{
    size_t at = find_selected_session_row(u);
    size_t to = cursor_find_row_on_line(&u->session_cursor, u->sessions.n, at, line);
    if (to == at && again)
        u->focus = PANE_LIST;
    if (to == u->sessions.n)
        return 0;
    u->session_cursor.line = line;
    return select_session_in_row(u, to);
}

static int click_row(struct ui *u, size_t line, bool again)
{
    size_t n = list_count_rows(u), at = list_find_selected_row(u);
    size_t to = cursor_find_row_on_line(&u->list_cursor, n, at, line);
    if (to == at && again)
        u->focus = PANE_DETAIL;
    if (to < n) {
        u->list_cursor.line = line;
        list_select_row_at(u, to);
    }
    return 0;
}

static int handle_click_in_detail(struct ui *u, size_t line, bool again)
{
    if (u->shown.at == u->shown.top + line && again)
        fold_selected_line(u, DETAIL_TOGGLE);
    else
        u->shown.at = u->shown.top + line;
    return 0;
}

static const struct {
    int (*move)(struct ui *u, enum motion m, int by);
    int (*click)(struct ui *u, size_t line, bool again);
    size_t head; /* number of lines at the top of the pane that cannot be clicked */
} panes[PANES] = {
    [PANE_SESSIONS] = {move_session_cursor, handle_click_on_session, LIST_HEAD},
    [PANE_LIST] = {move_list_cursor, click_row, LIST_HEAD},
    [PANE_DETAIL] = {scroll_detail_pane, handle_click_in_detail, 1},
};

static int move_cursor_in_focused_pane(struct ui *u, enum motion m, int by)
{
    return panes[u->focus].move(u, m, by);
}

static int main_view_handle_mouse(struct ui *u, const struct press *p)
{
    enum pane pane = layout_pane_at(&u->panes, p->x, p->y);
    if (pane == PANES)
        return 0;
    if (p->key != PRESS_CLICK)
        return panes[pane].move(u, MOVE_SCROLL,
                                p->key == PRESS_WHEEL_UP ? -WHEEL_ROWS : WHEEL_ROWS);
    bool again = u->focus == pane;
    size_t first = u->panes.pane[pane].y + panes[pane].head;
    u->focus = pane;
    return p->y >= first ? panes[pane].click(u, p->y - first, again) : 0;
}

/* ---- keys ---- */

/* Sends the selected request again. Only requests of the client can be sent. */
static int send_selected_request_again(struct ui *u, bool edit)
{
    struct listed row;
    const struct row_copy *copy;
    if (!list_get_selected_call(u, &row))
        return 0;
    int st = row_cache_get_row(&u->rows, u->q, row.seq, &copy);
    if (st < 0)
        return st == MI_ENOENT ? 0 : st;
    const struct query_message *m = &copy->m;
    bool answer = session_message_is_answer(m) && m->direction == ROW_S2C && m->request_seq > 0;
    if (!answer && (m->kind != KIND_REQUEST || m->direction != ROW_C2S)) {
        ui_say_error(u, "only a request of the client can be sent again");
        return 0;
    }
    return outside_run_send(u, answer ? m->request_seq : m->seq, edit);
}

/* Returns a message that says what is missing for this action; NULL: the action is available. */
static const char *explain_unavailable_action(const struct ui *u, enum action x)
{
    struct listed row;
    switch (x) {
    case ACTION_FOLD_ALL:
    case ACTION_UNFOLD_ALL:
    case ACTION_NEXT_PART:
    case ACTION_PREVIOUS_PART:
        return u->focus == PANE_SESSIONS || u->shown.doc == NULL ? "first open a call" : NULL;
    case ACTION_BESIDE:
    case ACTION_EXPORT_CALL:
    case ACTION_SEND:
    case ACTION_SEND_EDITED:
        return !list_get_selected_call(u, &row) ? "first select a call" : NULL;
    case ACTION_COPY:
    case ACTION_COPY_POINTER:
    case ACTION_COPY_BODY:
    case ACTION_PAGER:
    case ACTION_PIPE:
    case ACTION_NEXT_FAILED:
    case ACTION_PREVIOUS_FAILED:
    case ACTION_EXPORT:
    case ACTION_DIFF:
        return ui_get_chosen_session(u) == NULL ? "no session is selected" : NULL;
    default:
        return NULL;
    }
}

/* Handles keys that use the selected session, call or text, or the parts of the detail. */
static int handle_selection_key(struct ui *u, enum action x)
{
    switch (x) {
    case ACTION_FOLD_ALL:
    case ACTION_UNFOLD_ALL:
        detail_fold_from_depth(u->shown.doc, x == ACTION_FOLD_ALL ? 1 : SIZE_MAX);
        u->shown.at = u->shown.top = 0;
        break;
    case ACTION_NEXT_PART:
    case ACTION_PREVIOUS_PART:
        u->shown.at = detail_get_next_part(u->shown.doc, u->shown.at, x == ACTION_NEXT_PART);
        break;
    case ACTION_COPY:
        copy_selected_text(u, DETAIL_COPY_VALUE);
        break;
    case ACTION_COPY_POINTER:
        copy_selected_text(u, DETAIL_COPY_POINTER);
        break;
    case ACTION_COPY_BODY:
        copy_selected_text(u, DETAIL_COPY_BODY);
        break;
    case ACTION_PAGER:
        show_selected_text_in_pager(u, NULL);
        break;
    case ACTION_PIPE:
        open_prompt(u, ASK_PIPE, u->command);
        break;
    case ACTION_EXPORT:
    case ACTION_EXPORT_CALL:
        ask_file(u, x == ACTION_EXPORT_CALL);
        break;
    case ACTION_BESIDE:
        pair_view_toggle_selected_call(u);
        break;
    case ACTION_DIFF:
        open_prompt(u, ASK_DIFF, "");
        break;
    case ACTION_SEND:
    case ACTION_SEND_EDITED:
        return send_selected_request_again(u, x == ACTION_SEND_EDITED);
    default:
        return VIEW_UNKNOWN;
    }
    return 0;
}

static int main_view_handle_key(struct ui *u, enum action x)
{
    const char *lacks = explain_unavailable_action(u, x);
    if (lacks != NULL) {
        ui_say_error(u, "%s", lacks);
        return 0;
    }
    switch (x) {
    case ACTION_LEFT:
    case ACTION_RIGHT:
        move_focus_or_scroll(u, x == ACTION_RIGHT);
        break;
    case ACTION_NEXT_PANE:
        u->focus = (enum pane)((u->focus + 1) % PANES);
        break;
    case ACTION_PREVIOUS_PANE:
        u->focus = (enum pane)((u->focus + PANES - 1) % PANES);
        break;
    case ACTION_NEXT_ROW_BEFORE:
    case ACTION_PREVIOUS_ROW_BEFORE:
        return panes[u->focus > 0 ? u->focus - 1 : 0].move(u, MOVE_ROWS,
                                                           x == ACTION_NEXT_ROW_BEFORE ? 1 : -1);
    case ACTION_BACK:
    case ACTION_LEAVE:
        return main_go_back(u, x);
    case ACTION_OPEN:
    case ACTION_FOLD:
        if (u->focus == PANE_DETAIL)
            fold_selected_line(u, DETAIL_TOGGLE);
        else if (x == ACTION_OPEN)
            u->focus++;
        else
            return VIEW_UNKNOWN;
        break;
    case ACTION_ZOOM:
        u->zoom = !u->zoom;
        break;
    case ACTION_FILTER:
        open_prompt(u, ASK_FILTER, u->filter);
        break;
    case ACTION_NEXT_FAILED:
    case ACTION_PREVIOUS_FAILED:
        seek_begin_search(u, SEEK_FAILED, x == ACTION_NEXT_FAILED);
        break;
    case ACTION_MODE:
        show_close(u);
        u->focus = u->focus == PANE_SESSIONS ? PANE_LIST : u->focus;
        return feed_set_list_mode(u, u->mode == LISTING_CALLS ? LISTING_MESSAGES : LISTING_CALLS);
    case ACTION_CLOCK:
        u->clock = !u->clock;
        break;
    default:
        return handle_selection_key(u, x);
    }
    return 0;
}

/* ---- the view ---- */

static int draw_main_panes(struct ui *u, const struct area *all)
{
    (void)all; /* `all` is not used: layout_panes() has already divided this area into the panes */
    int st = 0;
    const struct area *a = u->panes.pane;
    if (layout_shows_pane(&u->panes, PANE_SESSIONS))
        st = draw_sessions(u, &a[PANE_SESSIONS]);
    if (st == 0 && layout_shows_pane(&u->panes, PANE_LIST))
        st = draw_list(u, &a[PANE_LIST]);
    if (st == 0 && layout_shows_pane(&u->panes, PANE_DETAIL))
        st = draw_detail(u, &a[PANE_DETAIL]);
    for (int p = 0; p + 1 < PANES; p++)
        if (a[p].width > 0 && a[p + 1].width > 0 && a[p + 1].x > 0)
            screen_draw_vertical_line(a[p + 1].x - 1, a[p + 1].y, a[p + 1].height);
    return st;
}

static const struct hint of_sessions[] = {
    {ACTION_OPEN, "open"},     {ACTION_SERVERS, "servers"},   {ACTION_DIFF, "compare"},
    {ACTION_FILTER, "filter"}, {ACTION_OVERVIEW, "overview"}, {ACTION_PROBLEMS, "problems"},
    {ACTION_EXPORT, "export"}, {ACTION_SEARCH, "search"},     {ACTION_NEXT_PANE, "panes"},
    {ACTION_NONE, NULL},
};

static const struct hint of_list[] = {
    {ACTION_OPEN, "open"},         {ACTION_NEXT_FAILED, "failed"}, {ACTION_BESIDE, "compare"},
    {ACTION_DIFF, "diff"},         {ACTION_SEND, "resend"},        {ACTION_FILTER, "filter"},
    {ACTION_SEARCH, "search"},     {ACTION_MODE, "messages"},      {ACTION_EXPORT, "export"},
    {ACTION_OVERVIEW, "overview"}, {ACTION_NEXT_PANE, "panes"},    {ACTION_NONE, NULL},
};

static const struct hint of_detail[] = {
    {ACTION_FOLD, "fold"},      {ACTION_COPY, "copy"},          {ACTION_NEXT_FAILED, "failed"},
    {ACTION_BESIDE, "compare"}, {ACTION_SEND, "resend"},        {ACTION_SEARCH, "search"},
    {ACTION_NEXT_PART, "part"}, {ACTION_EXPORT_CALL, "export"}, {ACTION_NEXT_PANE, "panes"},
    {ACTION_NONE, NULL},
};

const struct view_ops main_view = {
    .draw = draw_main_panes,
    .move = move_cursor_in_focused_pane,
    .key = main_view_handle_key,
    .mouse = main_view_handle_mouse,
    .search = seek_go_to_match,
    .go = go_to_item_in_focused_pane,
    .hints = {of_sessions, of_list, of_detail},
};
