#include "cli/wrap/edits.h"

#include <stdlib.h>

void edits_close(struct edits *e)
{
    buf_close(&e->text);
    e->n = 0;
}

bool edits_begin_replacement(struct edits *e, size_t at, size_t del)
{
    if (e->n == EDITS_MAX)
        return false;
    e->edit[e->n++] = (struct edit){at, del, e->text.n, 0};
    return true;
}

void edits_end_replacement(struct edits *e)
{
    struct edit *last = &e->edit[e->n - 1];
    last->n = e->text.n - last->put;
}

static int compare_edit_places(const void *a, const void *b)
{
    const struct edit *x = a;
    const struct edit *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

void edits_apply_in_range(const struct edits *e, struct slice old, size_t from, size_t to,
                          struct buf *b)
{
    for (size_t i = 0; i < e->n; i++) {
        const struct edit *edit = &e->edit[i];
        if (edit->at < from || edit->at + edit->del > to)
            continue;
        buf_add(b, old.p + from, edit->at - from);
        if (edit->n > 0)
            buf_add(b, e->text.p + edit->put, edit->n);
        from = edit->at + edit->del;
    }
    buf_add(b, old.p + from, to - from);
}

void edits_apply(struct edits *e, struct slice old, struct buf *b)
{
    qsort(e->edit, e->n, sizeof *e->edit, compare_edit_places);
    if (!e->text.failed)
        edits_apply_in_range(e, old, 0, old.n, b);
    b->failed |= e->text.failed;
}
