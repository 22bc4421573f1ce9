#include "replay/compare/align.h"

#include "replay/compare/lcs.h"
#include "replay/plan/map.h"

#include <stdlib.h>

struct aligning {
    const struct align_call *a, *b;
    uint32_t n, m, topics, classes;
    /* owned; the class of each call; equal calls have the same class, from 0 */
    uint32_t *class_a, *class_b;
    uint32_t *to_b, *to_a; /* owned; the partner of each call, or ALIGN_NONE */
    /* owned; for each call of `a` that has a partner: `equal`: the two calls are equal; `moved`:
     * one of the two calls was moved */
    bool *equal, *moved;
    uint32_t *first, *next; /* owned; lists of unpaired calls of `b`, by class or topic */
    /* owned; for each class or topic: the value of `round` in which it was last used; a list in
     * `first` of an earlier round is out of date */
    uint32_t *list_of;
    align_fn distance;
    void *ctx;
    uint32_t distances; /* number of calls of `distance` that are still allowed */
};

/* ---- memory ---- */

static void *allocate_uint32_array(size_t n)
{
    return calloc(n + 1, sizeof(uint32_t));
}

static int alignment_open(struct aligning *x)
{
    size_t lists = (size_t)x->n + x->m + x->topics;
    x->class_a = allocate_uint32_array(x->n);
    x->class_b = allocate_uint32_array(x->m);
    x->to_b = allocate_uint32_array(x->n);
    x->to_a = allocate_uint32_array(x->m);
    x->first = allocate_uint32_array(lists);
    x->list_of = allocate_uint32_array(lists);
    x->next = allocate_uint32_array(x->m);
    x->equal = calloc((size_t)x->n + 1, 1);
    x->moved = calloc((size_t)x->n + 1, 1);
    return x->class_a != NULL && x->class_b != NULL && x->to_b != NULL && x->to_a != NULL &&
                   x->first != NULL && x->list_of != NULL && x->next != NULL && x->equal != NULL &&
                   x->moved != NULL
               ? 0
               : MI_ENOMEM;
}

static void alignment_close(struct aligning *x)
{
    free(x->class_a);
    free(x->class_b);
    free(x->to_b);
    free(x->to_a);
    free(x->first);
    free(x->list_of);
    free(x->next);
    free(x->equal);
    free(x->moved);
}

/* ---- pairs ---- */

static int classify_calls(struct map *map, const struct align_call *call, uint32_t n,
                          uint32_t *classes, uint32_t *ret)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t *known = map_get(map, call[i].key);
        int st = known == NULL ? map_put(map, call[i].key, *classes) : 0;
        if (st < 0)
            return st;
        ret[i] = known != NULL ? *known : (*classes)++;
    }
    return 0;
}

static void pair_two_calls(struct aligning *x, uint32_t i, uint32_t j, bool equal)
{
    x->to_b[i] = j;
    x->to_a[j] = i;
    x->equal[i] = equal;
}

static int pair_equal_calls_in_order(struct aligning *x)
{
    struct map map = {0};
    int st = classify_calls(&map, x->a, x->n, &x->classes, x->class_a);
    if (st == 0)
        st = classify_calls(&map, x->b, x->m, &x->classes, x->class_b);
    if (st == 0)
        st = lcs_pair_elements(x->class_a, x->n, x->class_b, x->m, x->to_b);
    map_close(&map);
    for (uint32_t j = 0; j < x->m; j++)
        x->to_a[j] = ALIGN_NONE;
    for (uint32_t i = 0; st == 0 && i < x->n; i++)
        if (x->to_b[i] != LCS_NONE)
            pair_two_calls(x, i, x->to_b[i], true);
    return st;
}

/* Pairs calls of a[i0..i1) and b[j0..j1) that have no partner, in order of appearance. Each
 * invocation of this function or of pair_nearest_calls() needs a new value of `round`, other than
 * 0. */
