#include "cli/ui/detail/pair.h"

#include "base/grow.h"
#include "cli/ui/detail/view.h"
#include "wire/json/text.h"
#include "wire/json/tree.h"

#include <stdlib.h>

#define NO_LINE UINT32_MAX
#define WORK_MAX 20000000 /* names that are compared in one section */

enum pair_mark {
    PAIR_EQUAL,
    PAIR_CHANGED,
    PAIR_REMOVED, /* only on the left */
    PAIR_ADDED,   /* only on the right */
    PAIR_TITLE,
    PAIR_GAP, /* stands for equal lines that are not shown */
};

struct pair_row {
    uint32_t line[2]; /* of each view; NO_LINE: none. Of a gap: how many lines, in line[0] */
    uint8_t mark, section;
};

struct section {
    const char *title;
    struct view view[2];
};

struct pair {
    struct section section[PAIR_SECTIONS_MAX];
    size_t sections_n;
    struct pair_row *row; /* owned; all */
    size_t n, cap;
    struct pair_row *shown; /* owned */
    size_t shown_n, shown_cap;
    bool all;
};

/* ---- alignment ------------------------------------------------------------------------------ */

/* The two values of a section while they are aligned. */
struct aligning {
    struct pair *p;
    struct json_tree tree[2];
    uint32_t *lines[2]; /* owned; that each node takes */
    size_t work;
    int st;
};

static void add_row(struct aligning *a, uint32_t left, uint32_t right, enum pair_mark mark)
{
    struct pair *p = a->p;
    if (p->n == PAIR_ROWS_MAX)
        a->st = MI_EFULL;
    if (a->st < 0)
        return;
    if (!GROW(p->row, p->n, p->cap)) {
        a->st = MI_ENOMEM;
        return;
    }
    p->row[p->n++] = (struct pair_row){
        .line = {left, right}, .mark = (uint8_t)mark, .section = (uint8_t)p->sections_n};
}

static void add_left(struct aligning *a, uint32_t node, uint32_t line)
{
    for (uint32_t i = 0; i < a->lines[0][node]; i++)
        add_row(a, line + i, NO_LINE, PAIR_REMOVED);
}

static void add_right(struct aligning *a, uint32_t node, uint32_t line)
{
    for (uint32_t i = 0; i < a->lines[1][node]; i++)
        add_row(a, NO_LINE, line + i, PAIR_ADDED);
}

/* Values of different types: their lines beside each other. */
static void add_both(struct aligning *a, const uint32_t node[2], const uint32_t line[2])
{
    uint32_t left = a->lines[0][node[0]], right = a->lines[1][node[1]];
    for (uint32_t i = 0; i < left || i < right; i++)
        add_row(a, i < left ? line[0] + i : NO_LINE, i < right ? line[1] + i : NO_LINE,
                PAIR_CHANGED);
}

static const struct json_node *node_at(const struct aligning *a, int side, uint32_t i)
{
    return &a->tree[side].node[i];
}

/* The member on the right with the name of the one on the left; `next` is likely to be it. *ret_line: its first line. 0:
 * none. */
static uint32_t partner(struct aligning *a, uint32_t left, uint32_t object, uint32_t next,
                        uint32_t next_line, uint32_t *ret_line)
{
    struct slice key = node_at(a, 0, left)->key;
    *ret_line = next_line;
    if (next != 0 && slice_eq(node_at(a, 1, next)->key, key))
        return next;
    uint32_t line = *ret_line = 0;
    for (uint32_t i = object; i != 0 && a->st == 0; i = node_at(a, 1, i)->next) {
        if (++a->work > WORK_MAX)
            a->st = MI_EFULL;
        *ret_line = line;
        if (slice_eq(node_at(a, 1, i)->key, key))
            return i;
        line += a->lines[1][i];
    }
    return 0;
}

static void align(struct aligning *a, const uint32_t node[2], const uint32_t line[2]);

/* Members of the right that were not taken. */
static void add_rest(struct aligning *a, uint32_t first, uint32_t line, const bool *taken)
{
    size_t k = 0;
    for (uint32_t i = first; i != 0; i = node_at(a, 1, i)->next, k++) {
        if (!taken[k])
            add_right(a, i, line);
        line += a->lines[1][i];
    }
}

static size_t index_of(const struct aligning *a, uint32_t first, uint32_t node)
{
    size_t k = 0;
    for (uint32_t i = first; i != node; i = node_at(a, 1, i)->next)
        k++;
    return k;
}

