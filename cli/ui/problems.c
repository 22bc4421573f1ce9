/* problems.c - two views: the escalations of the vault as a list, and the text of one. */
#include "cli/ui/ui.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "base/text.h"
#include "cli/frame/problem_files.h"
#include "cli/ui/detail/view.h"
#include "model/escalation_head.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define SHOWN_MAX 1000 /* the newest ones */
#define REFRESH_US 1000000

struct problem {
    char name[PROBLEM_FILE_NAME]; /* of the file */
    char count[24], last[20], server[80], tool[80];
};

struct problems {
    struct problem *problem; /* owned; newest first */
    size_t n, at;
    size_t all; /* files; the newest n of them are listed */
    struct cursor cursor;
    int64_t read_us; /* when the directory was looked at; 0: read it again */
    struct timespec
        modified;    /* of the directory, when it was read: each change of a file renames one */
    struct buf text; /* owned; of the one that is shown */
    char name[PROBLEM_FILE_NAME];
    char asked[PROBLEM_FILE_NAME]; /* whether this one is solved */
    struct view view;              /* of `text` */
};

static const struct view_ops problem_view;

/* ---- reading ---- */

static void copy_text(char *to, size_t size, struct slice text)
{
    struct slice head = text_head(text, size - 1);
    if (head.n > 0)
        memcpy(to, head.p, head.n);
    to[head.n] = '\0';
}

static int read_problem(const struct problem_files *e, size_t i, struct problem *p)
{
    struct buf file = {0}, texts = {0};
    struct escalation_head head;
    int st = problem_files_read(e, i, &file);
    escalation_head_read(buf_slice(&file), &texts, &head);
    copy_text(p->name, sizeof p->name, slice_of(e->name[i].text));
    if (head.count != 0)
        snprintf(p->count, sizeof p->count, "%lld", (long long)head.count);
    copy_text(p->last, sizeof p->last, head.last_at);
    copy_text(p->server, sizeof p->server, head.server);
    copy_text(p->tool, sizeof p->tool, head.tool);
    st = texts.failed ? MI_ENOMEM : st;
    buf_close(&file);
    buf_close(&texts);
    return st == MI_EIO ? 0
                        : st; /* the file was removed or cannot be read: only its name is shown */
}

static size_t place_of(const struct problems *l, const char *name)
{
    size_t i = 0;
    while (i < l->n && strcmp(l->problem[i].name, name) != 0)
        i++;
    return i;
}

static int read_list(struct problems *l, const struct problem_files *e)
{
    char selected[PROBLEM_FILE_NAME] = "";
    size_t n = size_min(e->n, SHOWN_MAX);
    struct problem *p = calloc(n + 1, sizeof *p);
    int st = p != NULL ? 0 : MI_ENOMEM;
    for (size_t i = 0; st == 0 && i < n; i++)
        st = read_problem(e, e->n - 1 - i, &p[i]);
    if (st < 0) {
        free(p);
        return st;
    }
    if (l->at < l->n)
        memcpy(selected, l->problem[l->at].name, sizeof selected);
    free(l->problem);
    l->problem = p;
    l->n = n;
    l->all = e->n;
    size_t at = place_of(l, selected);
    l->at = at < n ? at : size_min(l->at, n > 0 ? n - 1 : 0);
    return 0;
}

/* Reads them again when a second has passed. */
static int read_problems(struct ui *u)
{
    struct problems *l = u->problems;
    struct problem_files e;
    int64_t now_us = clock_mono_us();
    if (l->problem != NULL && now_us - l->read_us < REFRESH_US)
        return 0;
    int st = problem_files_open(&e, u->vault);
    struct stat dir = {0};
    bool known = fstat(e.fd, &dir) == 0;
    struct timespec modified = file_changed_at(&dir);
    bool same = known && l->problem != NULL && l->read_us != 0 &&
                memcmp(&modified, &l->modified, sizeof modified) == 0;
    if (st == 0 && !same)
        st = read_list(l, &e);
    l->modified = modified;
    if (st == MI_EIO)
        ui_complain(u, "cannot read the escalations: %s", strerror(errno));
    l->read_us = now_us;
    problem_files_close(&e);
    return st == MI_EIO ? 0 : st;
}

