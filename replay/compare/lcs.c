#include "replay/compare/lcs.h"

#include <stdlib.h>

/* The two ranges a[x0..x1) and b[y0..y1), whose equal numbers are to be paired. */
struct part {
    int64_t x0, x1, y0, y1;
};

/* Diagonal d consists of the points (x, y) with x - y == d. */
struct search {
    const uint32_t *a, *b;
    /* for each diagonal: the largest x that the search from (x0, y0) has reached */
    int64_t *forward;
    /* for each diagonal: the smallest x that the search from (x1, y1) has reached */
    int64_t *backward;
    uint32_t *partner;
};

struct point {
    int64_t x, y;
};

/* The range of diagonals that the search from one end has reached. */
struct reach {
    int64_t min, max;
};

/* Extends the range of reached diagonals by one at each end, and sets `furthest` of the diagonal
 * just outside the new range to `edge`. An end that is at its limit already (low or high) moves
 * inwards by one instead. */
static void lcs_extend_reached_diagonals(struct reach *r, int64_t *furthest, int64_t low,
                                         int64_t high, int64_t edge)
{
    if (r->min > low)
        furthest[--r->min - 1] = edge;
    else
        r->min++;
    if (r->max < high)
        furthest[++r->max + 1] = edge;
    else
        r->max--;
}

static bool lcs_step_forward(struct search *s, const struct part *p, struct reach *f,
                             const struct reach *b, bool odd, struct point *ret)
{
    lcs_extend_reached_diagonals(f, s->forward, p->x0 - p->y1, p->x1 - p->y0, -1);
    for (int64_t d = f->max; d >= f->min; d -= 2) {
        int64_t below = s->forward[d - 1], above = s->forward[d + 1];
        int64_t x = below < above ? above : below + 1;
        while (x < p->x1 && x - d < p->y1 && s->a[x] == s->b[x - d])
            x++;
        s->forward[d] = x;
        if (odd && b->min <= d && d <= b->max && s->backward[d] <= x) {
            *ret = (struct point){x, x - d};
            return true;
        }
    }
    return false;
}

static bool lcs_step_backward(struct search *s, const struct part *p, struct reach *b,
                              const struct reach *f, bool odd, struct point *ret)
{
    lcs_extend_reached_diagonals(b, s->backward, p->x0 - p->y1, p->x1 - p->y0, INT64_MAX);
    for (int64_t d = b->max; d >= b->min; d -= 2) {
        int64_t below = s->backward[d - 1], above = s->backward[d + 1];
        int64_t x = below < above ? below : above - 1;
        while (x > p->x0 && x - d > p->y0 && s->a[x - 1] == s->b[x - d - 1])
            x--;
        s->backward[d] = x;
        if (!odd && f->min <= d && d <= f->max && x <= s->forward[d]) {
            *ret = (struct point){x, x - d};
            return true;
        }
    }
    return false;
}

/* One search began at the start of the part, another at its end. Of all points that the two
 * searches have reached, returns the one that is furthest from the end at which its search
 * began. */
static struct point lcs_find_furthest_point(const struct search *s, const struct part *p,
                                            const struct reach *f, const struct reach *b)
{
    struct point from = {p->x0, p->y0}, to = {p->x1, p->y1};
    for (int64_t d = f->max; d >= f->min; d -= 2) {
        int64_t x = s->forward[d] < p->x1 ? s->forward[d] : p->x1;
        if (x - d > p->y1)
            x = p->y1 + d;
        if (2 * x - d > from.x + from.y)
            from = (struct point){x, x - d};
    }
    for (int64_t d = b->max; d >= b->min; d -= 2) {
        int64_t x = s->backward[d] > p->x0 ? s->backward[d] : p->x0;
        if (x - d < p->y0)
            x = p->y0 + d;
        if (2 * x - d < to.x + to.y)
            to = (struct point){x, x - d};
    }
    return p->x1 + p->y1 - (to.x + to.y) > from.x + from.y - (p->x0 + p->y0) ? to : from;
}

