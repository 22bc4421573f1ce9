#include "replay/verify/state.h"

#include "base/grow.h"
#include "base/search.h"
#include "wire/json/text.h"

#include <stdlib.h>

int verify_no_memory(struct verify *v)
{
    buf_clear(v->error);
    buf_adds(v->error, "out of memory");
    return MI_ENOMEM;
}

void verify_close(struct verify *v)
{
    free(v->items);
    free(v->handles);
    free(v->tools);
    buf_close(&v->text);
    buf_close(&v->request);
    buf_close(&v->recorded);
    buf_close(&v->line);
    buf_close(&v->shown);
    buf_close(&v->other);
}

static int fail_source(struct verify *v, int st)
{
    buf_clear(v->error);
    buf_adds(v->error, st == MI_ENOMEM ? "out of memory" : source_error(v->source));
    return st;
}

/* ---- the recording ---- */

static uint32_t find_item(const struct verify *v, int64_t place)
{
    size_t at = SEARCH_INT64(v->items, v->n, place, place);
    return at < v->n && v->items[at].place == place ? (uint32_t)at : VERIFY_NONE;
}

static int add_item(struct verify *v, const struct source_message *m)
{
    if (v->n == VERIFY_NONE - 1 || !GROW(v->items, v->n, v->cap))
        return verify_no_memory(v);
    bool answers = m->kind == RPC_RESULT || m->kind == RPC_ERROR;
    uint32_t asked = answers ? find_item(v, (int64_t)m->request_place) : VERIFY_NONE;
    if (asked != VERIFY_NONE && v->items[asked].answer == VERIFY_NONE)
        v->items[asked].answer = v->n;
    v->items[v->n++] = (struct verify_item){.place = (int64_t)m->place,
                                            .answer = VERIFY_NONE,
                                            .kind = (uint8_t)m->kind,
                                            .from_client = m->from_client,
                                            .lost = m->lost};
    return 0;
}

int verify_body(struct verify *v, uint32_t item, struct buf *b)
{
    buf_clear(b);
    int st = source_body(v->source, (uint64_t)v->items[item].place, b);
    return st < 0 ? fail_source(v, st) : b->failed ? verify_no_memory(v) : 0;
}

/* The tools of the recorded server. */
static int learn_recorded_tools(struct verify *v)
{
    for (uint32_t i = 0; i < v->n; i++) {
        const struct verify_item *it = &v->items[i];
        struct rpc m;
        if (it->kind != RPC_REQUEST || !it->from_client || it->lost || it->answer == VERIFY_NONE ||
            v->items[it->answer].kind != RPC_RESULT || v->items[it->answer].lost)
            continue;
        int st = verify_body(v, i, &v->request);
        if (st < 0)
            return st;
        if (rpc_read(buf_slice(&v->request), &m) < 0 || !rpc_method_is(&m, "tools/list"))
            continue;
        st = verify_body(v, it->answer, &v->recorded);
        if (st == 0 && rpc_read(buf_slice(&v->recorded), &m) == 0)
            st = verify_learn_tools(v, m.result, false);
        if (st < 0)
            return st;
    }
    return 0;
}

int verify_load(struct verify *v)
{
    struct source_message m;
    int st;
    while ((st = source_next(v->source, &m)) == 0) {
        st = add_item(v, &m);
        if (st < 0)
            return st;
    }
    return st == MI_ENOENT ? learn_recorded_tools(v) : fail_source(v, st);
}

/* ---- handles ---- */

static struct slice text_at(const struct verify *v, size_t at, size_t n)
{
    return (struct slice){v->text.p + at, n};
}

/* The handle of the other server, or the same text when it is not a handle. Between the quotes. */
static struct slice handle_of(const struct verify *v, struct slice raw, bool to_live)
{
    for (size_t i = v->handles_n; i > 0; i--) { /* the newest first */
        const struct verify_handle *h = &v->handles[i - 1];
        struct slice recorded = text_at(v, h->recorded_at, h->recorded_n);
        struct slice live = text_at(v, h->live_at, h->live_n);
        if (slice_eq(raw, to_live ? recorded : live))
            return to_live ? live : recorded;
    }
    return raw;
}

static int learn_handle(struct verify *v, struct json_value recorded, struct json_value live)
{
    struct slice a = json_string_raw(recorded), b = json_string_raw(live);
    if (a.p == NULL || b.p == NULL || slice_eq(handle_of(v, a, true), b))
        return 0;
    struct verify_handle *more = realloc(v->handles, (v->handles_n + 1) * sizeof *more);
    if (more == NULL)
        return verify_no_memory(v);
    v->handles = more;
    struct verify_handle h = {.recorded_at = v->text.n, .recorded_n = a.n};
    buf_slice_add(&v->text, a);
    h.live_at = v->text.n;
    h.live_n = b.n;
    buf_slice_add(&v->text, b);
    if (v->text.failed)
        return verify_no_memory(v);
    v->handles[v->handles_n++] = h;
    return 0;
}