/* Does something with the file of this name. */
static int with_file(struct ui *u, const char *name,
                     int (*fn)(const struct problem_files *e, size_t i, struct buf *text),
                     struct buf *text)
{
    struct problem_files e;
    size_t i = 0;
    int st = problem_files_open(&e, u->vault);
    while (i < e.n && strcmp(e.name[i].text, name) != 0)
        i++;
    if (st == 0 && i == e.n) {
        st = MI_EIO;
        errno = ENOENT;
    }
    st = st == 0 ? fn(&e, i, text) : st;
    int reason = errno;
    problem_files_close(&e);
    if (st == MI_EIO)
        ui_complain(u, "%s: %s", name, strerror(reason));
    return st;
}

static int remove_file(const struct problem_files *e, size_t i, struct buf *text)
{
    (void)text;
    return problem_files_remove(e, i);
}

static int remove_asked(struct ui *u)
{
    struct problems *l = u->problems;
    int st = with_file(u, l->asked, remove_file, NULL);
    if (st == 0 && stack_top(u)->view == &problem_view)
        stack_close(u);
    if (st == 0)
        ui_say(u, "removed; if the problem occurs again, there is a new escalation");
    l->read_us = 0;
    return st == MI_EIO ? 0 : st;
}

/* The list may change before the answer: it is about this file. */
static void ask_whether_done(struct ui *u, const char *name)
{
    snprintf(u->problems->asked, sizeof u->problems->asked, "%s", name);
    ask_yes_no(u, "is it solved? its file will be removed (y/n) ", remove_asked);
}

/* ---- one ---- */

static int open_problem(struct ui *u)
{
    struct problems *l = u->problems;
    if (l->at >= l->n)
        return 0;
    buf_clear(&l->text);
    int st = with_file(u, l->problem[l->at].name, problem_files_read, &l->text);
    if (st < 0 || l->text.failed)
        return st == MI_EIO ? 0 : MI_ENOMEM;
    memcpy(l->name, l->problem[l->at].name, sizeof l->name);
    view_close(&l->view);
    view_open(&l->view, VIEW_TEXT, buf_slice(&l->text));
    stack_open(u, &problem_view);
    return 0;
}

/* Its call, or its session. */
static int open_session(struct ui *u)
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
        ui_complain(u, "its session is not in the vault");
        return 0;
    }
    if (st < 0)
        return st;
    stack_open_main(u, seq > 0 ? PANE_DETAIL : PANE_LIST);
    st = u->filtered ? feed_filter(u, "") : 0;
    st = st == 0 ? feed_choose(u, s.id) : st;
    if (st == 0 && seq > 0)
        u->list_cursor = (struct cursor){.key = seq, .height = u->list_cursor.height};
    return st;
}

static int problem_draw(struct ui *u, const struct area *a)
{
    struct problems *l = u->problems;
    struct view_place place;
    size_t *top = &stack_top(u)->top, height = a->height - 1;
    view_layout(&l->view, a->width > 1 ? a->width - 1 : 1, u->ascii);
    size_t n = view_count(&l->view);
    *top = size_min(*top, n > height ? n - height : 0);
    draw_caption(u, a, u->focus, "escalation %s", l->name);
    for (size_t i = 0; i < height && view_seek(&l->view, *top + i, &place); i++) {
        cells_begin(&u->cells, 0, a->width, u->ascii);
        view_draw(&l->view, &place, 0, &u->cells);
        draw_line(u, a, 1 + i, SCREEN_NORMAL);
    }
    return 0;
}

static int problem_move(struct ui *u, enum motion m, int by)
{
    move_top(&stack_top(u)->top, m, by, u->height > 6 ? u->height - 6 : 1);
    return 0;
}

static int problem_key(struct ui *u, enum action x)
{
    if (x == ACTION_FOLD)
        return problem_move(u, MOVE_PAGE, 1);
    if (x == ACTION_PAGER)
        outside_show(u, buf_slice(&u->problems->text), NULL);
    else if (x == ACTION_OPEN)
        return open_session(u);
    else if (x == ACTION_DONE)
        ask_whether_done(u, u->problems->name);
    else
        return VIEW_UNKNOWN;
    return 0;
}

