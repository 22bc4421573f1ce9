#include "vault/backlog.h"

#include <stdlib.h>

void backlog_open(struct backlog *b)
{
    *b = (struct backlog){.last = &b->first};
}

void backlog_close(struct backlog *b)
{
    while (b->first != NULL)
        backlog_drop_first(b);
}

static struct slice move_slice(char **to, struct slice s)
{
    if (s.p == NULL)
        return s;
    memcpy(*to, s.p, s.n);
    struct slice moved = {*to, s.n};
    *to += s.n;
    return moved;
}

size_t backlog_cost(const struct row *row)
{
    return sizeof(struct backlog_row) + row->rpc_id.n + row->method.n + row->target.n + row->body.n;
}

bool backlog_add(struct backlog *b, const struct row *row, size_t limit)
{
    size_t cost = backlog_cost(row);
    if (b->bytes >= limit || cost > limit - b->bytes)
        return false;
    struct backlog_row *w = malloc(cost);
    if (w == NULL)
        return false;
    *w = (struct backlog_row){.cost = cost, .row = *row};
    char *to = w->data;
    w->row.rpc_id = move_slice(&to, row->rpc_id);
    w->row.method = move_slice(&to, row->method);
    w->row.target = move_slice(&to, row->target);
    w->row.body = move_slice(&to, row->body);
    w->row.hold = NULL;
    *b->last = w;
    b->last = &w->next;
    b->bytes += cost;
    return true;
}

void backlog_drop_first(struct backlog *b)
{
    struct backlog_row *w = b->first;
    b->first = w->next;
    if (b->first == NULL)
        b->last = &b->first;
    b->bytes -= w->cost;
    free(w);
}

uint64_t backlog_count(const struct backlog *b)
{
    uint64_t n = 0;
    for (const struct backlog_row *w = b->first; w != NULL; w = w->next)
        n++;
    return n;
}
