#include "record/session_facts.h"

static void session_facts_set_field(struct session_facts *l, size_t i, struct cell c)
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

void session_facts_add_update(struct session_facts *l, const struct session_update *u)
{
    for (size_t i = 0; i < fields_of_update.n; i++) {
        struct cell c = field_get(&fields_of_update.list[i], u);
        if (c.type != CELL_NULL)
            session_facts_set_field(l, i, c);
    }
    l->has_update = true;
}

void session_facts_close(struct session_facts *l)
{
    for (size_t i = 0; i < MI_COUNT(l->text); i++)
        buf_close(&l->text[i]);
    *l = (struct session_facts){0};
}
