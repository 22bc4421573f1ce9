#include "record/learnt.h"

static void add_text(struct buf *copy, struct slice *member, struct slice text)
{
    struct buf b = {0};
    if (text.p == NULL)
        return;
    buf_slice_add(&b, text);
    if (b.failed) {
        buf_close(&b);
        return;
    }
    buf_close(copy);
    *copy = b;
    *member = buf_slice(copy);
}

void learnt_add(struct learnt *l, const struct session_update *u)
{
    struct session_update *to = &l->update;
    add_text(&l->text[0], &to->client_name, u->client_name);
    add_text(&l->text[1], &to->client_version, u->client_version);
    add_text(&l->text[2], &to->server_name, u->server_name);
    add_text(&l->text[3], &to->server_version, u->server_version);
    add_text(&l->text[4], &to->protocol_version, u->protocol_version);
    add_text(&l->text[5], &to->end_reason, u->end_reason);
    if (u->has_exit_status) {
        to->has_exit_status = true;
        to->exit_status = u->exit_status;
    }
    if (u->ended_at_us != 0)
        to->ended_at_us = u->ended_at_us;
    l->has_update = true;
}

void learnt_close(struct learnt *l)
{
    for (size_t i = 0; i < MI_COUNT(l->text); i++)
        buf_close(&l->text[i]);
    *l = (struct learnt){0};
}
