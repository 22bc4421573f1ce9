#include "vault/toollist.h"

#include "vault/keep.h"
#include "wire/json_text.h"

#define SESSIONS_READ 2000 /* newest first; others may have run many servers since */

/* ---- reading -------------------------------------------------------------------------------- */

struct candidate {
    int64_t id, started_at_us;
    char uid[32];
};

struct looking {
    const char *server, *but_uid;
    int64_t before;
    struct candidate found[TOOLLIST_SESSIONS];
    size_t n;
    /* of one session: */
    struct query *q;
    const char *uid;
    struct tools *tools;
    struct buf body;
    int status;
};

static bool on_session(void *ctx, const struct query_session *s)
{
    struct looking *l = ctx;
    if (!slice_is(s->name, l->server) || (l->before != 0 && s->id >= l->before) ||
        (l->but_uid != NULL && slice_is(s->uid, l->but_uid)) || s->uid.n >= sizeof l->found[0].uid)
        return true;
    struct candidate *c = &l->found[l->n++];
    *c = (struct candidate){.id = s->id, .started_at_us = s->started_at_us};
    memcpy(c->uid, s->uid.p, s->uid.n);
    return l->n < TOOLLIST_SESSIONS;
}

/* Pages follow each other: the next one after a page that is not the last belongs to it. */
static bool on_message(void *ctx, const struct query_message *m)
{
    struct looking *l = ctx;
    struct rpc rpc;
    struct slice body = m->body;
    if (!slice_is(m->kind, "result") || !slice_is(m->action, "forwarded") || !m->has_request ||
        !slice_is(m->request_method, "tools/list"))
        return true;
    if (m->is_large) {
        buf_clear(&l->body);
        if (query_body(l->q, slice_of(l->uid), m, TOOLS_BYTES_MAX, &l->body) < 0)
            return true;
        body = buf_slice(&l->body);
    }
    if (body.p == NULL || rpc_read(body, &rpc) < 0 || rpc.kind != RPC_RESULT)
        return true;
    tools_page(l->tools, &rpc, l->tools->next);
    return !tools_whole(l->tools);
}

int toollist_read(struct query *q, const char *server, const char *but_uid, int64_t before,
                  struct toollist *ret)
{
    struct looking l = {.server = server, .but_uid = but_uid, .before = before, .q = q};
    struct tools tools = {0};
    int st = query_sessions(q, SESSIONS_READ, on_session, &l);
    l.tools = &tools;
    for (size_t i = 0; st == 0 && i < l.n; i++) {
        const struct candidate *c = &l.found[i];
        l.uid = c->uid;
        st = query_timeline(q, c->id, 1, TOOLLIST_MESSAGES, on_message, NULL, &l);
        if (st == 0 && tools_whole(&tools)) {
            *ret = (struct toollist){
                .tools = tools, .session_id = c->id, .started_at_us = c->started_at_us};
            memcpy(ret->uid, c->uid, sizeof ret->uid);
            buf_close(&l.body);
            return 0;
        }
        tools_forget(&tools);
    }
    tools_close(&tools);
    buf_close(&l.body);
    return st < 0 ? st : MI_ENOENT;
}

void toollist_close(struct toollist *l)
{
    tools_close(&l->tools);
    *l = (struct toollist){0};
}

/* ---- comparing ------------------------------------------------------------------------------ */

const char *toollist_change_name(enum toollist_change c)
{
    static const char *const names[] = {
        [TOOLLIST_NEW] = "new", [TOOLLIST_CHANGED] = "changed", [TOOLLIST_GONE] = "gone"};
    return names[c];
}

static bool same(const struct tool *a, const struct tool *b, bool live, struct keep *keep)
{
    struct json_value x = {JSON_OBJECT, a->text}, y = {JSON_OBJECT, b->text};
    if (json_equal(x, y))
        return true;
    if (!live || keep_json(keep, y.text, &y.text) < 0)
        return false;
    return json_equal(x, y);
}

static int by_name(struct slice a, struct slice b)
{
    size_t n = size_min(a.n, b.n);
    int c = n > 0 ? memcmp(a.p, b.p, n) : 0;
    return c != 0 ? c : (a.n > b.n) - (a.n < b.n);
}

size_t toollist_compare(const struct tools *before, const struct tools *now, bool live,
                        toollist_fn fn, void *ctx)
{
    struct keep keep = {.level = KEEP_FULL};
    size_t i = 0, k = 0, n = 0;
    while (i < before->n || k < now->n) {
        const struct tool *a = i < before->n ? &before->tool[i] : NULL;
        const struct tool *b = k < now->n ? &now->tool[k] : NULL;
        int c = a != NULL && b != NULL ? by_name(a->name, b->name) : 0;
        enum toollist_change change = TOOLLIST_CHANGED;
        if (b == NULL || c < 0) {
            change = TOOLLIST_GONE;
            b = NULL;
        } else if (a == NULL || c > 0) {
            change = TOOLLIST_NEW;
            a = NULL;
        }
        i += a != NULL;
        k += b != NULL;
        if (a != NULL && b != NULL && same(a, b, live, &keep))
            continue;
        n++;
        if (fn != NULL)
            fn(ctx, change, b != NULL ? b->name : a != NULL ? a->name : (struct slice){0}, a, b);
    }
    keep_close(&keep);
    return n;
}
