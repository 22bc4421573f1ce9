#include "vault/query/cost_lists.h"

#include "base/grow.h"
#include "model/context.h"
#include "vault/query/tool_list.h"
#include "wire/json/text.h"
#include "wire/mcp/tool_rule.h"
#include "wire/rpc_id.h"
#include "wire/schema/tools.h"

enum { LIST_TOOLS, LIST_PROMPTS, LIST_RESOURCES, LIST_TEMPLATES, LISTS };

static const struct {
    const char *method, *member;
} lists[LISTS] = {[LIST_TOOLS] = {"tools/list", "tools"},
                  [LIST_PROMPTS] = {"prompts/list", "prompts"},
                  [LIST_RESOURCES] = {"resources/list", "resources"},
                  [LIST_TEMPLATES] = {"resources/templates/list", "resourceTemplates"}};

#define REQUESTS_KEPT 8

struct lists_reading {
    struct cost_server *s;
    struct query *q;
    const char *uid;       /* uid of the session whose lists are read */
    bool wants_tools;      /* true: no newer session has a complete list of tools */
    struct tool_rule rule; /* owned; tool rule of the session */
    struct buf seen; /* owned; a list, from which the tools that the rule hides were removed */
    struct tools tools;
    struct buf body;
    struct {
        int64_t seq;
        uint64_t cursor;      /* hash of the requested page's cursor; 0: the first page */
    } request[REQUESTS_KEPT]; /* the most recent requests for pages of lists */
    size_t request_n;
    struct {
        int64_t tokens;   /* tokens of the pages read so far */
        bool begun;       /* true: a page was read, and more pages follow */
        uint64_t next;    /* hash of the cursor of the next page; 0: no page follows */
        int64_t complete; /* tokens of the last complete list; -1: no list was complete */
    } list[LISTS];
    int64_t instruction_tokens;
    int status;
};

/* Whether an answer to this method contains the server's instructions. */
static bool lists_method_has_instructions(struct slice method)
{
    return slice_is(method, "initialize") || slice_is(method, "server/discover");
}

static uint64_t lists_hash_page_cursor(struct json_value v)
{
    return v.type == JSON_STRING ? rpc_id_hash_json(v) : 0;
}

int cost_add_tool(struct cost_server *s, struct slice name, struct cost_tool **ret)
{
    uint32_t i;
    if (intern_add(&s->names, name, &i) < 0 || !GROW(s->tool, (size_t)i, s->tool_cap))
        return MI_ENOMEM;
    if (i == s->tool_n)
        s->tool[s->tool_n++] = (struct cost_tool){.definition_tokens = -1};
    *ret = &s->tool[i];
    return 0;
}

/* Stores the tools of a complete list, which replaces earlier lists. */
static int lists_store_tools(struct cost_server *s, const struct tools *tools)
{
    for (size_t i = 0; i < s->tool_n; i++)
        s->tool[i].definition_tokens = -1;
    s->tools = (int64_t)tools->n;
    s->used = s->definition_tokens = s->never_used_tokens = 0;
    for (size_t i = 0; i < tools->n; i++) {
        struct cost_tool *t;
        if (cost_add_tool(s, tools->tool[i].name, &t) < 0)
            return MI_ENOMEM;
        t->definition_tokens = context_count_definition_tokens(tools->tool[i].text);
        s->definition_tokens += t->definition_tokens;
        s->used += t->calls > 0;
        s->never_used_tokens += t->calls > 0 ? 0 : t->definition_tokens;
    }
    return 0;
}

/* ---- the tool rule of the session ----------------------------------------------------------- */

/* Reads the tool rule of the session. An invalid rule hides nothing. */
static bool lists_read_rule_of_session(void *ctx, const struct query_session *s)
{
    struct lists_reading *x = ctx;
    struct buf why = {0};
    if (s->tools_rule.p != NULL && tool_rule_read(&x->rule, s->tools_rule, &why) == MI_ENOMEM)
        x->status = MI_ENOMEM;
    buf_close(&why);
    return false;
}