static void align_members(struct aligning *a, const uint32_t node[2], const uint32_t line[2])
{
    uint32_t first = node_at(a, 1, node[1])->child, next = first, next_line = line[1] + 1;
    uint32_t at = line[0] + 1, other_line;
    bool *taken = calloc(node_at(a, 1, node[1])->count + 1, sizeof *taken);
    if (taken == NULL) {
        a->st = MI_ENOMEM;
        return;
    }
    size_t next_index = 0;
    for (uint32_t i = node_at(a, 0, node[0])->child; i != 0 && a->st == 0;
         i = node_at(a, 0, i)->next) {
        uint32_t other = partner(a, i, first, next, next_line, &other_line);
        bool in_order = other != 0 && other == next;
        if (other != 0 && !in_order)
            other_line += line[1] + 1;
        size_t k = other == 0 ? 0 : in_order ? next_index : index_of(a, first, other);
        if (other == 0 || taken[k]) { /* a duplicate name has no partner */
            add_left(a, i, at);
        } else {
            taken[k] = true;
            align(a, (uint32_t[]){i, other}, (uint32_t[]){at, other_line});
            next = node_at(a, 1, other)->next;
            next_line = other_line + a->lines[1][other];
            next_index = k + 1;
        }
        at += a->lines[0][i];
    }
    if (a->st == 0)
        add_rest(a, first, line[1] + 1, taken);
    free(taken);
}

static void align_elements(struct aligning *a, const uint32_t node[2], const uint32_t line[2])
{
    uint32_t i = node_at(a, 0, node[0])->child, k = node_at(a, 1, node[1])->child;
    uint32_t left = line[0] + 1, right = line[1] + 1;
    while ((i != 0 || k != 0) && a->st == 0) {
        if (i != 0 && k != 0)
            align(a, (uint32_t[]){i, k}, (uint32_t[]){left, right});
        else if (i != 0)
            add_left(a, i, left);
        else
            add_right(a, k, right);
        left += i != 0 ? a->lines[0][i] : 0;
        right += k != 0 ? a->lines[1][k] : 0;
        i = i != 0 ? node_at(a, 0, i)->next : 0;
        k = k != 0 ? node_at(a, 1, k)->next : 0;
    }
}

/* As deep as the values, at most JSON_TREE_DEPTH. */
static void align(struct aligning *a, const uint32_t node[2], const uint32_t line[2])
{
    const struct json_node *left = node_at(a, 0, node[0]), *right = node_at(a, 1, node[1]);
    uint32_t lines[2] = {a->lines[0][node[0]], a->lines[1][node[1]]};
    if (lines[0] == 1 && lines[1] == 1) {
        bool equal = json_equal(left->value, right->value);
        add_row(a, line[0], line[1], equal ? PAIR_EQUAL : PAIR_CHANGED);
    } else if (left->value.type != right->value.type || lines[0] == 1 || lines[1] == 1) {
        add_both(a, node, line);
    } else {
        add_row(a, line[0], line[1], PAIR_EQUAL);
        if (left->value.type == JSON_OBJECT)
            align_members(a, node, line);
        else
            align_elements(a, node, line);
        add_row(a, line[0] + lines[0] - 1, line[1] + lines[1] - 1, PAIR_EQUAL);
    }
}

/* ---- sections ------------------------------------------------------------------------------- */

/* Children come after their parents: their lines are known when these are counted from the last to the first. */
static int count_lines(const struct json_tree *t, uint32_t **ret)
{
    uint32_t *lines = calloc(t->n, sizeof *lines);
    if (lines == NULL)
        return MI_ENOMEM;
    for (uint32_t i = (uint32_t)t->n; i-- > 0;) {
        lines[i] += t->node[i].child != 0 ? 2 : 1;
        if (i > 0)
            lines[t->node[i].up] += lines[i];
    }
    *ret = lines;
    return 0;
}

static int read_value(struct aligning *a, int side, struct slice text)
{
    struct json_scan scan;
    if (json_scan(text, NULL, NULL, &scan) < 0)
        return MI_EINVAL;
    int st = json_tree_open(&a->tree[side], text);
    return st < 0 ? st : count_lines(&a->tree[side], &a->lines[side]);
}

int pair_add(struct pair *p, const char *title, struct slice left, struct slice right)
{
    struct slice text[2] = {left, right};
    struct aligning a = {.p = p};
    size_t before = p->n;
    if (p->sections_n == PAIR_SECTIONS_MAX)
        return MI_EFULL;
    for (int side = 0; side < 2 && a.st == 0; side++)
        if (text[side].p != NULL)
            a.st = read_value(&a, side, text[side]);
    add_row(&a, NO_LINE, NO_LINE, PAIR_TITLE);
    if (a.st == 0 && left.p != NULL && right.p != NULL)
        align(&a, (uint32_t[]){0, 0}, (uint32_t[]){0, 0});
    else if (a.st == 0 && left.p != NULL)
        add_left(&a, 0, 0);
    else if (a.st == 0 && right.p != NULL)
        add_right(&a, 0, 0);
    for (int side = 0; side < 2; side++) {
        json_tree_close(&a.tree[side]);
        free(a.lines[side]);
    }
    if (a.st == 0) {
        struct section *s = &p->section[p->sections_n++];
        s->title = title;
        for (int side = 0; side < 2; side++) {
            view_open(&s->view[side], VIEW_JSON, text[side]);
            s->view[side].fixed = true;
        }
        a.st = pair_show(p, p->all);
    }
    if (a.st < 0)
        p->n = before;
    return a.st;
}