/* ---- the list ---- */

static const struct column columns[] = {
    {"count", 7, 0, COLUMN_TEXT, CELLS_NUMBER},
    {"last", 21, 60, COLUMN_TEXT, CELLS_PLAIN},
    {"server", 14, 76, COLUMN_TEXT, CELLS_PLAIN},
    {"tool", 20, 110, COLUMN_TEXT, CELLS_PLAIN},
    {0},
};

static int problems_draw(struct ui *u, const struct area *a)
{
    struct problems *l = u->problems;
    int st = read_problems(u);
    if (st < 0)
        return st;
    size_t top = cursor_top(&l->cursor, l->n, l->at, a->height - LIST_HEAD);
    u->ticks = true; /* the directory may change */
    if (l->n < l->all)
        draw_caption(u, a, u->focus, "the newest %zu of %zu problems that need a person", l->n,
                     l->all);
    else
        draw_caption(u, a, u->focus, "%zu problem%s that need%s a person", l->n,
                     l->n == 1 ? "" : "s", l->n == 1 ? "s" : "");
    for (size_t i = 0; i + 1 < a->height && top + i <= l->n; i++) { /* the titles first */
        cells_begin(&u->cells, 0, a->width, u->ascii);
        cells_blank(&u->cells, 1);
        if (i == 0) {
            draw_columns(u, columns, slice_of("escalation"), NULL);
        } else {
            const struct problem *p = &l->problem[top + i - 1];
            const struct column_value values[] = {{0, slice_of(p->count), CELLS_NUMBER},
                                                  {0, slice_of(p->last), CELLS_DIM},
                                                  {0, slice_of(p->server), CELLS_LABEL},
                                                  {0, slice_of(p->tool), CELLS_PLAIN}};
            draw_columns(u, columns, (struct slice){p->name, strlen(p->name) - strlen(".md")},
                         values);
        }
        draw_line(u, a, 1 + i, i > 0 && top + i - 1 == l->at ? SCREEN_CHOSEN : SCREEN_NORMAL);
    }
    return 0;
}

static int problems_move(struct ui *u, enum motion m, int by)
{
    struct problems *l = u->problems;
    l->at = move_cursor(&l->cursor, l->n, l->at, m, by);
    l->at = size_min(l->at, l->n > 0 ? l->n - 1 : 0);
    return 0;
}

static int problems_key(struct ui *u, enum action x)
{
    if (x == ACTION_OPEN)
        return open_problem(u);
    if (x != ACTION_DONE)
        return VIEW_UNKNOWN;
    const struct problems *l = u->problems;
    if (l->at < l->n)
        ask_whether_done(u, l->problem[l->at].name);
    return 0;
}

int problems_count(struct ui *u)
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
    return st == MI_EIO ? 0 : st; /* the view says why it cannot be read */
}

static void problems_close(struct ui *u)
{
    struct problems *l = u->problems;
    view_close(&l->view);
    buf_close(&l->text);
    free(l->problem);
    free(l);
    u->problems = NULL;
}

int problems_open(struct ui *u)
{
    stack_drop(u, &problems_view);
    u->problems = calloc(1, sizeof *u->problems);
    if (u->problems == NULL)
        return MI_ENOMEM;
    view_open(&u->problems->view, VIEW_TEXT, (struct slice){0});
    stack_open(u, &problems_view);
    return 0;
}

static const struct hint hints[] = {
    {ACTION_OPEN, "read"}, {ACTION_DONE, "done"}, {ACTION_NONE, NULL}};

const struct view_ops problems_view = {
    .draw = problems_draw,
    .move = problems_move,
    .key = problems_key,
    .close = problems_close,
    .hints = {hints},
};

static const struct hint hints_of_one[] = {
    {ACTION_OPEN, "its call"}, {ACTION_DONE, "done"}, {ACTION_PAGER, "pager"}, {ACTION_NONE, NULL}};

static const struct view_ops problem_view = {
    .draw = problem_draw,
    .move = problem_move,
    .key = problem_key,
    .hints = {hints_of_one},
};