/* Returns the point at which the part is split: a point on a shortest path through the part or,
 * after LCS_EXACT differences, the furthest point that was reached. */
static struct point lcs_find_split_point(struct search *s, const struct part *p)
{
    int64_t first = p->x0 - p->y0, last = p->x1 - p->y1;
    struct reach f = {first, first}, b = {last, last};
    bool odd = ((first - last) & 1) != 0;
    struct point at;
    s->forward[first] = p->x0;
    s->backward[last] = p->x1;
    for (int cost = 1;; cost++) {
        if (lcs_step_forward(s, p, &f, &b, odd, &at) || lcs_step_backward(s, p, &b, &f, odd, &at))
            return at;
        if (cost == LCS_EXACT)
            return lcs_find_furthest_point(s, p, &f, &b);
    }
}

static void lcs_store_pair(struct search *s, int64_t x, int64_t y)
{
    s->partner[x] = (uint32_t)y;
}

static int64_t lcs_region_size(const struct part *p)
{
    return p->x1 - p->x0 + p->y1 - p->y0;
}

/* Pairs the equal members of a part. Recurses into the smaller half and continues with the larger
 * one. */
static void lcs_pair_range(struct search *s, struct part p)
{
    for (;;) {
        for (; p.x0 < p.x1 && p.y0 < p.y1 && s->a[p.x0] == s->b[p.y0]; p.x0++, p.y0++)
            lcs_store_pair(s, p.x0, p.y0);
        for (; p.x0 < p.x1 && p.y0 < p.y1 && s->a[p.x1 - 1] == s->b[p.y1 - 1]; p.x1--, p.y1--)
            lcs_store_pair(s, p.x1 - 1, p.y1 - 1);
        if (p.x0 == p.x1 || p.y0 == p.y1)
            return;
        struct point at = lcs_find_split_point(s, &p);
        struct part head = {p.x0, at.x, p.y0, at.y}, tail = {at.x, p.x1, at.y, p.y1};
        bool head_is_small = lcs_region_size(&head) < lcs_region_size(&tail);
        lcs_pair_range(s, head_is_small ? head : tail);
        p = head_is_small ? tail : head;
    }
}

int lcs_pair_elements(const uint32_t *a, uint32_t n, const uint32_t *b, uint32_t m,
                      uint32_t *partner)
{
    size_t diagonals = (size_t)n + m + 3;
    int64_t *memory = calloc(2 * diagonals, sizeof *memory);
    if (memory == NULL)
        return MI_ENOMEM;
    struct search s = {
        .a = a,
        .b = b,
        .forward = memory + m + 1,
        .backward = memory + diagonals + m + 1,
        .partner = partner,
    };
    for (uint32_t i = 0; i < n; i++)
        partner[i] = LCS_NONE;
    lcs_pair_range(&s, (struct part){0, n, 0, m});
    free(memory);
    return 0;
}

/* Of the ascending subsequences of k + 1 values so far, take the one whose last value is the
 * smallest: tail[k] is the index of this value. */
int lcs_mark_ascending_values(const uint32_t *values, uint32_t n, bool *in_order)
{
    uint32_t *tail = calloc(2 * (size_t)n + 1, sizeof *tail);
    uint32_t length = 0;
    if (tail == NULL)
        return MI_ENOMEM;
    uint32_t *before = tail + n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t from = 0, to = length;
        while (from < to) {
            uint32_t mid = from + (to - from) / 2;
            if (values[tail[mid]] < values[i])
                from = mid + 1;
            else
                to = mid;
        }
        before[i] = from > 0 ? tail[from - 1] : LCS_NONE;
        tail[from] = i;
        length += from == length;
        in_order[i] = false;
    }
    for (uint32_t i = length > 0 ? tail[length - 1] : LCS_NONE; i != LCS_NONE; i = before[i])
        in_order[i] = true;
    free(tail);
    return 0;
}
