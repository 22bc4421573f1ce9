#include "ship/otlp/session_walk.h"

#include "base/grow.h"
#include "base/search.h"

#include <stdlib.h>

struct walk *session_walks_find(const struct walks *w, int64_t id)
{
    size_t at = SEARCH_INT64(w->list, w->n, id, id);
    return at < w->n && w->list[at].id == id ? &w->list[at] : NULL;
}

struct walk *session_walks_add(struct walks *w, int64_t id)
{
    if (!GROW(w->list, w->n, w->cap))
        return NULL;
    size_t at = SEARCH_INT64(w->list, w->n, id, id);
    memmove(&w->list[at + 1], &w->list[at], (w->n - at) * sizeof *w->list);
    w->n++;
    w->list[at] = (struct walk){.id = id, .saved = true};
    return &w->list[at];
}

void session_walks_remove(struct walks *w, int64_t id)
{
    struct walk *gone = session_walks_find(w, id);
    if (gone == NULL)
        return;
    gone->complete = gone->saved = true;
    session_walks_drop_saved(w, false);
}

void session_walks_drop_saved(struct walks *w, bool all)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++) {
        if (all || (w->list[i].complete && w->list[i].saved))
            free(w->list[i].open);
        else
            w->list[n++] = w->list[i];
    }
    w->n = n;
    if (!all)
        return;
    free(w->list);
    *w = (struct walks){0};
}

static void remove_open_call(struct walk *w, size_t at)
{
    memmove(&w->open[at], &w->open[at + 1], (w->open_n - at - 1) * sizeof *w->open);
    w->open_n--;
}

static void close_call(struct walk *w, const struct query_message *m, int64_t *ret_call)
{
    size_t at = SEARCH_INT64(w->open, w->open_n, seq, m->request_seq);
    if (at == w->open_n || w->open[at].seq != m->request_seq)
        return;
    bool same_side = (m->direction == ROW_S2C) == w->open[at].from_server;
    bool answers = (m->kind == KIND_RESULT || m->kind == KIND_ERROR) && !same_side;
    bool cancels = m->kind == KIND_NOTIFICATION && same_side;
    if (!answers && !cancels)
        return;
    *ret_call = m->request_seq;
    remove_open_call(w, at);
}

int walk_update_open_calls(struct walk *w, const struct query_message *m, int64_t *ret_call)
{
    *ret_call = 0;
    if (m->kind == KIND_REQUEST && m->origin == ROW_PEER) {
        if (!GROW(w->open, w->open_n, w->open_cap))
            return MI_ENOMEM;
        w->open[w->open_n++] = (struct open_call){m->seq, m->direction == ROW_S2C};
    } else if (m->request_seq != 0 && m->action == ROW_FORWARDED) {
        close_call(w, m, ret_call);
    }
    w->seq = m->seq;
    w->t_us = m->t_us;
    return 0;
}

int64_t walk_remove_first_open_call(struct walk *w)
{
    if (w->open_n == 0)
        return 0;
    int64_t seq = w->open[0].seq;
    remove_open_call(w, 0);
    return seq;
}
