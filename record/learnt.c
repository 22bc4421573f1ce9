#include "record/learnt.h"

static void learnt_set_field(struct learnt *l, size_t i, struct cell c)
{
    struct buf b = {0};
    if (c.type == CELL_TEXT) {
        buf_slice_add(&b, c.text);
        if (b.failed) {
            buf_close(&b);
            return;
        }
        buf_close(&l->text[i]);
        l->text[i] = b;
        c.text = buf_slice(&l->text[i]);
    }
    field_set(&fields_of_update.list[i], &l->update, c);
}

void learnt_add_update(struct learnt *l, const struct session_update *u)
{
    for (size_t i = 0; i < fields_of_update.n; i++) {
        struct cell c = field_get(&fields_of_update.list[i], u);
        if (c.type != CELL_NULL)
            learnt_set_field(l, i, c);
    }
    l->has_update = true;
}

void learnt_close(struct learnt *l)
{
    for (size_t i = 0; i < MI_COUNT(l->text); i++)
        buf_close(&l->text[i]);
    *l = (struct learnt){0};
}