/* Removes the tools that the rule hides from a result of tools/list, so that *m is what the client
 * got. */
static int lists_remove_hidden_tools(struct lists_reading *x, struct slice body, struct rpc *m)
{
    struct changes c = {0};
    struct tool_cut cut;
    int st = tool_rule_exists(&x->rule)
                 ? tool_rule_remove_tools(&x->rule, m->result, &c, &cut, NULL, NULL)
                 : 0;
    if (st == 0 && c.n > 0) {
        size_t n = changes_compute_changed_size(&c, body);
        buf_clear(&x->seen);
        st = buf_reserve(&x->seen, n) ? 0 : MI_ENOMEM;
        if (st == 0) {
            changes_apply_to_text(&c, body, x->seen.p);
            x->seen.n = n;
            /* the list is still valid JSON after tools were removed */
            st = rpc_read(buf_slice(&x->seen), m) < 0 ? MI_ENOMEM : 0;
        }
    }
    changes_close(&c);
    return st;
}

/* ---- messages of a session ------------------------------------------------------------------ */

/* Whether the answer to request_seq is the first page of a list, or the page after the last page
 * that was added. *cursor: hash of the requested cursor. */
static bool lists_page_continues_list(struct lists_reading *x, size_t list, int64_t request_seq,
                                      uint64_t *cursor)
{
    size_t i = 0, n = size_min(x->request_n, REQUESTS_KEPT);
    while (i < n && x->request[i].seq != request_seq)
        i++;
    if (i == n)
        return false;
    *cursor = x->request[i].cursor;
    return *cursor == 0 || (x->list[list].begun && *cursor == x->list[list].next);
}

static int lists_add_page(struct lists_reading *x, size_t i, const struct rpc *m, uint64_t cursor)
{
    struct json_value array = json_get(m->result, lists[i].member);
    x->list[i].begun = array.type == JSON_ARRAY;
    if (i == LIST_TOOLS) {
        tools_add_page(&x->tools, m, cursor);
    } else {
        x->list[i].tokens = cursor == 0 ? 0 : x->list[i].tokens;
        x->list[i].tokens += context_count_definitions_tokens(array);
    }
    x->list[i].next = lists_hash_page_cursor(m->next_cursor);
    if (!x->list[i].begun || x->list[i].next != 0)
        return 0;
    x->list[i].begun = false;
    if (i != LIST_TOOLS)
        x->list[i].complete = x->list[i].tokens;
    else if (tools_are_complete(&x->tools) && x->wants_tools)
        return lists_store_tools(x->s, &x->tools);
    return 0;
}

static bool lists_on_message(void *ctx, const struct query_message *m)
{
    struct lists_reading *x = ctx;
    struct slice body = m->body, method = query_method_of_message(m);
    struct rpc rpc;
    uint64_t cursor = 0;
    bool begins = lists_method_has_instructions(method);
    size_t i = 0;
    while (i < LISTS && !slice_is(method, lists[i].method))
        i++;
    if ((!begins && i == LISTS) || m->action != ROW_FORWARDED)
        return true;
    if (m->kind == KIND_REQUEST && !begins && m->body.p != NULL && rpc_read(m->body, &rpc) >= 0) {
        size_t at = x->request_n++ % REQUESTS_KEPT;
        x->request[at].seq = m->seq;
        x->request[at].cursor = lists_hash_page_cursor(rpc.cursor);
    }
    if (m->kind != KIND_RESULT ||
        (!begins && !lists_page_continues_list(x, i, m->request_seq, &cursor)))
        return true;
    if (m->is_large) {
        buf_clear(&x->body);
        if (query_body(x->q, slice_of(x->uid), m, TOOLS_BYTES_MAX, &x->body) < 0)
            return true;
        body = buf_slice(&x->body);
    }
    if (body.p == NULL || rpc_read(body, &rpc) < 0 || rpc.kind != RPC_RESULT ||
        rpc.result.type != JSON_OBJECT)
        return true;
    if (begins)
        x->instruction_tokens =
            context_count_text_tokens(json_string_raw(json_get(rpc.result, "instructions")));
    else
        x->status = i == LIST_TOOLS ? lists_remove_hidden_tools(x, body, &rpc) : 0;
    if (!begins && x->status == 0)
        x->status = lists_add_page(x, i, &rpc, cursor);
    return x->status == 0;
}

