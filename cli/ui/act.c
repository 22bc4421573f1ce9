/* act.c - what a key does: its meaning in the view on top, or the one that it has everywhere. */
#include "cli/ui/ui.h"

static const struct {
    enum motion motion;
    int by;
} motions[] = {
    [ACTION_UP] = {MOVE_ROWS, -1},      [ACTION_DOWN] = {MOVE_ROWS, 1},
    [ACTION_PAGE_UP] = {MOVE_PAGE, -1}, [ACTION_PAGE_DOWN] = {MOVE_PAGE, 1},
    [ACTION_FIRST] = {MOVE_FIRST, -1},  [ACTION_LAST] = {MOVE_LAST, 1},
};

static void toggle(struct ui *u, const struct view_ops *v)
{
    if (stack_top(u)->view == v)
        stack_close(u);
    else
        stack_open(u, v);
}

/* What a key means where the view has no meaning of its own for it. */
static int common_key(struct ui *u, enum action x)
{
    const struct view_ops *v = stack_top(u)->view;
    if (x == ACTION_QUIT)
        u->quit = true;
    else if ((x == ACTION_LEAVE || x == ACTION_BACK) && u->layers_n > 1)
        stack_close(u);
    else if (x == ACTION_LEAVE)
        u->quit = true;
    else if (x == ACTION_HELP)
        toggle(u, &help_view);
    else if (x == ACTION_OVERVIEW)
        toggle(u, &overview_view);
    else if (x == ACTION_SERVERS && v == &servers_view)
        stack_close(u);
    else if (x == ACTION_SERVERS)
        return servers_open(u);
    else if (x == ACTION_PROBLEMS && v == &problems_view)
        stack_close(u);
    else if (x == ACTION_PROBLEMS)
        return problems_open(u);
    else if (x == ACTION_REPAINT)
        screen_repaint();
    else if (x == ACTION_SEARCH && v->search != NULL)
        ask(u, ASK_SEARCH, u->search);
    else if ((x == ACTION_NEXT_MATCH || x == ACTION_PREVIOUS_MATCH) && v->search != NULL)
        v->search(u, x == ACTION_NEXT_MATCH);
    else
        ui_say(u, "this key does nothing here; ? for help");
    return 0;
}

int act(struct ui *u, const struct press *p)
{
    u->dirty = true;
    if (u->asking != ASK_NOTHING) /* a pasted line break does not answer */
        return ask_press(u, p->pasted && p->key < ' ' ? ' ' : p->key);
    buf_clear(&u->message);
    u->alarm = false;
    if (p->pasted) {
        ui_say(u, "pasted text is ignored here: first press a key such as / or f");
        return 0;
    }
    const struct view_ops *v = stack_top(u)->view;
    enum action x = keys_action(p->key);
    if (v->mouse != NULL && press_is_mouse(p))
        return v->mouse(u, p);
    if (p->key == PRESS_WHEEL_UP || p->key == PRESS_WHEEL_DOWN)
        return v->move(u, MOVE_SCROLL, p->key == PRESS_WHEEL_UP ? -WHEEL_ROWS : WHEEL_ROWS);
    if (x >= ACTION_UP && x <= ACTION_LAST)
        return v->move(u, motions[x].motion, motions[x].by);
    int st = v->key(u, x);
    return st == VIEW_UNKNOWN ? common_key(u, x) : st;
}
