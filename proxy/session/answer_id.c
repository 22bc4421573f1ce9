#include "proxy/session/answer_id.h"

#include "base/grow.h"
#include "base/log.h"
#include "wire/json/text.h"

#include <stdlib.h>

/* An id in the text, and the id that replaces it. */
struct change {
    struct slice from, to;
};

struct changes {
    struct change *list; /* owned; in the order of the text */
    size_t n, cap;
};

MI_MUST static int look_at(struct traffic *t, enum row_direction dir, const struct rpc *m,
                           struct changes *c)
{
    bool type_changed;
    if (m->kind != RPC_RESULT && m->kind != RPC_ERROR)
        return 0;
    struct pending *p =
        pending_find(&t->open[dir == ROW_C2S ? ROW_S2C : ROW_C2S], m->id, &type_changed);
    if (!type_changed)
        return 0;
    if (!GROW(c->list, c->n, c->cap))
        return MI_ENOMEM;
    c->list[c->n++] = (struct change){m->id.text, p->id};
    return 0;
}

MI_MUST static int look_at_members(struct traffic *t, const struct message *batch,
                                   struct changes *c)
{
    struct json_walk w = json_walk_begin((struct json_value){JSON_ARRAY, batch->m.text});
    struct slice key;
    struct json_value v;
    struct rpc m;
    int st = 0;
    while (st == 0 && json_walk_next(&w, &key, &v))
        if (rpc_read(v.text, &m) == 0)
            st = look_at(t, batch->dir, &m, c);
    return st;
}

static char *put(char *to, const char *from, size_t n)
{
    memcpy(to, from, n);
    return to + n;
}

MI_MUST static int apply(struct message *x, const struct changes *c)
{
    findings found = x->m.findings;
    size_t size = x->text.n;
    for (size_t i = 0; i < c->n; i++)
        size = size - c->list[i].from.n + c->list[i].to.n;
    struct chunk *copy = chunk_new(size + 1);
    if (copy == NULL)
        return MI_ENOMEM;
    char *to = copy->data;
    const char *at = x->text.p;
    for (size_t i = 0; i < c->n; i++) {
        to = put(to, at, (size_t)(c->list[i].from.p - at));
        to = put(to, c->list[i].to.p, c->list[i].to.n);
        at = c->list[i].from.p + c->list[i].from.n;
    }
    put(to, at, (size_t)(x->text.p + x->text.n - at));
    message_close(x);
    x->copy = (struct line){copy->data, size, copy};
    x->line = &x->copy;
    x->text = (struct slice){copy->data, size};
    int st = rpc_read(x->text, &x->m);
    x->m.findings |= found;
    return st;
}

bool answer_id_restore(struct traffic *t, struct message *x)
{
    struct changes c = {0};
    if (t->validate == VALIDATE_NONE)
        return true;
    int st = x->m.kind == RPC_BATCH ? look_at_members(t, x, &c) : look_at(t, x->dir, &x->m, &c);
    if (st == 0 && c.n > 0)
        st = apply(x, &c);
    free(c.list);
    if (st == 0)
        return true;
    log_error("out of memory, closing the connection: server=%s", t->server);
    outbox_break(&t->out[x->dir]);
    return false;
}
