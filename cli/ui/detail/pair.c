#include "cli/ui/detail/pair.h"

#include "base/grow.h"
#include "cli/ui/detail/view.h"
#include "wire/json/text.h"
#include "wire/json/tree.h"

#include <stdlib.h>

#define NO_LINE UINT32_MAX

enum pair_mark {
    PAIR_EQUAL,
    PAIR_CHANGED,
    PAIR_REMOVED, /* the row exists only on the left side */
    PAIR_ADDED,   /* the row exists only on the right side */
    PAIR_TITLE,
    PAIR_SIZES, /* the row has the sizes of values that were not compared */
    PAIR_GAP,   /* the row is shown in place of equal rows that are hidden */
};

struct pair_row {
    /* line[0] and line[1]: number of the row's line in the left and in the right view; NO_LINE: the
     * row has no line on that side. In a row PAIR_GAP, line[0] is the number of hidden rows. */
    uint32_t line[2];
    uint8_t mark, section;
};

struct section {
    const char *title;
    struct view view[2];
    size_t size[2]; /* sizes of the values on both sides, in bytes */
};

struct pair {
    struct section section[PAIR_SECTIONS_MAX];
    size_t sections_n;
    struct pair_row *row; /* owned; all rows */
    size_t n, cap;
    struct pair_row *shown; /* owned; the rows of `row` that are shown */
    size_t shown_n, shown_cap;
    bool all;
};

/* ---- alignment ------------------------------------------------------------------------------ */

/* State of aligning the two values of a section, whose members are matched with each other. */
struct aligning {
    struct pair *p;
    struct json_tree tree[2];
    uint32_t *lines[2]; /* owned; for each side: number of lines of each node */
    int st;
};

