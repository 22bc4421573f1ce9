/* act.c - what keys and the mouse do. */
#include "cli/ui/ui.h"

#include <stdio.h>

#define WHEEL_ROWS 3
#define SIDE_COLUMNS 8

/* ---- lists ---- */

static size_t session_place(const struct ui *u)
{
    size_t at = sessions_place(&u->sessions, u->session_cursor.key);
    return at < u->sessions.n ? at : 0;
}

static int go_session(struct ui *u, size_t place)
{
    if (u->sessions.n == 0)
        return 0;
    return feed_choose(u, u->sessions.id[size_min(place, u->sessions.n - 1)]);
}

enum motion { MOVE_ROWS, MOVE_PAGE, MOVE_SCROLL, MOVE_FIRST, MOVE_LAST };

static size_t moved(struct cursor *c, size_t n, size_t at, enum motion m, int by)
{
    switch (m) {
    case MOVE_ROWS:
        return cursor_move(c, n, at, by);
    case MOVE_PAGE:
        return cursor_page(c, n, at, by);
    case MOVE_SCROLL:
        return cursor_scroll(c, n, at, by);
    case MOVE_FIRST:
        c->line = 0;
        return 0;
    case MOVE_LAST:
        c->line = c->height;
        return n > 0 ? n - 1 : 0;
    }
    return at;
}

/* ---- the detail ---- */

static void move_detail(struct ui *u, enum motion m, int by)
{
    struct shown *s = &u->shown;
    size_t height = u->panes.pane[PANE_DETAIL].height, page = height > 2 ? height - 2 : 1;
    bool exact;
    if (s->doc == NULL)
        return;
    size_t n = detail_lines(s->doc, &exact);
    size_t step = m == MOVE_PAGE ? page : 1;
    step *= (size_t)(by < 0 ? -by : by);
    if (m == MOVE_FIRST)
        s->at = 0;
    else if (m == MOVE_LAST)
        s->at = detail_end(s->doc) - 1;
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
}

static void move_page(size_t *top, enum motion m, int by, size_t page)
{
    size_t step = (m == MOVE_PAGE ? page : 1) * (size_t)(by < 0 ? -by : by);
    if (m == MOVE_FIRST)
        *top = 0;
    else if (m == MOVE_LAST)
        *top = SIZE_MAX / 2; /* drawing limits it */
    else if (by < 0)
        *top -= size_min(*top, step);
    else
        *top += step;
}

/* ---- moving in a pane ---- */

static int move_in(struct ui *u, enum pane pane, enum motion m, int by)
{
    u->dirty = true;
    if (u->help) {
        move_page(&u->help_top, m, by, u->height > 6 ? u->height - 6 : 1);
        return 0;
    }
    if (pane == PANE_SESSIONS)
        return go_session(u, moved(&u->session_cursor, u->sessions.n, session_place(u), m, by));
    if (pane == PANE_LIST)
        list_go(u, moved(&u->list_cursor, listing_n(&u->listing), list_place(u), m, by));
    else if (ui_shows_overview(u))
        move_page(&u->overview_top, m, by, u->panes.pane[PANE_DETAIL].height);
    else
        move_detail(u, m, by);
    return 0;
}

static void move_sideways(struct ui *u, bool right)
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

static void fold(struct ui *u, enum detail_fold how)
{
    size_t line;
    if (u->shown.doc == NULL)
        return;
    int st = detail_fold(u->shown.doc, u->shown.at, how, &line);
    if (st == 0)
        u->shown.at = line;
    else if (st == MI_EFULL)
        ui_complain(u, "too much is unfolded; fold something else first");
}

static void open_selected(struct ui *u)
{
    if (u->focus == PANE_DETAIL && !u->overview)
        fold(u, DETAIL_TOGGLE);
    else if (u->focus < PANE_DETAIL)
        u->focus++;
}

/* Where the detail pane is not on the screen, it gets the focus. */
static void show_overview(struct ui *u)
{
    u->overview = !u->overview;
    if (u->overview && !layout_shows(&u->panes, PANE_DETAIL)) {
        u->focus = PANE_DETAIL;
    } else if (!u->overview && u->focus == PANE_DETAIL) {
        u->focus = PANE_LIST;
    }
}

/* Esc ends one thing at a time. */
static int back(struct ui *u)
{
    if (u->help)
        u->help = false;
    else if (u->seek.on)
        u->seek.on = false;
    else if (u->zoom)
        u->zoom = false;
    else if (u->overview)
        show_overview(u);
    else if (u->focus == PANE_DETAIL)
        u->focus = PANE_LIST;
    else if (u->filtered)
        return feed_filter(u, "");
    else if (u->focus == PANE_LIST)
        u->focus = PANE_SESSIONS;
    return 0;
}

/* ---- copying ---- */

static void copy_text(struct ui *u, const struct buf *b, const char *what)
{
    if (b->n > 0 && screen_copy(buf_slice(b)))
        ui_say(u, "copied %s, %zu bytes", what, b->n);
    else if (b->n > 0)
        ui_complain(u, "%zu bytes are more than a terminal takes (%zu); e writes a file", b->n,
                    SCREEN_COPY_MAX);
}

