/* list_view.c - a view of a list (cli/lists/list.h). The view has copies of the rows, and reads the
 * rows again regularly. */
#include "cli/ui/ui.h"

#include "base/clock.h"
#include "base/grow.h"

#include <stdlib.h>

#define REFRESH_US 1000000
#define READ_SHARE 20 /* reading the rows takes at most 1/READ_SHARE of the time that ui runs */
#define SHOWN_MAX 1000

struct list_view {
    const struct list *list;
    void **row; /* owned; copies of the rows, with the texts of their columns */
    size_t n, cap;
    bool more;   /* there are more than SHOWN_MAX rows */
    bool failed; /* memory for a row ran out */
    size_t at;   /* index of the selected row */
    struct cursor cursor;
    /* read_us: time when the rows were read last, 0: the rows must be read now; took_us: duration
     * of the last reading */
    int64_t read_us, took_us;
    int64_t version; /* value of u->version when the rows were read */
    struct buf note; /* owned; the note that the last list_read_rows() returned */
};

/* ---- rows ---- */

static void *list_view_copy_row(const struct show_list *l, const void *from)
{
    const struct show_column *end = l->column + l->n;
    size_t texts = 0;
    for (const struct show_column *c = l->column; c < end; c++)
        texts +=
            c->record == NULL ? fields_text_bytes(&(struct record_fields){&c->field, 1}, from) : 0;
    char *row = malloc(l->size + texts), *to = row + l->size;
    if (row == NULL)
        return NULL;
    memcpy(row, from, l->size);
    for (const struct show_column *c = l->column; c < end; c++)
        if (c->record == NULL)
            to = fields_copy_texts(&(struct record_fields){&c->field, 1}, row, to);
    return row;
}

static bool list_view_add_row(void *ctx, const void *from)
{
    struct list_view *v = ctx;
    v->more = v->n == SHOWN_MAX;
    if (v->more)
        return false;
    void *row = GROW(v->row, v->n, v->cap) ? list_view_copy_row(&v->list->shown, from) : NULL;
    v->failed = row == NULL;
    if (row != NULL)
        v->row[v->n++] = row;
    return row != NULL;
}

static void list_view_free_rows(struct list_view *v)
{
    for (size_t i = 0; i < v->n; i++)
        free(v->row[i]);
    free(v->row);
    buf_close(&v->note);
}

/* Returns whether two rows, read at different times, describe the same thing. Compares their first
 * columns and, if the list has these columns, session_id and seq. */
static bool list_view_is_same_row(const struct show_list *l, const void *a, const void *b)
{
    const struct show_column *const keys[] = {l->column, show_list_find_column(l, "session_id"),
                                              show_list_find_column(l, "seq")};
    for (size_t i = 0; i < MI_COUNT(keys); i++) {
        if (keys[i] == NULL)
            continue;
        struct cell was = field_get(&keys[i]->field, a), is = field_get(&keys[i]->field, b);
        if (was.number != is.number || !slice_eq(was.text, is.text))
            return false;
    }
    return true;
}

/* Returns the new index of the row that was selected. If the row is gone, returns its old
 * index. */
static size_t list_view_find_selected_index(const struct list_view *before,
                                            const struct list_view *now)
{
    size_t at = now->n > 0 ? size_min(before->at, now->n - 1) : 0;
    for (size_t i = 0; before->at < before->n && i < now->n; i++)
        if (list_view_is_same_row(&now->list->shown, before->row[before->at],
                                  now->row[(at + i) % now->n]))
            return (at + i) % now->n;
    return at;
}

/* Reads the rows again if the vault has changed, or if a second has passed since the last
 * reading. */
static int list_view_read_rows(struct ui *u, struct list_view *v)
{
    int64_t now_us = clock_mono_us(), passed_us = now_us - v->read_us;
    bool changed = v->version != u->version || passed_us >= REFRESH_US;
    if (v->read_us != 0 && (!changed || passed_us < READ_SHARE * v->took_us))
        return 0;
    struct list_view now = {.list = v->list, .cursor = v->cursor, .version = u->version};
    struct list_reading r = {.q = u->q,
                             .vault = u->vault,
                             .row = list_view_add_row,
                             .ctx = &now,
                             .watched = true,
                             .before = (const void *const *)v->row,
                             .before_n = v->n};
    int st = list_read_rows(v->list, &r);
    st = now.failed ? MI_ENOMEM : st;
    if (st < 0 && st != MI_ENOMEM)
        ui_say_error(u, "%s", r.error.n > 0 ? buf_str(&r.error) : query_error(u->q));
    else if (r.note.n > 0 && !slice_eq(buf_slice(&r.note), buf_slice(&v->note)))
        ui_say_error(u, "%s", buf_str(&r.note));
    v->read_us = now.read_us = now_us;
    v->took_us = now.took_us = clock_mono_us() - now_us;
    v->version = now.version;
    now.at = list_view_find_selected_index(v, &now);
    now.note = r.note;
    list_view_free_rows(st == 0 ? v : &now); /* after an error, the old rows stay on the screen */
    if (st == 0)
        *v = now;
    buf_close(&r.error);
    return st == MI_ENOMEM ? st : 0;
}

const void *list_view_get_selected_row(const struct ui *u)
{
    const struct list_view *v = u->layer[u->layers_n - 1].list_view;
    return v->at < v->n ? v->row[v->at] : NULL;
}

/* ---- the view ---- */

