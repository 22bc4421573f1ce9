/* problems.c - two views: the list of the vault's escalations, and the text of one escalation. */
#include "cli/ui/ui.h"

#include "base/clock.h"
#include "cli/frame/problem_files.h"
#include "cli/lists/list.h"
#include "cli/ui/detail/view.h"
#include "model/escalation_head.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define REFRESH_US 1000000

struct problems {
    struct buf text;              /* owned; text of the escalation that is shown */
    char name[PROBLEM_FILE_NAME]; /* name of the file of the escalation that is shown */
    /* name of the escalation's file to which the yes/no question refers */
    char asked[PROBLEM_FILE_NAME];
    struct view view; /* view that shows `text` */
};

static const struct view_ops problem_view;

/* Reads the file into `text`; if `text` is NULL, removes the file. */
static int read_or_remove_problem_file(struct ui *u, const char *name, struct buf *text)
{
    struct problem_files e;
    int st = problem_files_open(&e, u->vault);
    if (st == 0)
        st = text != NULL ? problem_files_read(&e, name, text) : problem_files_remove(&e, name);
    if (st == MI_EIO)
        ui_say_error(u, "%s: %s", name, strerror(errno));
    problem_files_close(&e);
    return st;
}

static int remove_confirmed_escalation(struct ui *u)
{
    int st = read_or_remove_problem_file(u, u->problems->asked, NULL);
    if (st == 0 && stack_top(u)->view == &problem_view)
        stack_close(u);
    if (st == 0)
        ui_say(u, "the problem was removed; if it occurs again, there is a new escalation");
    list_view_request_new_rows(u);
    return st == MI_EIO ? 0 : st;
}

/* Asks whether the problem is solved. Copies the name of its file, because the list may change
 * before the answer. */
static void ask_if_problem_is_solved(struct ui *u, const char *name)
{
    snprintf(u->problems->asked, sizeof u->problems->asked, "%s", name);
    ask_yes_no(u, "is this problem solved? its file will be removed (y/n) ",
               remove_confirmed_escalation);
}

/* ---- one escalation ---- */

static int problems_open_selected(struct ui *u)
{
    struct problems *l = u->problems;
    const struct escalation_row *row = list_view_get_selected_row(u);
    if (row == NULL)
        return 0;
    buf_clear(&l->text);
    int st = read_or_remove_problem_file(u, row->file.p, &l->text);
    if (st < 0 || l->text.failed)
        return st == MI_EIO ? 0 : MI_ENOMEM;
    snprintf(l->name, sizeof l->name, "%s", row->file.p);
    view_close(&l->view);
    view_open(&l->view, VIEW_TEXT, buf_slice(&l->text));
    stack_open(u, &problem_view);
    return 0;
}

/* Opens the call of the escalation that is shown or, if it names no call, its session. */
static int problem_open_call(struct ui *u)
{
    struct buf texts = {0}, uid = {0};
    struct escalation_head head;
    struct query_session s;
    escalation_head_read(buf_slice(&u->problems->text), &texts, &head);
    buf_slice_add(&uid, head.session);
    int st = uid.failed || texts.failed ? MI_ENOMEM
             : uid.n > 0                ? query_session(u->q, buf_str(&uid), &s)
                                        : MI_ENOENT;
    int64_t seq = head.seq;
    buf_close(&texts);
    buf_close(&uid);
    if (st == MI_ENOENT || st == MI_EINVAL) {
        ui_say_error(u, "the session of this problem is not in the vault");
        return 0;
    }
    return st < 0 ? st : feed_open_call(u, s.id, seq);
}

static void problem_set_width(struct ui *u, size_t width)
{
    view_set_width(&u->problems->view, width > 1 ? width - 1 : 1, u->ascii);
}

