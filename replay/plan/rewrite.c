#include "replay/plan/rewrite.h"

#include "wire/json/text.h"
#include "wire/rpc.h"

/* Returns the id of the task that a message names in its params, or in the related-task member of
 * its `_meta`. */
static struct json_value find_task_id_in_message(const struct rpc *m)
{
    struct json_value id = json_get(m->params, "taskId");
    if (id.type == JSON_NONE)
        id = json_get(json_get(m->meta, META_RELATED_TASK), "taskId");
    return id;
}

static struct json_value subscription_id_in_message(const struct rpc *m)
{
    struct json_value meta = m->meta;
    if (meta.type == JSON_NONE)
        meta = json_get(m->result, "_meta");
    return json_get(meta, META_SUBSCRIPTION);
}

static struct json_value find_value_to_rewrite(const struct rpc *m, enum rewrite_what what)
{
    switch (what) {
    case REWRITE_ID:
        return m->id;
    case REWRITE_TOKEN:
        return json_get(m->params, "progressToken");
    case REWRITE_SUBSCRIPTION:
        return subscription_id_in_message(m);
    case REWRITE_REQUEST_ID:
        return json_get(m->params, "requestId");
    case REWRITE_TASK:
        return find_task_id_in_message(m);
    default:
        return (struct json_value){0};
    }
}

struct json_value message_get_value_to_rewrite(struct slice message, enum rewrite_what what)
{
    struct rpc m;
    if (rpc_read(message, &m) < 0)
        return (struct json_value){0};
    return find_value_to_rewrite(&m, what);
}

struct splice {
    struct slice out, in;
};

int rewrite_message(struct buf *b, struct slice recorded, const struct slice with[REWRITE_COUNT])
{
    struct rpc m;
    if (rpc_read(recorded, &m) < 0 || m.kind == RPC_INVALID || m.kind == RPC_BATCH)
        return MI_EPROTO;
    struct splice s[REWRITE_COUNT];
    size_t n = 0;
    for (int what = 0; what < REWRITE_COUNT; what++) {
        if (with[what].p == NULL)
            continue;
        struct json_value v = find_value_to_rewrite(&m, (enum rewrite_what)what);
        if (v.type == JSON_NONE && what == REWRITE_ID)
            return MI_ENOENT;
        if (v.type == JSON_NONE)
            continue;
        size_t i = n++; /* insertion sort by position; the ranges to replace never overlap */
        for (; i > 0 && s[i - 1].out.p > v.text.p; i--)
            s[i] = s[i - 1];
        s[i] = (struct splice){v.text, with[what]};
    }
    size_t before = b->n;
    const char *at = m.text.p;
    for (size_t i = 0; i < n; i++) {
        buf_add(b, at, (size_t)(s[i].out.p - at));
        buf_slice_add(b, s[i].in);
        at = s[i].out.p + s[i].out.n;
    }
    buf_add(b, at, (size_t)(m.text.p + m.text.n - at));
    if (!b->failed)
        return 0;
    b->n = before;
    return MI_ENOMEM;
}
