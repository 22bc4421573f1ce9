/* act.c - handles keys: passes a key to the view on top. If that view does not handle the key, does
 * what the key means in every view. */
#include "cli/ui/ui.h"

static const struct {
    enum motion motion;
    int by;
} motions[] = {
    [ACTION_UP] = {MOVE_ROWS, -1},      [ACTION_DOWN] = {MOVE_ROWS, 1},
    [ACTION_PAGE_UP] = {MOVE_PAGE, -1}, [ACTION_PAGE_DOWN] = {MOVE_PAGE, 1},
    [ACTION_FIRST] = {MOVE_FIRST, -1},  [ACTION_LAST] = {MOVE_LAST, 1},
};

static void toggle_view(struct ui *u, const struct view_ops *v)
{
    if (stack_top(u)->view == v)
        stack_close(u);
    else
        stack_open(u, v);
}

/* Shows the next list. If no list or the last list is shown, shows the first list. */
static int show_next_list(struct ui *u)
{
    const struct list *shown = list_view_get_shown_list(u), *const *next = lists;
    for (size_t i = 0; shown != NULL && lists[i + 1] != NULL; i++)
        if (lists[i] == shown)
            next = &lists[i + 1];
    if (shown != NULL)
        stack_close(u);
    if (*next == &list_escalations)
        return problems_open(u);
    return list_view_open(u, *next == &list_cost ? &plain_list_view : &list_view, *next);
}

/* Handles a key that the view does not handle. */
static int handle_common_key(struct ui *u, enum action x)
{
    const struct view_ops *v = stack_top(u)->view;
    if (x == ACTION_QUIT)
        u->quit = true;
    else if ((x == ACTION_LEAVE || x == ACTION_BACK) && u->layers_n > 1)
        stack_close(u);
    else if (x == ACTION_LEAVE)
        u->quit = true;
    else if (x == ACTION_HELP)
        toggle_view(u, &help_view);
    else if (x == ACTION_OVERVIEW)
        toggle_view(u, &overview_view);
    else if (x == ACTION_SERVERS && list_view_get_shown_list(u) == &list_running)
        stack_close(u);
    else if (x == ACTION_SERVERS)
        return list_view_open(u, &list_view, &list_running);
    else if (x == ACTION_PROBLEMS && v == &problems_view)
        stack_close(u);
    else if (x == ACTION_PROBLEMS)
        return problems_open(u);
    else if (x == ACTION_FOLD) /* the space bar scrolls by a page */
        return v->move(u, MOVE_PAGE, 1);
    else if (x == ACTION_GO)
        open_prompt(u, ASK_GO, "");
    else if (x == ACTION_LISTS)
        return show_next_list(u);
    else if (x == ACTION_REPAINT)
        screen_repaint();
    else if (x == ACTION_SEARCH && v->search != NULL)
        open_prompt(u, ASK_SEARCH, u->search);
    else if ((x == ACTION_NEXT_MATCH || x == ACTION_PREVIOUS_MATCH) && v->search != NULL &&
             u->search[0] == '\0')
        ui_say(u, "/ begins a search");
    else if ((x == ACTION_NEXT_MATCH || x == ACTION_PREVIOUS_MATCH) && v->search != NULL)
        v->search(u, x == ACTION_NEXT_MATCH);
    else
        ui_say(u, "this key does nothing here; ? for help");
    return 0;
}

/* Returns the action of a key, or of a click on a hint in the footer. */
static enum action find_action_of_press(const struct ui *u, const struct press *p)
{
    for (size_t i = 0; i < u->hints_n; i++)
        if (p->key == PRESS_CLICK && p->y + 1 == u->height && p->x >= u->hint[i].x &&
            p->x < u->hint[i].x + u->hint[i].width)
            return u->hint[i].action;
    return keys_find_action(p->key);
}

static int handle_key_press(struct ui *u, const struct press *p)
{
    u->dirty = true;
    /* a pasted line break becomes a blank, so that it does not submit the answer */
    if (u->asking != ASK_NOTHING)
        return ask_handle_press(u, p->pasted && p->key < ' ' ? ' ' : p->key);
    buf_clear(&u->message);
    u->alarm = false;
    if (p->pasted) {
        ui_say(u,
               "pasted text is ignored here: first press a key that asks for text, such as / or f");
        return 0;
    }
    const struct view_ops *v = stack_top(u)->view;
    enum action x = find_action_of_press(u, p);
    bool moves = x >= ACTION_UP && x <= ACTION_LAST;
    /* The cursor may move over sessions of a store that are not loaded. Any other key first loads
     * the session under the cursor. */
    int st = moves && u->focus == PANE_SESSIONS ? 0 : deferred_load_selected_session(u, true);
    if (st < 0)
        return st;
    if (x == ACTION_NONE && p->key == PRESS_CLICK && v->mouse == NULL)
        return 0;
    if (x == ACTION_NONE && v->mouse != NULL && press_is_mouse(p))
        return v->mouse(u, p);
    if (p->key == PRESS_WHEEL_UP || p->key == PRESS_WHEEL_DOWN)
        return v->move(u, MOVE_SCROLL, p->key == PRESS_WHEEL_UP ? -WHEEL_ROWS : WHEEL_ROWS);
    if (moves)
        return v->move(u, motions[x].motion, motions[x].by);
    /* a digit opens the prompt for a line number, as in tig */
    if (p->key >= '1' && p->key <= '9') {
        open_prompt(u, ASK_GO, "");
        return ask_handle_press(u, p->key);
    }
    const char *lacks = central_explain_unavailable(u, x);
    if (lacks != NULL) {
        ui_say_error(u, "%s", lacks);
        return 0;
    }
    st = v->key(u, x);
    return st == VIEW_UNKNOWN ? handle_common_key(u, x) : st;
}

int act_on_press(struct ui *u, const struct press *p)
{
    bool detail = u->focus == PANE_DETAIL;
    int st = handle_key_press(u, p);
    if (u->focus == PANE_DETAIL) /* while the focus is on the detail, the list does not move */
        list_stop_following(u);
    else if (detail && list_find_selected_row(u) + 1 == list_count_rows(u))
        /* the last row is selected, so the list follows new rows again */
        list_select_row_at(u, list_find_selected_row(u));
    return st;
}