static int problem_draw_view(struct ui *u, const struct area *a)
{
    struct problems *l = u->problems;
    struct view_place place;
    size_t *top = &stack_top(u)->top, height = a->height - 1;
    problem_set_width(u, a->width);
    size_t n = view_count_lines(&l->view);
    *top = size_min(*top, n > height ? n - height : 0);
    draw_caption(u, a, u->focus, "escalation %s", l->name);
    for (size_t i = 0; i < height && view_find_line_by_number(&l->view, *top + i, &place); i++) {
        cells_begin_line(&u->cells, 0, a->width, u->ascii);
        view_draw_line(&l->view, &place, 0, &u->cells);
        draw_line_with_matches(u, a, 1 + i, SCREEN_NORMAL);
    }
    return 0;
}

static void find_text_in_problem(struct ui *u, bool forward)
{
    struct problems *l = u->problems;
    struct view_place place;
    struct line_seek s = page_begin_search(u, forward);
    /* the view may not have been drawn yet, so its width is set first */
    problem_set_width(u, u->width);
    for (size_t i = 0; view_find_line_by_number(&l->view, i, &place); i++) {
        cells_begin_line(&u->cells, 0, u->width, u->ascii);
        view_draw_line(&l->view, &place, 0, &u->cells);
        line_search_test_line(u, &s, i);
    }
    page_scroll_to_match(u, line_search_end(u, &s));
}

static int problem_handle_key(struct ui *u, enum action x)
{
    if (x == ACTION_PAGER)
        outside_show_text(u, buf_slice(&u->problems->text), NULL);
    else if (x == ACTION_OPEN)
        return problem_open_call(u);
    else if (x == ACTION_DONE)
        ask_if_problem_is_solved(u, u->problems->name);
    else
        return VIEW_UNKNOWN;
    return 0;
}

/* ---- the list ---- */

static int problems_handle_action(struct ui *u, enum action x)
{
    if (x == ACTION_OPEN)
        return problems_open_selected(u);
    if (x != ACTION_DONE)
        return VIEW_UNKNOWN;
    const struct escalation_row *row = list_view_get_selected_row(u);
    if (row != NULL)
        ask_if_problem_is_solved(u, row->file.p);
    return 0;
}

int problems_update_count(struct ui *u)
{
    struct problem_files e;
    int64_t now_us = clock_mono_us();
    if (u->problems_us != 0 && now_us - u->problems_us < REFRESH_US)
        return 0;
    int st = problem_files_open(&e, query_vault(u->q));
    u->dirty |= e.n != u->problems_n;
    u->problems_n = e.n;
    u->problems_us = now_us;
    problem_files_close(&e);
    return st == MI_EIO ? 0 : st; /* problems_view shows the reason why the files cannot be read */
}

static void problems_close(struct ui *u)
{
    struct problems *l = u->problems;
    view_close(&l->view);
    buf_close(&l->text);
    free(l);
    u->problems = NULL;
    list_view_close(u);
}

int problems_open(struct ui *u)
{
    stack_close_view_and_above(u, &problems_view);
    u->problems = calloc(1, sizeof *u->problems);
    if (u->problems == NULL)
        return MI_ENOMEM;
    view_open(&u->problems->view, VIEW_TEXT, (struct slice){0});
    int st = list_view_open(u, &problems_view, &list_escalations);
    if (st < 0) {
        free(u->problems);
        u->problems = NULL;
    }
    return st;
}

static const struct hint hints[] = {
    {ACTION_OPEN, "read"}, {ACTION_DONE, "done"}, {ACTION_NONE, NULL}};

const struct view_ops problems_view = {
    .draw = list_view_draw,
    .move = list_view_move_cursor,
    .key = problems_handle_action,
    .mouse = list_view_handle_mouse,
    .search = list_view_search,
    .close = problems_close,
    .hints = {hints},
};

static const struct hint hints_of_one[] = {
    {ACTION_OPEN, "its call"}, {ACTION_DONE, "done"}, {ACTION_PAGER, "pager"}, {ACTION_NONE, NULL}};

static const struct view_ops problem_view = {
    .draw = problem_draw_view,
    .move = scroll_page,
    .key = problem_handle_key,
    .search = find_text_in_problem,
    .hints = {hints_of_one},
};
