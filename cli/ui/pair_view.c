/* pair_view.c - the key c: shows two calls, or two messages, side by side. Pressing c the first
 * time copies one call; pressing c again, possibly in another session, selects the other. */
#include "cli/ui/ui.h"

#include "wire/rpc.h"

static const struct view_ops pair_view_view;

/* ---- what is compared ---- */

void pair_view_close(struct ui *u)
{
    struct pair_view *c = &u->pair_view;
    pair_close(c->pair);
    c->pair = NULL;
    for (int side = 0; side < 2; side++) {
        struct pair_view_call *call = &c->call[side];
        buf_close(&call->text[0]);
        buf_close(&call->text[1]);
        *call = (struct pair_view_call){0};
    }
}

/* Returns the params, the result or the error of a message. If a request or a notification has no
 * params, returns `{}`. Any other message that has none of these is returned as a whole. */
static struct slice get_message_content(struct slice body)
{
    struct rpc m;
    if (body.p == NULL || rpc_read(body, &m) < 0)
        return body;
    const struct json_value values[] = {m.result, m.error, m.params};
    for (size_t i = 0; i < MI_COUNT(values); i++)
        if (values[i].type != JSON_NONE && values[i].type != JSON_NULL)
            return values[i].text;
    return m.kind == RPC_REQUEST || m.kind == RPC_NOTIFICATION ? slice_of("{}") : body;
}

static void pair_view_copy_text(struct pair_view_call *call, size_t which,
                                const struct detail_message *m)
{
    bool is_long = m->is_beginning || m->body.n > PAIR_TEXT_MAX;
    if (!is_long)
        buf_slice_add(&call->text[which], get_message_content(m->body));
    call->size[which] = m->is_beginning ? (size_t)m->size
                        : is_long       ? m->body.n
                                        : call->text[which].n;
}

/* Copies the call that the detail pane shows. Returns false if memory is short. */
static bool pair_view_copy_call(const struct shown *s, struct pair_view_call *call)
{
    call->session = s->session;
    call->seq = s->seq;
    pair_view_copy_text(call, 0, &s->message[0]);
    for (size_t i = 1; i < s->subject.messages_n; i++)
        if (s->message[i].seq == s->answer)
            pair_view_copy_text(call, 1, &s->message[i]);
    return !call->text[0].failed && !call->text[1].failed;
}

/* Opens the comparison of the two calls. */
static int pair_view_open_pair(struct pair_view *c)
{
    static const char *const titles[] = {"request", "answer"};
    int st = pair_open(&c->pair);
    for (size_t i = 0; i < MI_COUNT(titles) && st == 0; i++) {
        struct slice text[2];
        size_t size[2];
        bool kept = true;
        for (int side = 0; side < 2; side++) {
            const struct pair_view_call *call = &c->call[side];
            text[side] = call->size[i] > 0 ? buf_slice(&call->text[i]) : (struct slice){0};
            size[side] = call->size[i];
            kept &= text[side].n == size[side];
        }
        if (size[0] > 0 || size[1] > 0)
            st = kept ? pair_add_section_of_values(c->pair, titles[i], text[0], text[1])
                      : pair_add_section_of_sizes(c->pair, titles[i], size);
    }
    c->top = c->from = 0;
    c->found = SIZE_MAX;
    return st;
}

void pair_view_toggle_selected_call(struct ui *u)
{
    struct pair_view *c = &u->pair_view;
    const struct shown *s = &u->shown;
    stack_close_view_and_above(u, &pair_view_view);
    /* If several keys were pressed, the selection may have changed after the detail was drawn. */
    if (show_selected_row(u, s->columns != 0 ? s->columns : 80) < 0 || s->subject.messages_n == 0)
        return;
    if (c->call[0].seq == 0) {
        if (pair_view_copy_call(s, &c->call[0]))
            ui_say(u, "call %lld is marked: select another call, in any session, and press c again",
                   (long long)c->call[0].seq);
        else
            pair_view_close(u);
        return;
    }
    if (c->call[0].session == s->session && c->call[0].seq == s->seq) {
        pair_view_close(u);
        ui_say(u, "the mark was removed; to compare two calls, press c on each of them");
        return;
    }
    int st = pair_view_copy_call(s, &c->call[1]) ? pair_view_open_pair(c) : MI_ENOMEM;
    if (st == 0) {
        stack_open(u, &pair_view_view);
        return;
    }
    pair_view_close(u);
    ui_say_error(u,
                 st == MI_EINVAL ? "only JSON can be compared" : "these calls cannot be compared");
}

