#include "replay/live/live_session.h"

#include "base/grow.h"
#include "base/search.h"
#include "wire/json/text.h"
#include "wire/mcp/method.h"

#include <stdlib.h>

int live_session_set_no_memory_error(struct live_session *t)
{
    buf_clear(t->error);
    buf_adds(t->error, "out of memory");
    return MI_ENOMEM;
}

void live_session_close(struct live_session *t)
{
    free(t->items);
    free(t->handles);
    free(t->tools);
    buf_close(&t->text);
    buf_close(&t->request);
    buf_close(&t->recorded);
    buf_close(&t->line);
    buf_close(&t->other);
    buf_close(&t->mended);
}

static int live_session_set_source_error(struct live_session *t, int st)
{
    buf_clear(t->error);
    buf_adds(t->error, st == MI_ENOMEM ? "out of memory" : source_error(t->source));
    return st;
}

/* ---- the recording ---- */

static int add_recorded_message(struct live_session *t, const struct source_message *m)
{
    if (t->n == LIVE_SESSION_NONE - 1 || !GROW(t->items, t->n, t->cap))
        return live_session_set_no_memory_error(t);
    if (m->kind == RPC_RESULT || m->kind == RPC_ERROR) {
        int64_t asked = (int64_t)m->request_place;
        size_t at = SEARCH_INT64(t->items, t->n, place, asked);
        if (at < t->n && t->items[at].place == asked && t->items[at].answer == LIVE_SESSION_NONE)
            t->items[at].answer = t->n;
    }
    t->items[t->n++] = (struct recorded_message){.place = (int64_t)m->place,
                                                 .answer = LIVE_SESSION_NONE,
                                                 .kind = (uint8_t)m->kind,
                                                 .from_client = m->from_client,
                                                 .lost = m->lost};
    return 0;
}

int live_session_read_recorded_body(struct live_session *t, uint32_t item, struct buf *b)
{
    buf_clear(b);
    int st = source_read_body(t->source, (uint64_t)t->items[item].place, b);
    return st < 0      ? live_session_set_source_error(t, st)
           : b->failed ? live_session_set_no_memory_error(t)
                       : 0;
}

/* Collects the tools of the recorded server. */
static int add_recorded_tools(struct live_session *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        const struct recorded_message *it = &t->items[i];
        struct rpc m;
        if (it->kind != RPC_REQUEST || !it->from_client || it->lost ||
            it->answer == LIVE_SESSION_NONE || t->items[it->answer].kind != RPC_RESULT ||
            t->items[it->answer].lost)
            continue;
        int st = live_session_read_recorded_body(t, i, &t->request);
        if (st < 0)
            return st;
        if (rpc_read(buf_slice(&t->request), &m) < 0 || !rpc_method_is(&m, "tools/list"))
            continue;
        st = live_session_read_recorded_body(t, it->answer, &t->recorded);
        if (st == 0 && rpc_read(buf_slice(&t->recorded), &m) == 0)
            st = live_session_add_tools(t, m.result, false);
        if (st < 0)
            return st;
    }
    return 0;
}

int live_session_load_recording(struct live_session *t)
{
    struct source_message m;
    int st = MI_ENOENT;
    while (t->source != NULL && (st = source_read_next_message(t->source, &m)) == 0) {
        st = add_recorded_message(t, &m);
        if (st < 0)
            return st;
    }
    return st == MI_ENOENT ? add_recorded_tools(t) : live_session_set_source_error(t, st);
}

/* ---- handles ---- */

static struct slice live_session_get_text_at(const struct live_session *t, size_t at, size_t n)
{
    return (struct slice){t->text.p + at, n};
}

/* Returns the other server's handle that corresponds to this handle, without quotes; text that is
 * not a handle is returned unchanged. */
static struct slice find_handle_of_other_server(const struct live_session *t, struct slice raw,
                                                bool to_live)
{
    for (size_t i = t->handles_n; i > 0; i--) { /* search from the newest handle to the oldest */
        const struct live_session_handle *h = &t->handles[i - 1];
        struct slice recorded = live_session_get_text_at(t, h->recorded_at, h->recorded_n);
        struct slice live = live_session_get_text_at(t, h->live_at, h->live_n);
        if (slice_eq(raw, to_live ? recorded : live))
            return to_live ? live : recorded;
    }
    return raw;
}

static int add_recorded_and_live_handle(struct live_session *t, struct json_value recorded,
                                        struct json_value live)
{
    struct slice a = json_string_raw(recorded), b = json_string_raw(live);
    if (a.p == NULL || b.p == NULL || slice_eq(find_handle_of_other_server(t, a, true), b))
        return 0;
    struct live_session_handle *more = realloc(t->handles, (t->handles_n + 1) * sizeof *more);
    if (more == NULL)
        return live_session_set_no_memory_error(t);
    t->handles = more;
    struct live_session_handle h = {.recorded_at = t->text.n, .recorded_n = a.n};
    buf_slice_add(&t->text, a);
    h.live_at = t->text.n;
    h.live_n = b.n;
    buf_slice_add(&t->text, b);
    if (t->text.failed)
        return live_session_set_no_memory_error(t);
    t->handles[t->handles_n++] = h;
    return 0;
}