int verify_learn_handles(struct verify *v, struct json_value recorded, struct json_value live)
{
    static const char *const names[] = {"nextCursor", "requestState", "taskId"};
    int st = 0;
    for (size_t i = 0; st == 0 && i < MI_COUNT(names); i++)
        st = learn_handle(v, json_get(recorded, names[i]), json_get(live, names[i]));
    if (st == 0)
        st = learn_handle(v, json_get(json_get(recorded, "task"), "taskId"),
                          json_get(json_get(live, "task"), "taskId"));
    return st;
}

/* ---- tools ---- */

static struct slice resolve(struct buf *b, struct slice raw)
{
    buf_clear(b);
    json_unescape(b, raw);
    return buf_slice(b);
}

static struct verify_tool *find_tool(const struct verify *v, struct slice name)
{
    for (size_t i = 0; i < v->tools_n; i++)
        if (slice_eq(text_at(v, v->tools[i].name_at, v->tools[i].name_n), name))
            return &v->tools[i];
    return NULL;
}

const struct verify_tool *verify_tool(const struct verify *v, struct slice raw_name)
{
    struct buf b = {0};
    const struct verify_tool *t = raw_name.p != NULL ? find_tool(v, resolve(&b, raw_name)) : NULL;
    buf_close(&b);
    return t;
}

static int learn_tool(struct verify *v, struct json_value tool, bool live)
{
    struct json_value notes = json_get(tool, "annotations");
    struct slice raw = json_string_raw(json_get(tool, "name"));
    if (raw.p == NULL)
        return 0;
    struct verify_tool *t = find_tool(v, resolve(&v->other, raw));
    if (t == NULL) {
        struct verify_tool *more = realloc(v->tools, (v->tools_n + 1) * sizeof *more);
        if (more == NULL)
            return verify_no_memory(v);
        v->tools = more;
        t = &v->tools[v->tools_n++];
        *t = (struct verify_tool){.name_at = v->text.n, .name_n = v->other.n};
        buf_slice_add(&v->text, buf_slice(&v->other));
    }
    t->safe = json_get(notes, "readOnlyHint").type == JSON_TRUE ||
              json_get(notes, "idempotentHint").type == JSON_TRUE;
    t->live = live;
    return v->text.failed || v->other.failed ? verify_no_memory(v) : 0;
}

int verify_learn_tools(struct verify *v, struct json_value result, bool live)
{
    struct json_value list = json_get(result, "tools");
    struct json_walk w = json_walk_begin(list);
    struct slice key;
    struct json_value tool;
    int st = 0;
    if (list.type != JSON_ARRAY)
        return 0;
    while (st == 0 && json_walk_next(&w, &key, &tool))
        st = learn_tool(v, tool, live);
    if (live && json_get(result, "nextCursor").type != JSON_STRING)
        v->knows_live_tools = true;
    return st;
}

/* ---- rewriting ---- */

#define EDITS_MAX 8

struct edit {
    struct slice at, with; /* `at` is a part of the message */
};

static void add_edit(struct edit *edits, size_t *n, struct slice at, struct slice with)
{
    if (at.p == NULL || with.p == at.p || *n == EDITS_MAX)
        return;
    size_t i = (*n)++;
    for (; i > 0 && edits[i - 1].at.p > at.p; i--)
        edits[i] = edits[i - 1];
    edits[i] = (struct edit){at, with};
}

int verify_rewrite(struct verify *v, const struct rpc *m, struct slice id, bool to_live,
                   struct buf *out)
{
    static const char *const names[] = {"cursor", "nextCursor", "requestState", "taskId"};
    struct json_value inside =
        m->kind == RPC_REQUEST || m->kind == RPC_NOTIFICATION ? m->params : m->result;
    struct edit edits[EDITS_MAX];
    size_t n = 0;
    if (m->id.type != JSON_NONE)
        add_edit(edits, &n, m->id.text, id);
    for (size_t i = 0; i < MI_COUNT(names); i++) {
        struct slice raw = json_string_raw(json_get(inside, names[i]));
        if (raw.p != NULL)
            add_edit(edits, &n, raw, handle_of(v, raw, to_live));
    }
    struct slice task = json_string_raw(json_get(json_get(inside, "task"), "taskId"));
    if (task.p != NULL)
        add_edit(edits, &n, task, handle_of(v, task, to_live));
    buf_clear(out);
    const char *p = m->text.p;
    for (size_t i = 0; i < n; i++) {
        buf_add(out, p, (size_t)(edits[i].at.p - p));
        buf_slice_add(out, edits[i].with);
        p = edits[i].at.p + edits[i].at.n;
    }
    buf_add(out, p, (size_t)(m->text.p + m->text.n - p));
    return out->failed ? verify_no_memory(v) : 0;
}