/* ---- sessions ------------------------------------------------------------------------------- */

static void lists_set_tokens_if_unknown(int64_t *tokens, int64_t read)
{
    if (*tokens < 0)
        *tokens = read;
}

static int lists_read_session(struct cost_server *s, struct query *q,
                              const struct cost_session *session)
{
    struct lists_reading x = {
        .s = s, .q = q, .uid = session->uid, .wants_tools = s->tools < 0, .instruction_tokens = -1};
    for (size_t i = 0; i < LISTS; i++)
        x.list[i].complete = -1;
    struct message_question first = {
        .session_id = session->id, .from = 1, .to = TOOL_LIST_MESSAGES, .lists = true};
    /* Do not read the session's tool rule with query_session_by_id(): a caller may still use the
     * last result of that function. */
    struct filter this_session = FILTER_ANY;
    this_session.session_id = session->id;
    int st =
        query_matching_sessions(q, &this_session, FILTER_HOLDS, 1, lists_read_rule_of_session, &x);
    st = st == 0 ? x.status : st;
    if (st == 0)
        st = query_messages_and_events(q, &first, lists_on_message, NULL, &x);
    tools_close(&x.tools);
    tool_rule_close(&x.rule);
    buf_close(&x.seen);
    buf_close(&x.body);
    lists_set_tokens_if_unknown(&s->instruction_tokens, x.instruction_tokens);
    lists_set_tokens_if_unknown(&s->prompt_tokens, x.list[LIST_PROMPTS].complete);
    if (s->resource_tokens < 0 &&
        (x.list[LIST_RESOURCES].complete >= 0 || x.list[LIST_TEMPLATES].complete >= 0))
        s->resource_tokens =
            (x.list[LIST_RESOURCES].complete > 0 ? x.list[LIST_RESOURCES].complete : 0) +
            (x.list[LIST_TEMPLATES].complete > 0 ? x.list[LIST_TEMPLATES].complete : 0);
    return st == 0 ? x.status : st;
}

unsigned cost_lists_get_method_mask(struct slice method)
{
    size_t i = 0;
    while (i < LISTS && !slice_is(method, lists[i].method))
        i++;
    return i < LISTS || lists_method_has_instructions(method) ? 1u << i : 0;
}

/* Returns the bits of the lists that are not known yet. */
static unsigned get_unknown_lists_mask(const struct cost_server *s)
{
    return (s->tools < 0 ? 1u << LIST_TOOLS : 0) | (s->prompt_tokens < 0 ? 1u << LIST_PROMPTS : 0) |
           (s->resource_tokens < 0 ? 1u << LIST_RESOURCES | 1u << LIST_TEMPLATES : 0) |
           (s->instruction_tokens < 0 ? 1u << LISTS : 0);
}

int cost_lists_read(struct cost_server *s, struct query *q)
{
    int st = 0;
    size_t older = 0;
    for (int imported = 0; imported < 2; imported++)
        for (size_t i = 0; i < s->session_n && st == 0; i++) {
            if (older > COST_OLDER)
                return 0;
            if (s->session[i].imported != (imported == 1) ||
                (s->session[i].lists & get_unknown_lists_mask(s)) == 0)
                continue;
            st = lists_read_session(s, q, &s->session[i]);
            older += s->tools >= 0;
        }
    return st;
}