int live_session_add_handles(struct live_session *t, struct json_value recorded,
                             struct json_value live)
{
    static const char *const names[] = {"nextCursor", "requestState", "taskId"};
    int st = 0;
    for (size_t i = 0; st == 0 && i < MI_COUNT(names); i++)
        st =
            add_recorded_and_live_handle(t, json_get(recorded, names[i]), json_get(live, names[i]));
    if (st == 0)
        st = add_recorded_and_live_handle(t, json_get(json_get(recorded, "task"), "taskId"),
                                          json_get(json_get(live, "task"), "taskId"));
    return st;
}

/* ---- tools ---- */

bool live_session_request_is_harmless(const struct rpc *m)
{
    static const char *const harmless[] = {"initialize",          "ping",
                                           "server/discover",     "logging/setLevel",
                                           "resources/subscribe", "resources/unsubscribe"};
    for (size_t i = 0; i < MI_COUNT(harmless); i++)
        if (rpc_method_is(m, harmless[i]))
            return true;
    return (method_flags(m->method) & METHOD_READS) != 0;
}

static struct slice live_session_unescape_string(struct buf *b, struct slice raw)
{
    buf_clear(b);
    json_unescape(b, raw);
    return buf_slice(b);
}

static struct live_session_tool *find_tool_by_name(const struct live_session *t, struct slice name)
{
    for (size_t i = 0; i < t->tools_n; i++)
        if (slice_eq(live_session_get_text_at(t, t->tools[i].name_at, t->tools[i].name_n), name))
            return &t->tools[i];
    return NULL;
}

const struct live_session_tool *live_session_find_tool(const struct live_session *t,
                                                       struct slice raw_name)
{
    struct buf b = {0};
    const struct live_session_tool *tool =
        raw_name.p != NULL ? find_tool_by_name(t, live_session_unescape_string(&b, raw_name))
                           : NULL;
    buf_close(&b);
    return tool;
}

static int add_listed_tool(struct live_session *t, struct json_value tool, bool live)
{
    struct json_value notes = json_get(tool, "annotations");
    struct slice raw = json_string_raw(json_get(tool, "name"));
    if (raw.p == NULL)
        return 0;
    struct live_session_tool *known =
        find_tool_by_name(t, live_session_unescape_string(&t->other, raw));
    if (known == NULL) {
        struct live_session_tool *more = realloc(t->tools, (t->tools_n + 1) * sizeof *more);
        if (more == NULL)
            return live_session_set_no_memory_error(t);
        t->tools = more;
        known = &t->tools[t->tools_n++];
        *known = (struct live_session_tool){.name_at = t->text.n, .name_n = t->other.n};
        buf_slice_add(&t->text, buf_slice(&t->other));
    }
    known->reads_only = json_get(notes, "readOnlyHint").type == JSON_TRUE;
    known->safe = known->reads_only || json_get(notes, "idempotentHint").type == JSON_TRUE;
    known->live = live;
    return t->text.failed || t->other.failed ? live_session_set_no_memory_error(t) : 0;
}

int live_session_add_tools(struct live_session *t, struct json_value result, bool live)
{
    struct json_value list = json_get(result, "tools");
    struct json_walk w = json_walk_begin(list);
    struct slice key;
    struct json_value tool;
    int st = 0;
    if (list.type != JSON_ARRAY)
        return 0;
    while (st == 0 && json_walk_next(&w, &key, &tool))
        st = add_listed_tool(t, tool, live);
    if (live && json_get(result, "nextCursor").type != JSON_STRING)
        t->knows_live_tools = true;
    return st;
}

/* ---- rewriting ---- */

#define EDITS_MAX 8

struct edit {
    struct slice at, with; /* in a message, the text `with` will replace the range `at` */
};

static void insert_edit_by_position(struct edit *edits, size_t *n, struct slice at,
                                    struct slice with)
{
    if (at.p == NULL || with.p == at.p || *n == EDITS_MAX)
        return;
    size_t i = (*n)++;
    for (; i > 0 && edits[i - 1].at.p > at.p; i--)
        edits[i] = edits[i - 1];
    edits[i] = (struct edit){at, with};
}

int live_session_rewrite_message(struct live_session *t, const struct rpc *m, struct slice id,
                                 bool to_live, struct buf *out)
{
    static const char *const names[] = {"cursor", "nextCursor", "requestState", "taskId"};
    struct json_value inside =
        m->kind == RPC_REQUEST || m->kind == RPC_NOTIFICATION ? m->params : m->result;
    struct edit edits[EDITS_MAX];
    size_t n = 0;
    if (m->id.type != JSON_NONE)
        insert_edit_by_position(edits, &n, m->id.text, id);
    for (size_t i = 0; i < MI_COUNT(names); i++) {
        struct slice raw = json_string_raw(json_get(inside, names[i]));
        if (raw.p != NULL)
            insert_edit_by_position(edits, &n, raw, find_handle_of_other_server(t, raw, to_live));
    }
    struct slice task = json_string_raw(json_get(json_get(inside, "task"), "taskId"));
    if (task.p != NULL)
        insert_edit_by_position(edits, &n, task, find_handle_of_other_server(t, task, to_live));
    buf_clear(out);
    const char *p = m->text.p;
    for (size_t i = 0; i < n; i++) {
        buf_add(out, p, (size_t)(edits[i].at.p - p));
        buf_slice_add(out, edits[i].with);
        p = edits[i].at.p + edits[i].at.n;
    }
    buf_add(out, p, (size_t)(m->text.p + m->text.n - p));
    return out->failed ? live_session_set_no_memory_error(t) : 0;
}