int list_view_draw(struct ui *u, const struct area *a)
{
    struct list_view *v = stack_top(u)->list_view;
    int st = list_view_read_rows(u, v);
    if (st < 0)
        return st;
    size_t top = cursor_compute_top_row(&v->cursor, v->n, v->at, a->height - LIST_HEAD);
    u->ticks = true; /* requests a new drawing, which reads the rows again */
    draw_caption(u, a, u->focus, "%s%zu %s", v->more ? "the first " : "", v->n,
                 v->n == 1 ? v->list->one : v->list->all);
    for (size_t i = 0; i + 1 < a->height && top + i <= v->n; i++) { /* line 0 has the titles */
        cells_begin_line(&u->cells, 0, a->width, u->ascii);
        cells_add_blanks(&u->cells, 1);
        draw_row_cells(u, &v->list->shown, i > 0 ? v->row[top + i - 1] : NULL);
        draw_line_with_matches(u, a, 1 + i,
                               i > 0 && top + i - 1 == v->at ? SCREEN_CHOSEN : SCREEN_NORMAL);
    }
    if (v->n == 0) {
        cells_begin_line(&u->cells, 0, a->width, u->ascii);
        cells_add_format(&u->cells, CELLS_DIM, " %s", v->list->none);
        draw_line(u, a, LIST_HEAD, SCREEN_NORMAL);
    }
    return 0;
}

int list_view_move_cursor(struct ui *u, enum motion m, int by)
{
    struct list_view *v = stack_top(u)->list_view;
    size_t to = move_cursor(&v->cursor, v->n, v->at, m, by);
    v->at = size_min(to, v->n > 0 ? v->n - 1 : 0);
    return 0;
}

/* Handles the mouse. A click selects a row; a click on the selected row opens it. */
int list_view_handle_mouse(struct ui *u, const struct press *p)
{
    struct list_view *v = stack_top(u)->list_view;
    size_t first = u->panes.header + LIST_HEAD;
    if (p->key != PRESS_CLICK)
        return list_view_move_cursor(u, MOVE_SCROLL,
                                     p->key == PRESS_WHEEL_UP ? -WHEEL_ROWS : WHEEL_ROWS);
    if (p->y < first || p->y - first >= v->cursor.height)
        return 0;
    size_t line = p->y - first, to = cursor_find_row_on_line(&v->cursor, v->n, v->at, line);
    if (to == v->n)
        return 0;
    if (to == v->at) {
        int st = stack_top(u)->view->key(u, ACTION_OPEN);
        return st == VIEW_UNKNOWN ? 0 : st;
    }
    v->at = to;
    v->cursor.line = line;
    return 0;
}

void list_view_search(struct ui *u, bool forward)
{
    struct list_view *v = stack_top(u)->list_view;
    /* Reads the rows first, because the view may not have been drawn yet. */
    if (list_view_read_rows(u, v) < 0)
        return;
    struct line_seek s = {.forward = forward, .from = v->at};
    for (size_t i = 0; i < v->n; i++) {
        cells_begin_line(&u->cells, 0, LINE_SEEK_COLUMNS, u->ascii);
        draw_row_cells(u, &v->list->shown, v->row[i]);
        line_search_test_line(u, &s, i);
    }
    size_t found = line_search_end(u, &s);
    v->at = found > 0 ? found - 1 : v->at;
}

/* Opens the session or call of the selected row. */
static int list_view_handle_key(struct ui *u, enum action x)
{
    const struct show_list *l = &stack_top(u)->list_view->list->shown;
    const struct show_column *id = show_list_find_column(l, "session_id"),
                             *seq = show_list_find_column(l, "request_seq");
    seq = seq != NULL ? seq : show_list_find_column(l, "seq");
    const void *row = list_view_get_selected_row(u);
    if (x != ACTION_OPEN || row == NULL || id == NULL)
        return VIEW_UNKNOWN;
    return feed_open_call(u, field_get(&id->field, row).number,
                          seq != NULL ? field_get(&seq->field, row).number : 0);
}

const struct list *list_view_get_shown_list(const struct ui *u)
{
    const struct list_view *v = u->layer[u->layers_n - 1].list_view;
    return v != NULL ? v->list : NULL;
}

void list_view_close(struct ui *u)
{
    list_view_free_rows(u->layer[u->layers_n].list_view);
    free(u->layer[u->layers_n].list_view);
}

int list_view_open(struct ui *u, const struct view_ops *view, const struct list *list)
{
    struct list_view *v = calloc(1, sizeof *v);
    if (v == NULL)
        return MI_ENOMEM;
    v->list = list;
    stack_open(u, view)->list_view = v;
    return 0;
}

void list_view_request_new_rows(struct ui *u)
{
    if (stack_top(u)->list_view != NULL)
        stack_top(u)->list_view->read_us = 0;
}

static const struct hint calls[] = {
    {ACTION_OPEN, "its calls"}, {ACTION_LISTS, "next list"}, {ACTION_NONE, NULL}};

const struct view_ops list_view = {
    .draw = list_view_draw,
    .move = list_view_move_cursor,
    .key = list_view_handle_key,
    .mouse = list_view_handle_mouse,
    .search = list_view_search,
    .close = list_view_close,
    .hints = {calls},
};

static const struct hint nothing_to_open[] = {{ACTION_LISTS, "next list"}, {ACTION_NONE, NULL}};

const struct view_ops plain_list_view = {
    .draw = list_view_draw,
    .move = list_view_move_cursor,
    .key = list_view_handle_key,
    .mouse = list_view_handle_mouse,
    .search = list_view_search,
    .close = list_view_close,
    .hints = {nothing_to_open},
};