int pair_open(struct pair **ret)
{
    *ret = calloc(1, sizeof **ret);
    return *ret != NULL ? 0 : MI_ENOMEM;
}

void pair_close(struct pair *p)
{
    if (p == NULL)
        return;
    for (size_t i = 0; i < p->sections_n; i++) {
        view_close(&p->section[i].view[0]);
        view_close(&p->section[i].view[1]);
    }
    free(p->row);
    free(p->shown);
    free(p);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static bool differs(const struct pair_row *r)
{
    return r->mark == PAIR_CHANGED || r->mark == PAIR_REMOVED || r->mark == PAIR_ADDED;
}

static bool show_row(struct pair *p, const struct pair_row *r)
{
    if (!GROW(p->shown, p->shown_n, p->shown_cap))
        return false;
    p->shown[p->shown_n++] = *r;
    return true;
}

/* The end of the run of equal rows at i. */
static size_t equal_run(const struct pair *p, size_t i)
{
    while (i < p->n && p->row[i].mark == PAIR_EQUAL)
        i++;
    return i;
}

/* Shows the ends of a run of equal rows, and a gap between them. */
static bool show_run(struct pair *p, size_t from, size_t to)
{
    size_t head = from > 0 && differs(&p->row[from - 1]) ? PAIR_CONTEXT : 0;
    size_t tail = to < p->n && differs(&p->row[to]) ? PAIR_CONTEXT : 0;
    bool whole = p->all || to - from <= head + tail + 1; /* a gap takes a row, too */
    for (size_t i = from; i < to; i++) {
        if (!whole && i == from + head) {
            struct pair_row gap = {.mark = PAIR_GAP, .section = p->row[i].section};
            gap.line[0] = (uint32_t)(to - tail - i);
            if (!show_row(p, &gap))
                return false;
            i = to - tail - 1;
        } else if (!show_row(p, &p->row[i])) {
            return false;
        }
    }
    return true;
}

int pair_show(struct pair *p, bool all)
{
    p->all = all;
    p->shown_n = 0;
    for (size_t i = 0; i < p->n;) {
        size_t to = equal_run(p, i);
        if (to > i ? !show_run(p, i, to) : !show_row(p, &p->row[i]))
            return MI_ENOMEM;
        i = to > i ? to : i + 1;
    }
    return 0;
}

size_t pair_rows(const struct pair *p)
{
    return p->shown_n;
}

static bool begins_difference(const struct pair_row *rows, size_t i)
{
    return differs(&rows[i]) && (i == 0 || !differs(&rows[i - 1]));
}

size_t pair_differences(const struct pair *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        n += begins_difference(p->row, i);
    return n;
}

size_t pair_next(const struct pair *p, size_t row, bool forward)
{
    for (size_t i = forward ? row + 1 : row - 1; i < p->shown_n; forward ? i++ : i--)
        if (begins_difference(p->shown, i)) /* i - 1 below 0 is no row */
            return i;
    return row;
}

void pair_line(struct pair *p, size_t row, enum pair_side side, size_t from, size_t width,
               bool ascii, struct cells *c)
{
    static const enum cells_style styles[] = {
        [PAIR_CHANGED] = CELLS_CHANGED, [PAIR_REMOVED] = CELLS_REMOVED, [PAIR_ADDED] = CELLS_ADDED};
    static const char *const markers[] = {
        [PAIR_CHANGED] = "~ ", [PAIR_REMOVED] = "- ", [PAIR_ADDED] = "+ "};
    struct view_place place;
    cells_begin(c, from, width, ascii);
    if (row >= p->shown_n)
        return;
    const struct pair_row *r = &p->shown[row];
    struct section *s = &p->section[r->section];
    if (r->mark == PAIR_TITLE) {
        cells_adds(c, CELLS_TITLE, s->title);
    } else if (r->mark == PAIR_GAP) {
        cells_addf(c, CELLS_FOLD, "  %s %u equal lines", ascii ? "..." : "⋯", r->line[0]);
    } else if (r->line[side] != NO_LINE && view_seek(&s->view[side], r->line[side], &place)) {
        cells_adds(c, CELLS_PLAIN, r->mark == PAIR_EQUAL ? "  " : markers[r->mark]);
        view_layout(&s->view[side], 0, ascii);
        view_draw(&s->view[side], &place, 0, c);
        for (size_t i = 0; i < c->n && r->mark != PAIR_EQUAL; i++)
            if (c->span[i].style != CELLS_ESCAPE)
                c->span[i].style = styles[r->mark];
    }
}