/* Of the row in a list: its first message. */
static void copy_row(struct ui *u, struct buf *b)
{
    if (show_selected(u, u->shown.columns != 0 ? u->shown.columns : 80) == 0 &&
        u->shown.subject.messages_n > 0)
        buf_slice_add(b, u->shown.message[0].body);
    copy_text(u, b, "the message");
}

static void copy_line(struct ui *u, enum detail_copy what, struct buf *b)
{
    char text[40];
    if (u->shown.doc == NULL)
        return;
    if (detail_copy(u->shown.doc, u->shown.at, what, b) < 0) {
        ui_complain(u, "this line has no such text");
        return;
    }
    snprintf(text, sizeof text, "message %lld", (long long)detail_seq(u->shown.doc, u->shown.at));
    copy_text(u, b,
              what == DETAIL_COPY_VALUE     ? "the value"
              : what == DETAIL_COPY_POINTER ? "the pointer"
                                            : text);
}

static void copy(struct ui *u, enum detail_copy what)
{
    struct buf b = {0};
    if (ui_session(u) == NULL)
        return;
    if (u->focus == PANE_SESSIONS) {
        buf_slice_add(&b, ui_session(u)->uid);
        copy_text(u, &b, "the UID");
    } else if (u->focus == PANE_LIST) {
        copy_row(u, &b);
    } else {
        copy_line(u, what, &b);
    }
    buf_close(&b);
}

/* ---- the mouse ---- */

static int click(struct ui *u, const struct press *p)
{
    enum pane pane = layout_at(&u->panes, p->x, p->y);
    if (pane == PANES || u->help)
        return 0;
    const struct area *a = &u->panes.pane[pane];
    bool had_focus = u->focus == pane;
    size_t line = p->y > a->y ? p->y - a->y - 1 : SIZE_MAX;
    u->focus = pane;
    if (line == SIZE_MAX)
        return 0;
    if (pane == PANE_SESSIONS) {
        size_t at = session_place(u),
               to = cursor_on_line(&u->session_cursor, u->sessions.n, at, line);
        if (to == at && had_focus)
            u->focus = PANE_LIST;
        u->session_cursor.line = to < u->sessions.n ? line : u->session_cursor.line;
        return to < u->sessions.n ? go_session(u, to) : 0;
    }
    if (pane == PANE_LIST) {
        size_t n = listing_n(&u->listing), at = list_place(u);
        size_t to = cursor_on_line(&u->list_cursor, n, at, line);
        if (to == at && had_focus)
            u->focus = PANE_DETAIL;
        if (to < n) {
            u->list_cursor.line = line;
            list_go(u, to);
        }
    } else if (!ui_shows_overview(u)) {
        if (u->shown.at == u->shown.top + line && had_focus)
            fold(u, DETAIL_TOGGLE);
        else
            u->shown.at = u->shown.top + line;
    }
    return 0;
}

static int wheel(struct ui *u, const struct press *p)
{
    enum pane pane = layout_at(&u->panes, p->x, p->y);
    int by = p->key == PRESS_WHEEL_UP ? -WHEEL_ROWS : WHEEL_ROWS;
    return pane < PANES || u->help ? move_in(u, pane, MOVE_SCROLL, by) : 0;
}

/* ---- keys ---- */

static int change_mode(struct ui *u)
{
    u->mode = u->mode == LISTING_CALLS ? LISTING_MESSAGES : LISTING_CALLS;
    show_close(u);
    if (u->focus == PANE_SESSIONS)
        u->focus = PANE_LIST;
    return feed_list(u);
}

static void go_part(struct ui *u, bool forward)
{
    if (u->shown.doc != NULL)
        u->shown.at = detail_part(u->shown.doc, u->shown.at, forward);
}

static void fold_all(struct ui *u, size_t depth)
{
    if (u->shown.doc == NULL)
        return;
    detail_fold_all(u->shown.doc, depth);
    u->shown.at = u->shown.top = 0;
}

static int move_by(struct ui *u, enum action x)
{
    switch (x) {
    case ACTION_UP:
        return move_in(u, u->focus, MOVE_ROWS, -1);
    case ACTION_DOWN:
        return move_in(u, u->focus, MOVE_ROWS, 1);
    case ACTION_PAGE_UP:
        return move_in(u, u->focus, MOVE_PAGE, -1);
    case ACTION_PAGE_DOWN:
        return move_in(u, u->focus, MOVE_PAGE, 1);
    case ACTION_FIRST:
        return move_in(u, u->focus, MOVE_FIRST, -1);
    case ACTION_LAST:
        return move_in(u, u->focus, MOVE_LAST, 1);
    case ACTION_LEFT:
    case ACTION_RIGHT:
        move_sideways(u, x == ACTION_RIGHT);
        break;
    case ACTION_NEXT_PANE:
        u->focus = (enum pane)((u->focus + 1) % PANES);
        break;
    case ACTION_PREVIOUS_PANE:
        u->focus = (enum pane)((u->focus + PANES - 1) % PANES);
        break;
    default:
        break;
    }
    return 0;
}