static void pair_remaining_calls(struct aligning *x, uint32_t i0, uint32_t i1, uint32_t j0,
                                 uint32_t j1, bool equal, uint32_t round)
{
    for (uint32_t j = j1; j-- > j0;) {
        if (x->to_a[j] != ALIGN_NONE)
            continue;
        uint32_t list = equal ? x->class_b[j] : x->b[j].topic;
        x->next[j] = x->list_of[list] == round ? x->first[list] : ALIGN_NONE;
        x->first[list] = j;
        x->list_of[list] = round;
    }
    for (uint32_t i = i0; i < i1; i++) {
        uint32_t list = equal ? x->class_a[i] : x->a[i].topic;
        if (x->to_b[i] != ALIGN_NONE || x->list_of[list] != round || x->first[list] == ALIGN_NONE)
            continue;
        uint32_t j = x->first[list];
        x->first[list] = x->next[j];
        pair_two_calls(x, i, j, equal);
    }
}

/* A group: the unpaired calls of one topic between two pairs of equal calls. */
struct group {
    struct aligning *x;
    uint32_t a[NEAR_LIST], b[NEAR_LIST];
    uint32_t n, m;
};

static int compute_distance_in_group(void *ctx, uint32_t of_short, uint32_t of_long)
{
    const struct group *g = ctx;
    bool a_is_short = g->n <= g->m;
    return g->x->distance(g->x->ctx, g->a[a_is_short ? of_short : of_long],
                          g->b[a_is_short ? of_long : of_short]);
}

static int pair_calls_of_group(struct group *g)
{
    uint32_t partner[NEAR_LIST];
    bool a_is_short = g->n <= g->m;
    uint32_t n = a_is_short ? g->n : g->m, m = a_is_short ? g->m : g->n;
    if (n == 0 || n == m || n * m > NEAR_PAIRS || n * m > g->x->distances)
        return 0; /* the caller will pair the calls of this group in order of appearance */
    g->x->distances -= n * m;
    int st = pair_members_by_distance(n, m, compute_distance_in_group, g, partner);
    for (uint32_t i = 0; st == 0 && i < n; i++)
        pair_two_calls(g->x, g->a[a_is_short ? i : partner[i]], g->b[a_is_short ? partner[i] : i],
                       false);
    return st;
}

/* Pairs the most similar calls of each topic that has different numbers of calls on the two sides.
 * round: as in pair_remaining_calls(). */
static int pair_nearest_calls(struct aligning *x, uint32_t i0, uint32_t i1, uint32_t j0,
                              uint32_t j1, uint32_t round)
{
    struct group g = {.x = x};
    int st = 0;
    if (x->distance == NULL || i1 - i0 > NEAR_LIST || j1 - j0 > NEAR_LIST)
        return 0;
    for (uint32_t i = i0; st == 0 && i < i1; i++) {
        uint32_t topic = x->a[i].topic;
        if (x->to_b[i] != ALIGN_NONE || x->list_of[topic] == round)
            continue;
        x->list_of[topic] = round;
        g.n = g.m = 0;
        for (uint32_t k = i; k < i1; k++)
            if (x->to_b[k] == ALIGN_NONE && x->a[k].topic == topic)
                g.a[g.n++] = k;
        for (uint32_t k = j0; k < j1; k++)
            if (x->to_a[k] == ALIGN_NONE && x->b[k].topic == topic)
                g.b[g.m++] = k;
        st = pair_calls_of_group(&g);
    }
    return st;
}

/* Pairs calls of the same topic in each gap between the equal pairs that are in the same order on
 * both sides. in_order: for each call of `a`, its partner in such a pair; ALIGN_NONE: none. */
static int pair_calls_between_equal_calls(struct aligning *x, const uint32_t *in_order,
                                          uint32_t *round)
{
    uint32_t i0 = 0, j0 = 0;
    int st = 0;
    for (uint32_t i = 0; st == 0 && i <= x->n; i++) {
        if (i < x->n && in_order[i] == ALIGN_NONE)
            continue;
        uint32_t j = i < x->n ? in_order[i] : x->m;
        if (i > i0 && j > j0) {
            st = pair_nearest_calls(x, i0, i, j0, j, ++*round);
            pair_remaining_calls(x, i0, i, j0, j, false, ++*round);
        }
        i0 = i + 1;
        j0 = j + 1;
    }
    return st;
}

/* Marks pairs as moved until no two unmarked pairs cross each other. As many pairs as possible stay
 * unmarked: those of a longest common order. Pairs that were marked before are ignored. Only pairs
 * of changed calls are marked here: an unmarked pair of equal calls crosses no other unmarked
 * pair, so it belongs to every longest ascending subsequence. */