static void detail_pair_add_row(struct aligning *a, uint32_t left, uint32_t right,
                                enum pair_mark mark)
{
    struct pair *p = a->p;
    if (p->n >= PAIR_ROWS_MAX && mark < PAIR_TITLE)
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

static void add_rows_of_removed_value(struct aligning *a, uint32_t node, uint32_t line)
{
    for (uint32_t i = 0; i < a->lines[0][node]; i++)
        detail_pair_add_row(a, line + i, NO_LINE, PAIR_REMOVED);
}

static void add_rows_of_added_value(struct aligning *a, uint32_t node, uint32_t line)
{
    for (uint32_t i = 0; i < a->lines[1][node]; i++)
        detail_pair_add_row(a, NO_LINE, line + i, PAIR_ADDED);
}

static const struct json_node *get_aligned_node(const struct aligning *a, int side, uint32_t i)
{
    return &a->tree[side].node[i];
}

/* A member of the object on the right. */
struct member {
    struct slice key;
    /* node: index of the member's node; line: number of the node's first line */
    uint32_t node, line;
    bool taken;
};

struct members {
    struct member *member;        /* owned; the members in the order of the text */
    const struct member **sorted; /* owned; sorted by name; NULL until find_member() needs it */
    size_t n;
};

static int compare_keys(struct slice a, struct slice b)
{
    int c = memcmp(a.p, b.p, size_min(a.n, b.n));
    return c != 0 ? c : (a.n > b.n) - (a.n < b.n);
}

static int compare_member_keys(const void *a, const void *b)
{
    const struct member *x = *(const struct member *const *)a;
    const struct member *y = *(const struct member *const *)b;
    int c = compare_keys(x->key, y->key);
    return c != 0 ? c : (x > y) - (x < y);
}

static int read_object_members(const struct aligning *a, uint32_t object, uint32_t line,
                               struct members *m)
{
    *m = (struct members){.member =
                              calloc(get_aligned_node(a, 1, object)->count + 1, sizeof *m->member)};
    if (m->member == NULL)
        return MI_ENOMEM;
    line++;
    for (uint32_t i = get_aligned_node(a, 1, object)->child; i != 0;
         i = get_aligned_node(a, 1, i)->next) {
        m->member[m->n++] = (struct member){get_aligned_node(a, 1, i)->key, i, line, false};
        line += a->lines[1][i];
    }
    return 0;
}

/* Returns the index of the first member with this name; n if there is none. On an error, sets a->st
 * and returns n. Compares the member `likely` first. */
static size_t find_member(struct aligning *a, struct members *m, struct slice key, size_t likely)
{
    if (likely < m->n && slice_eq(m->member[likely].key, key))
        return likely;
    if (m->sorted == NULL) {
        m->sorted = malloc((m->n + 1) * sizeof *m->sorted);
        for (size_t i = 0; m->sorted != NULL && i < m->n; i++)
            m->sorted[i] = &m->member[i];
        if (m->sorted != NULL)
            qsort(m->sorted, m->n, sizeof *m->sorted, compare_member_keys);
        else
            a->st = MI_ENOMEM;
    }
    size_t from = 0, to = m->sorted != NULL ? m->n : 0, end = to;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (compare_keys(m->sorted[middle]->key, key) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    bool found = from < end && slice_eq(m->sorted[from]->key, key);
    return found ? (size_t)(m->sorted[from] - m->member) : m->n;
}

static void align_values(struct aligning *a, const uint32_t node[2], const uint32_t line[2]);

static void align_members(struct aligning *a, const uint32_t node[2], const uint32_t line[2])
{
    struct members m;
    uint32_t at = line[0] + 1;
    size_t next = 0;
    a->st = read_object_members(a, node[1], line[1], &m);
    for (uint32_t i = get_aligned_node(a, 0, node[0])->child; i != 0 && a->st == 0;
         i = get_aligned_node(a, 0, i)->next) {
        size_t k = find_member(a, &m, get_aligned_node(a, 0, i)->key, next);
        /* Either the right object has no member with this name; or the name is a duplicate, and
         * find_member() has returned a member that is matched already. */
        if (k == m.n || m.member[k].taken) {
            add_rows_of_removed_value(a, i, at);
        } else {
            m.member[k].taken = true;
            align_values(a, (uint32_t[]){i, m.member[k].node}, (uint32_t[]){at, m.member[k].line});
            next = k + 1;
        }
        at += a->lines[0][i];
    }
    for (size_t k = 0; k < m.n && a->st == 0; k++)
        if (!m.member[k].taken)
            add_rows_of_added_value(a, m.member[k].node, m.member[k].line);
    free(m.member);
    free(m.sorted);
}

static void align_array_elements(struct aligning *a, const uint32_t node[2], const uint32_t line[2])
{
    uint32_t i = get_aligned_node(a, 0, node[0])->child, k = get_aligned_node(a, 1, node[1])->child;
    uint32_t left = line[0] + 1, right = line[1] + 1;
    while ((i != 0 || k != 0) && a->st == 0) {
        if (i != 0 && k != 0)
            align_values(a, (uint32_t[]){i, k}, (uint32_t[]){left, right});
        else if (i != 0)
            add_rows_of_removed_value(a, i, left);
        else
            add_rows_of_added_value(a, k, right);
        left += i != 0 ? a->lines[0][i] : 0;
        right += k != 0 ? a->lines[1][k] : 0;
        i = i != 0 ? get_aligned_node(a, 0, i)->next : 0;
        k = k != 0 ? get_aligned_node(a, 1, k)->next : 0;
    }
}

/* Aligns two values. Recurses as deep as the values are nested, at most JSON_TREE_DEPTH levels. */
static void align_values(struct aligning *a, const uint32_t node[2], const uint32_t line[2])
{
    const struct json_node *left = get_aligned_node(a, 0, node[0]),
                           *right = get_aligned_node(a, 1, node[1]);
    uint32_t lines[2] = {a->lines[0][node[0]], a->lines[1][node[1]]};
    if (lines[0] == 1 && lines[1] == 1) {
        bool equal = json_equal(left->value, right->value);
        detail_pair_add_row(a, line[0], line[1], equal ? PAIR_EQUAL : PAIR_CHANGED);
    } else if (left->value.type != right->value.type || lines[0] == 1 || lines[1] == 1) {
        for (uint32_t i = 0; i < lines[0] || i < lines[1]; i++)
            detail_pair_add_row(a, i < lines[0] ? line[0] + i : NO_LINE,
                                i < lines[1] ? line[1] + i : NO_LINE, PAIR_CHANGED);
    } else {
        detail_pair_add_row(a, line[0], line[1], PAIR_EQUAL);
        if (left->value.type == JSON_OBJECT)
            align_members(a, node, line);
        else
            align_array_elements(a, node, line);
        detail_pair_add_row(a, line[0] + lines[0] - 1, line[1] + lines[1] - 1, PAIR_EQUAL);
    }
}

/* ---- sections ------------------------------------------------------------------------------- */

/* Counts the lines of each node, from the last node to the first, because children follow their
 * parents. */
static int count_lines_of_nodes(const struct json_tree *t, uint32_t **ret)
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

static int pair_parse_value(struct aligning *a, int side, struct slice text)
{
    struct json_scan scan;
    if (text.n > PAIR_TEXT_MAX)
        return MI_EFULL;
    if (json_scan(text, NULL, NULL, &scan) < 0)
        return MI_EINVAL;
    int st = json_tree_open(&a->tree[side], text);
    return st < 0 ? st : count_lines_of_nodes(&a->tree[side], &a->lines[side]);
}

/* Adds the rows of a section. Returns MI_EFULL if a limit is exceeded. */
static int pair_add_rows_of_values(struct pair *p, const struct slice text[2])
{
    struct aligning a = {.p = p};
    for (int side = 0; side < 2 && a.st == 0; side++)
        if (text[side].p != NULL)
            a.st = pair_parse_value(&a, side, text[side]);
    if (a.st == 0 && text[0].p != NULL && text[1].p != NULL)
        align_values(&a, (uint32_t[]){0, 0}, (uint32_t[]){0, 0});
    else if (a.st == 0 && text[0].p != NULL)
        add_rows_of_removed_value(&a, 0, 0);
    else if (a.st == 0 && text[1].p != NULL)
        add_rows_of_added_value(&a, 0, 0);
    for (int side = 0; side < 2; side++) {
        json_tree_close(&a.tree[side]);
        free(a.lines[side]);
    }
    return a.st;
}

static int pair_append_row(struct pair *p, enum pair_mark mark)
{
    struct aligning a = {.p = p};
    detail_pair_add_row(&a, NO_LINE, NO_LINE, mark);
    return a.st;
}

/* Adds a section. If `text` is NULL, or a limit is exceeded, shows only the sizes of the two
 * values. */
static int pair_add_section_rows(struct pair *p, const char *title, const struct slice text[2],
                                 const size_t size[2])
{
    size_t before = p->n;
    if (p->sections_n == PAIR_SECTIONS_MAX)
        return MI_EFULL;
    int st = pair_append_row(p, PAIR_TITLE);
    if (st == 0)
        st = text != NULL ? pair_add_rows_of_values(p, text) : MI_EFULL;
    if (st == MI_EFULL) {
        p->n = before;
        st = pair_append_row(p, PAIR_TITLE);
        st = st == 0 ? pair_append_row(p, PAIR_SIZES) : st;
    }
    if (st == 0) {
        struct section *s = &p->section[p->sections_n++];
        s->title = title;
        for (int side = 0; side < 2; side++) {
            s->size[side] = size[side];
            view_open(&s->view[side], VIEW_JSON, text != NULL ? text[side] : (struct slice){0});
            s->view[side].fixed = true;
        }
        st = pair_choose_shown_rows(p, p->all);
    }
    if (st < 0)
        p->n = before;
    return st;
}

int pair_add_section_of_values(struct pair *p, const char *title, struct slice left,
                               struct slice right)
{
    return pair_add_section_rows(p, title, (struct slice[]){left, right},
                                 (size_t[]){left.n, right.n});
}

int pair_add_section_of_sizes(struct pair *p, const char *title, const size_t size[2])
{
    return pair_add_section_rows(p, title, NULL, size);
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

static bool row_shows_difference(const struct pair_row *r)
{
    return r->mark == PAIR_CHANGED || r->mark == PAIR_REMOVED || r->mark == PAIR_ADDED;
}

static bool append_shown_row(struct pair *p, const struct pair_row *r)
{
    if (!GROW(p->shown, p->shown_n, p->shown_cap))
        return false;
    p->shown[p->shown_n++] = *r;
    return true;
}

/* Shows the first and the last of the equal rows [from, to), and one row PAIR_GAP in place of the
 * rows between them. */
static bool show_ends_of_equal_rows(struct pair *p, size_t from, size_t to)
{
    size_t head = from > 0 && row_shows_difference(&p->row[from - 1]) ? PAIR_CONTEXT : 0;
    size_t tail = to < p->n && row_shows_difference(&p->row[to]) ? PAIR_CONTEXT : 0;
    /* The line that replaces hidden rows takes one row, so hiding one row would gain nothing. */
    bool whole = p->all || to - from <= head + tail + 1;
    for (size_t i = from; i < to; i++) {
        if (!whole && i == from + head) {
            struct pair_row gap = {.mark = PAIR_GAP, .section = p->row[i].section};
            gap.line[0] = (uint32_t)(to - tail - i);
            if (!append_shown_row(p, &gap))
                return false;
            i = to - tail - 1;
        } else if (!append_shown_row(p, &p->row[i])) {
            return false;
        }
    }
    return true;
}

int pair_choose_shown_rows(struct pair *p, bool all)
{
    p->all = all;
    p->shown_n = 0;
    for (size_t i = 0; i < p->n;) {
        size_t to = i; /* end of the equal rows that begin at row i */
        while (to < p->n && p->row[to].mark == PAIR_EQUAL)
            to++;
        if (to > i ? !show_ends_of_equal_rows(p, i, to) : !append_shown_row(p, &p->row[i]))
            return MI_ENOMEM;
        i = to > i ? to : i + 1;
    }
    return 0;
}

size_t pair_count_shown_rows(const struct pair *p)
{
    return p->shown_n;
}

static bool row_begins_difference(const struct pair_row *rows, size_t i)
{
    return row_shows_difference(&rows[i]) && (i == 0 || !row_shows_difference(&rows[i - 1]));
}

size_t pair_count_differences(const struct pair *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        n += row_begins_difference(p->row, i);
    return n;
}

size_t pair_find_next_difference(const struct pair *p, size_t row, bool forward)
{
    for (size_t i = forward ? row + 1 : row - 1; i < p->shown_n; forward ? i++ : i--)
        /* after 0, `i` becomes SIZE_MAX, which ends the loop */
        if (row_begins_difference(p->shown, i))
            return i;
    return row;
}

void pair_draw_line(struct pair *p, size_t row, enum pair_side side, size_t from, size_t width,
                    bool ascii, struct cells *c)
{
    static const enum cells_style styles[] = {
        [PAIR_CHANGED] = CELLS_CHANGED, [PAIR_REMOVED] = CELLS_REMOVED, [PAIR_ADDED] = CELLS_ADDED};
    static const char *const markers[] = {
        [PAIR_CHANGED] = "~ ", [PAIR_REMOVED] = "- ", [PAIR_ADDED] = "+ "};
    struct view_place place;
    cells_begin_line(c, from, width, ascii);
    if (row >= p->shown_n)
        return;
    const struct pair_row *r = &p->shown[row];
    struct section *s = &p->section[r->section];
    if (r->mark == PAIR_TITLE) {
        cells_add_str(c, CELLS_TITLE, s->title);
    } else if (r->mark == PAIR_SIZES) {
        cells_add_format(c, CELLS_NOTE, "  not compared: %zu bytes", s->size[side]);
    } else if (r->mark == PAIR_GAP) {
        cells_add_format(c, CELLS_FOLD, "  %s %u equal lines", ascii ? "..." : "⋯", r->line[0]);
    } else if (r->line[side] != NO_LINE &&
               view_find_line_by_number(&s->view[side], r->line[side], &place)) {
        cells_add_str(c, CELLS_PLAIN, r->mark == PAIR_EQUAL ? "  " : markers[r->mark]);
        view_set_width(&s->view[side], 0, ascii);
        view_draw_line(&s->view[side], &place, 0, c);
        for (size_t i = 0; i < c->n && r->mark != PAIR_EQUAL; i++)
            if (c->span[i].style != CELLS_ESCAPE)
                c->span[i].style = styles[r->mark];
    }
}
