#include "vault/query/tool_list.h"

#include "wire/json/text.h"

struct candidate {
    int64_t id, number, started_at_us;
    char uid[32];
};

struct reading {
    const char *server, *except_uid;
    enum tool_list_from from;
    int64_t before;
    /* true: the session with the id `before` was read: the following sessions are older */
    bool passed;
    struct candidate found[TOOL_LIST_SESSIONS];
    size_t n;
    /* The following members are used while one session is read: */
    struct query *q;
    const char *uid;
    struct tools *tools;
    struct buf body;
};

static bool tool_list_on_session(void *ctx, const struct query_session *s)
{
    struct reading *l = ctx;
    bool older = l->before == 0 || query_session_is_older(l->q, s, l->before, &l->passed);
    if (!older || !slice_is(s->name, l->server) ||
        (l->except_uid != NULL && slice_is(s->uid, l->except_uid)) ||
        (l->from == TOOL_LIST_RECORDED && query_session_is_imported(s)) ||
        s->uid.n >= sizeof l->found[0].uid)
        return true;
    struct candidate *c = &l->found[l->n++];
    *c = (struct candidate){.id = s->id, .number = s->number, .started_at_us = s->started_at_us};
    memcpy(c->uid, s->uid.p, s->uid.n);
    return l->n < TOOL_LIST_SESSIONS;
}

/* Adds a page of the list. Each page continues the list, unless the page before it was the last
 * page of a list. */
static bool tool_list_on_message(void *ctx, const struct query_message *m)
{
    struct reading *l = ctx;
    struct rpc rpc;
    struct slice body = m->body;
    if (m->kind != KIND_RESULT || m->action != ROW_FORWARDED || !m->has_request ||
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
    tools_add_page(l->tools, &rpc, l->tools->next);
    return !tools_are_complete(l->tools);
}

/* Reads the list of one session. MI_ENOENT: the session has no complete list. */
static int tool_list_read_session(struct reading *l, int64_t id, int64_t started_at_us,
                                  const char *uid, struct tool_list *ret)
{
    struct tools tools = {0};
    l->uid = uid;
    l->tools = &tools;
    int st = query_timeline(l->q, id, 1, TOOL_LIST_MESSAGES, tool_list_on_message, NULL, l);
    if (st < 0 || !tools_are_complete(&tools)) {
        tools_close(&tools);
        return st < 0 ? st : MI_ENOENT;
    }
    *ret = (struct tool_list){.tools = tools, .session_id = id, .started_at_us = started_at_us};
    memcpy(ret->uid, uid, size_min(strlen(uid), sizeof ret->uid - 1));
    return 0;
}

int tool_list_read(struct query *q, const char *server, enum tool_list_from from,
                   const char *except_uid, int64_t before, struct tool_list *ret)
{
    struct reading l = {
        .server = server, .except_uid = except_uid, .from = from, .before = before, .q = q};
    struct filter f = FILTER_ANY;
    /* The filter would take a server name with `*`, `?` or `[` as a glob, which may not match the
     * name itself. So tool_list_on_session() compares such a name. */
    f.server = filter_is_glob(server) ? NULL : server;
    int st = query_matching_sessions(q, &f, FILTER_BEGAN, 0, tool_list_on_session, &l);
    bool found = false;
    for (size_t i = 0; st == 0 && !found && i < l.n; i++) {
        const struct candidate *c = &l.found[i];
        st = tool_list_read_session(&l, c->id, c->started_at_us, c->uid, ret);
        found = st == 0;
        if (found)
            ret->number = c->number;
        if (st == MI_ENOENT)
            st = 0;
    }
    buf_close(&l.body);
    return st < 0 || found ? st : MI_ENOENT;
}

int tool_list_load_session(struct query *q, const struct query_session *s, struct tool_list *ret)
{
    struct reading l = {.q = q};
    int64_t number = s->number;
    char uid[sizeof ret->uid] = {0};
    memcpy(uid, s->uid.p, size_min(s->uid.n, sizeof uid - 1));
    int st = tool_list_read_session(&l, s->id, s->started_at_us, uid, ret);
    if (st == 0)
        ret->number = number;
    buf_close(&l.body);
    return st;
}

void tool_list_close(struct tool_list *l)
{
    tools_close(&l->tools);
    *l = (struct tool_list){0};
}