static int mark_crossing_pairs(struct aligning *x)
{
    uint32_t *values = allocate_uint32_array(x->n);
    bool *in_order = calloc((size_t)x->n + 1, 1);
    uint32_t pairs = 0;
    int st = MI_ENOMEM;
    if (values != NULL && in_order != NULL) {
        for (uint32_t i = 0; i < x->n; i++)
            if (x->to_b[i] != ALIGN_NONE && !x->moved[i])
                values[pairs++] = x->to_b[i];
        st = lcs_mark_ascending_values(values, pairs, in_order);
    }
    for (uint32_t i = 0, k = 0; st == 0 && i < x->n; i++)
        if (x->to_b[i] != ALIGN_NONE && !x->moved[i])
            x->moved[i] = !in_order[k++];
    free(values);
    free(in_order);
    return st;
}

/* Marks all pairs as moved that were made after `before`, a copy of x->to_b, was made. */
static void mark_later_pairs_moved(struct aligning *x, const uint32_t *before)
{
    for (uint32_t i = 0; i < x->n; i++)
        if (before[i] == ALIGN_NONE && x->to_b[i] != ALIGN_NONE)
            x->moved[i] = true;
}

static int pair_all_calls(struct aligning *x)
{
    uint32_t round = 0;
    int st = pair_equal_calls_in_order(x);
    uint32_t *in_order = st == 0 ? allocate_uint32_array(x->n) : NULL;
    uint32_t *before = st == 0 ? allocate_uint32_array(x->n) : NULL;
    if (in_order == NULL || before == NULL) {
        st = st < 0 ? st : MI_ENOMEM;
    } else {
        memcpy(in_order, x->to_b, x->n * sizeof *in_order);
        pair_remaining_calls(x, 0, x->n, 0, x->m, true, ++round);
        mark_later_pairs_moved(x, in_order);
        st = pair_calls_between_equal_calls(x, in_order, &round);
        if (st == 0)
            st = mark_crossing_pairs(x);
        memcpy(before, x->to_b, x->n * sizeof *before);
        pair_remaining_calls(x, 0, x->n, 0, x->m, false, ++round);
        mark_later_pairs_moved(x, before);
    }
    free(in_order);
    free(before);
    return st;
}

/* ---- rows ---- */

/* Adds rows for the calls that are only in `a`, from call i to the next pair that was not moved. */
static void add_rows_for_calls_only_in_a(const struct aligning *x, uint32_t i,
                                         struct align_row *rows, uint32_t *n)
{
    for (; i < x->n && (x->to_b[i] == ALIGN_NONE || x->moved[i]); i++)
        if (x->to_b[i] == ALIGN_NONE)
            rows[(*n)++] = (struct align_row){i, ALIGN_NONE, ALIGN_MISSING, false};
}

/* Writes the rows of the result. Returns their number. */
static uint32_t write_rows(const struct aligning *x, struct align_row *rows)
{
    uint32_t n = 0;
    add_rows_for_calls_only_in_a(x, 0, rows, &n);
    for (uint32_t j = 0; j < x->m; j++) {
        uint32_t i = x->to_a[j];
        if (i == ALIGN_NONE) {
            rows[n++] = (struct align_row){ALIGN_NONE, j, ALIGN_ADDED, false};
            continue;
        }
        enum align_kind kind = x->equal[i] ? ALIGN_EQUAL : ALIGN_CHANGED;
        rows[n++] = (struct align_row){i, j, (uint8_t)kind, x->moved[i]};
        if (!x->moved[i])
            add_rows_for_calls_only_in_a(x, i + 1, rows, &n);
    }
    return n;
}

int align_calls(const struct align_sides *sides, struct align_row **ret, uint32_t *ret_n)
{
    struct aligning x = {
        .a = sides->a,
        .b = sides->b,
        .n = sides->n,
        .m = sides->m,
        .topics = sides->topics,
        .distance = sides->distance,
        .ctx = sides->ctx,
        .distances = ALIGN_DISTANCES,
    };
    struct align_row *rows = calloc((size_t)x.n + x.m + 1, sizeof *rows);
    int st = rows != NULL ? alignment_open(&x) : MI_ENOMEM;
    if (st == 0)
        st = pair_all_calls(&x);
    if (st == 0) {
        *ret_n = write_rows(&x, rows);
        *ret = rows;
    } else {
        free(rows);
    }
    alignment_close(&x);
    return st;
}
