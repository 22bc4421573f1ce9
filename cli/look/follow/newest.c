#include "cli/look/follow/newest.h"

#include "base/grow.h"

#include <stdlib.h>

void newest_rows_open(struct newest *l, size_t max)
{
    *l = (struct newest){.max = max};
}

void newest_rows_close(struct newest *l)
{
    free(l->row);
    *l = (struct newest){0};
}

/* Orders by time. An event comes before a message of the same time, as in `show`. */
static int newest_compare_rows(const void *a, const void *b)
{
    const struct newest_row *x = a, *y = b;
    if (x->at_us != y->at_us)
        return x->at_us < y->at_us ? -1 : 1;
    if (x->session_id != y->session_id)
        return x->session_id < y->session_id ? -1 : 1;
    if (x->is_event != y->is_event)
        return x->is_event ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

bool newest_rows_would_keep_row(const struct newest *l, int64_t at_us)
{
    return l->n < l->max || (l->max > 0 && at_us >= l->row[0].at_us);
}

static void swap_newest_rows(struct newest_row *a, struct newest_row *b)
{
    struct newest_row t = *a;
    *a = *b;
    *b = t;
}

/* Moves the first row down to its place in the heap. */
static void newest_rows_sift_down(struct newest *l)
{
    for (size_t i = 0, child; (child = 2 * i + 1) < l->n; i = child) {
        if (child + 1 < l->n && newest_compare_rows(&l->row[child + 1], &l->row[child]) < 0)
            child++;
        if (newest_compare_rows(&l->row[i], &l->row[child]) <= 0)
            return;
        swap_newest_rows(&l->row[i], &l->row[child]);
    }
}

/* Moves the last row up to its place in the heap. */
static void newest_rows_sift_up(struct newest *l)
{
    for (size_t i = l->n - 1; i > 0 && newest_compare_rows(&l->row[i], &l->row[(i - 1) / 2]) < 0;
         i = (i - 1) / 2)
        swap_newest_rows(&l->row[i], &l->row[(i - 1) / 2]);
}

int newest_rows_add(struct newest *l, const struct newest_row *row)
{
    if (l->n < l->max) {
        if (!GROW(l->row, l->n, l->cap))
            return MI_ENOMEM;
        l->row[l->n++] = *row;
        newest_rows_sift_up(l);
    } else if (l->max > 0 && newest_compare_rows(row, &l->row[0]) > 0) {
        l->row[0] = *row;
        newest_rows_sift_down(l);
    }
    return 0;
}

void newest_rows_sort(struct newest *l)
{
    if (l->n > 1)
        qsort(l->row, l->n, sizeof *l->row, newest_compare_rows);
}