/* ---- keys ---- */

static int pair_view_scroll(struct ui *u, enum motion m, int by)
{
    move_top_line(&u->pair_view.top, m, by, u->height > 5 ? u->height - 5 : 1);
    u->pair_view.found = SIZE_MAX;
    return 0;
}

static void pair_view_go_to_difference(struct ui *u, bool forward)
{
    struct pair_view *c = &u->pair_view;
    size_t row = c->found != SIZE_MAX ? c->found : c->top + PAIR_VIEW_ABOVE;
    size_t to = pair_find_next_difference(c->pair, row, forward);
    if (to == row) {
        ui_say(u, "no more differences");
        return;
    }
    c->found = to;
    c->top = to - size_min(to, PAIR_VIEW_ABOVE);
}

static int pair_view_handle_key(struct ui *u, enum action x)
{
    struct pair_view *c = &u->pair_view;
    switch (x) {
    case ACTION_LEFT:
    case ACTION_RIGHT:
        c->from = x == ACTION_RIGHT ? c->from + 8 : c->from - size_min(c->from, 8);
        break;
    case ACTION_NEXT_MATCH:
    case ACTION_PREVIOUS_MATCH:
        pair_view_go_to_difference(u, x == ACTION_NEXT_MATCH);
        break;
    case ACTION_FOLD_ALL:
    case ACTION_UNFOLD_ALL:
        c->top = 0;
        c->found = SIZE_MAX;
        return pair_choose_shown_rows(c->pair, x == ACTION_UNFOLD_ALL);
    case ACTION_BESIDE:
        stack_close(u);
        break;
    default:
        return VIEW_UNKNOWN;
    }
    return 0;
}

/* ---- the picture ---- */

static void pair_view_draw_call_pane(struct ui *u, const struct area *a, enum pair_side side)
{
    struct pair_view *c = &u->pair_view;
    const struct pair_view_call *call = &c->call[side];
    size_t n = pair_count_differences(c->pair);
    if (side == PAIR_LEFT)
        draw_caption(u, a, u->focus, "%lld of session %lld", (long long)call->seq,
                     (long long)call->session);
    else
        draw_caption(u, a, u->focus, "%lld of session %lld  %zu difference%s", (long long)call->seq,
                     (long long)call->session, n, n == 1 ? "" : "s");
    for (size_t i = 0; i + 1 < a->height; i++) {
        pair_draw_line(c->pair, c->top + i, side, c->from, a->width, u->ascii, &u->cells);
        draw_line(u, a, 1 + i, SCREEN_NORMAL);
    }
}

static int pair_view_draw(struct ui *u, const struct area *all)
{
    struct pair_view *c = &u->pair_view;
    struct area left = *all, right = *all;
    size_t rows = pair_count_shown_rows(c->pair), height = all->height - 1;
    c->top = size_min(c->top, rows > height ? rows - height : 0);
    left.width = (all->width - 1) / 2;
    right.x = left.width + 1;
    right.width = all->width - right.x;
    pair_view_draw_call_pane(u, &left, PAIR_LEFT);
    pair_view_draw_call_pane(u, &right, PAIR_RIGHT);
    screen_draw_vertical_line(left.width, all->y, all->height);
    return 0;
}

static const struct hint hints[] = {
    {ACTION_NEXT_MATCH, "next difference"},
    {ACTION_PREVIOUS_MATCH, "the one before"},
    {ACTION_UNFOLD_ALL, "all lines"},
    {ACTION_FOLD_ALL, "differences only"},
    {ACTION_NONE, NULL},
};

static const struct view_ops pair_view_view = {
    .draw = pair_view_draw,
    .move = pair_view_scroll,
    .key = pair_view_handle_key,
    .close = pair_view_close,
    .hints = {hints},
};