static int use(struct ui *u, enum action x)
{
    switch (x) {
    case ACTION_FOLD:
        if (u->focus == PANE_DETAIL)
            fold(u, DETAIL_TOGGLE);
        else
            return move_in(u, u->focus, MOVE_PAGE, 1);
        break;
    case ACTION_FOLD_ALL:
        fold_all(u, 1);
        break;
    case ACTION_UNFOLD_ALL:
        fold_all(u, SIZE_MAX);
        break;
    case ACTION_NEXT_PART:
    case ACTION_PREVIOUS_PART:
        go_part(u, x == ACTION_NEXT_PART);
        break;
    case ACTION_COPY:
        copy(u, DETAIL_COPY_VALUE);
        break;
    case ACTION_COPY_POINTER:
        copy(u, DETAIL_COPY_POINTER);
        break;
    case ACTION_COPY_BODY:
        copy(u, DETAIL_COPY_BODY);
        break;
    case ACTION_EXPORT:
    case ACTION_EXPORT_CALL:
        ask_file(u, x == ACTION_EXPORT_CALL);
        break;
    default:
        break;
    }
    return 0;
}

/* Only requests of the client can be sent. */
static int send_again(struct ui *u, bool edit)
{
    struct listed row;
    const struct row_copy *copy;
    if (ui_session(u) == NULL || !list_row(u, &row))
        return 0;
    int st = row_cache_get(&u->rows, u->q, row.seq, &copy);
    if (st < 0)
        return st == MI_ENOENT ? 0 : st;
    const struct query_message *m = &copy->m;
    bool answer = session_is_answer(m) && m->direction == ROW_S2C && m->request_seq > 0;
    if (!answer && (m->kind != KIND_REQUEST || m->direction != ROW_C2S)) {
        ui_complain(u, "only a request of the client can be sent again");
        return 0;
    }
    return outside_send(u, answer ? m->request_seq : m->seq, edit);
}

static int do_action(struct ui *u, enum action x)
{
    switch (x) {
    case ACTION_QUIT:
        u->quit = true;
        break;
    case ACTION_HELP:
        u->help = !u->help;
        u->help_top = 0;
        break;
    case ACTION_BACK:
        return back(u);
    case ACTION_OPEN:
        open_selected(u);
        break;
    case ACTION_ZOOM:
        u->zoom = !u->zoom;
        break;
    case ACTION_OVERVIEW:
        show_overview(u);
        break;
    case ACTION_FILTER:
        ask(u, ASK_FILTER, u->filter);
        break;
    case ACTION_SEARCH:
        ask(u, ASK_SEARCH, "");
        break;
    case ACTION_NEXT_MATCH:
    case ACTION_PREVIOUS_MATCH:
        seek_text(u, x == ACTION_NEXT_MATCH);
        break;
    case ACTION_NEXT_FAILED:
    case ACTION_PREVIOUS_FAILED:
        seek_begin(u, SEEK_FAILED, x == ACTION_NEXT_FAILED);
        break;
    case ACTION_MODE:
        return change_mode(u);
    case ACTION_REPAINT:
        screen_repaint();
        break;
    case ACTION_BESIDE:
        beside_selected(u);
        break;
    case ACTION_DIFF:
        if (ui_session(u) != NULL)
            ask(u, ASK_DIFF, "");
        break;
    case ACTION_SEND:
    case ACTION_SEND_EDITED:
        return send_again(u, x == ACTION_SEND_EDITED);
    default:
        return x < ACTION_OPEN ? move_by(u, x) : use(u, x);
    }
    return 0;
}

/* While two calls are side by side. */
static int press_beside(struct ui *u, const struct press *p)
{
    bool up = p->key == PRESS_WHEEL_UP, wheel = up || p->key == PRESS_WHEEL_DOWN;
    enum action x = wheel ? (up ? ACTION_UP : ACTION_DOWN) : keys_action(p->key);
    for (int i = wheel ? WHEEL_ROWS : 1; i > 0; i--)
        if (!beside_action(u, x))
            return do_action(u, x);
    return 0;
}

int act(struct ui *u, const struct press *p)
{
    u->dirty = true;
    if (u->asking != ASK_NOTHING)
        return ask_press(u, p->key);
    buf_clear(&u->message);
    u->alarm = false;
    if (u->beside.pair != NULL && !u->help)
        return press_beside(u, p);
    if (u->compare == NULL && p->key == PRESS_CLICK)
        return click(u, p);
    if (u->compare == NULL && (p->key == PRESS_WHEEL_UP || p->key == PRESS_WHEEL_DOWN))
        return wheel(u, p);
    if (u->compare != NULL && !u->help && keys_action(p->key) != ACTION_HELP) {
        compare_act(u, keys_action(p->key));
        return 0;
    }
    return do_action(u, keys_action(p->key));
}
