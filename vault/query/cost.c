#include "vault/query/cost.h"

#include "base/grow.h"
#include "base/os/sort.h"
#include "base/search.h"
#include "vault/query/call_rows.h"
#include "vault/query/cost_lists.h"
#include "vault/query/tool_list.h"
#include "vault/store/connect.h"
#include "vault/store/schema.h"

#include <stdlib.h>

/* ---- servers -------------------------------------------------------------------------------- */

/* *ret: its place in the list. */
static int cost_add_server(struct cost *c, struct slice name, size_t *ret)
{
    uint32_t i;
    if (intern_add(&c->names, name, &i) < 0 || !GROW(c->list, (size_t)i, c->cap))
        return MI_ENOMEM;
    if (i == c->n)
        c->list[c->n++] = (struct cost_server){
            .tools = -1,
            .used = -1,
            .definition_tokens = -1,
            .never_used_tokens = -1,
            .instruction_tokens = -1,
            .prompt_tokens = -1,
            .resource_tokens = -1,
        };
    *ret = i;
    return 0;
}

/* ---- sessions ------------------------------------------------------------------------------- */

/* A call that was several requests: its tokens are those of all. */
struct cost_operation {
    int64_t id; /* of the call */
    size_t server, tool;
    int64_t tokens; /* -1: not known */
    bool answered;
};

struct cost_reading {
    struct cost *c;
    struct query *q;
    int64_t session_id; /* of the last row; 0: none */
    size_t server;      /* its server */
    struct cost_operation *operation; /* owned; by id */
    size_t operation_n, operation_cap;
    int status;
};

static int cost_add_session(struct cost_server *s, const struct query_session *of)
{
    s->sessions++;
    if (s->session_n == TOOL_LIST_SESSIONS || of->uid.n >= sizeof s->session->uid)
        return 0;
    if (!GROW(s->session, s->session_n, s->session_cap))
        return MI_ENOMEM;
    struct cost_session *c = &s->session[s->session_n++];
    *c = (struct cost_session){.id = of->id, .imported = query_is_imported(of)};
    memcpy(c->uid, of->uid.p, of->uid.n);
    return 0;
}

static bool cost_on_session(void *ctx, const struct query_session *s)
{
    struct cost_reading *x = ctx;
    bool sent = false;
    size_t i;
    if (x->c->server != NULL && !slice_is(s->name, x->c->server))
        return true;
    if (!x->c->sent)
        x->status = query_is_sent(x->q, s->id, &sent);
    if (x->status < 0)
        return false;
    if (sent || (!x->c->imported && query_is_imported(s))) {
        x->c->left_out = true;
        return true;
    }
    x->status = cost_add_server(x->c, s->name, &i);
    if (x->status == 0)
        x->status = cost_add_session(&x->c->list[i], s);
    return x->status == 0;
}

/* ---- calls ---------------------------------------------------------------------------------- */

static bool cost_is_answered(enum call_status status)
{
    return status == CALL_OK || status == CALL_ERROR || status == CALL_TOOL_ERROR;
}

/* A damaged vault may have any value. */
static int64_t cost_column_tokens(sqlite3_stmt *st, int i)
{
    int64_t tokens = sqlite3_column_int64(st, i);
    if (sqlite3_column_type(st, i) != SQLITE_INTEGER || tokens < 0)
        return -1;
    return tokens < COST_RESULT_MAX ? tokens : COST_RESULT_MAX;
}

static int cost_add_result(struct cost_tool *t, int64_t tokens, bool answered)
{
    if (tokens < 0) {
        t->uncounted += answered;
        return 0;
    }
    if (!GROW(t->results.tokens, t->results.n, t->results.cap))
        return MI_ENOMEM;
    t->results.tokens[t->results.n++] = tokens;
    t->results.sum += tokens;
    return 0;
}

/* The rows of a session follow one another. */
static int cost_on_call(void *ctx, sqlite3_stmt *st)
{
    struct cost_reading *x = ctx;
    struct cost_tool *t;
    int64_t id = sqlite3_column_int64(st, 0), session_id = id >> SCHEMA_SEQ_BITS;
    if (session_id != x->session_id) {
        struct slice name = connect_column(st, 1);
        if (x->c->server != NULL && !slice_is(name, x->c->server))
            return 0;
        if (cost_add_server(x->c, name, &x->server) < 0)
            return MI_ENOMEM;
        x->session_id = session_id;
    }
    struct cost_server *s = &x->c->list[x->server];
    if (cost_add_tool(s, connect_column(st, 2), &t) < 0)
        return MI_ENOMEM;
    enum call_status status = value_of(&call_statuses, connect_column(st, 3));
    int64_t at_us = connect_time(st, 5) + connect_time(st, 6);
    int64_t tokens = cost_column_tokens(st, 4);
    t->calls++;
    t->errors += call_status_failed(status);
    t->last_at_us = at_us > t->last_at_us ? at_us : t->last_at_us;
    if (sqlite3_column_int64(st, 7) == 0)
        return cost_add_result(t, tokens, cost_is_answered(status));
    if (!GROW(x->operation, x->operation_n, x->operation_cap))
        return MI_ENOMEM;
    x->operation[x->operation_n++] = (struct cost_operation){.id = id,
                                                             .server = x->server,
                                                             .tool = (size_t)(t - s->tool),
                                                             .tokens = tokens,
                                                             .answered = cost_is_answered(status)};
    return 0;
}

/* A request that continues an operation: the answer with the result is one of these. */
static int cost_on_request(void *ctx, sqlite3_stmt *st)
{
    struct cost_reading *x = ctx;
    int64_t seq = sqlite3_column_int64(st, 1), tokens = cost_column_tokens(st, 2);
    int64_t id = (sqlite3_column_int64(st, 0) & ~(int64_t)SCHEMA_SEQ_MAX) | seq;
    size_t at = SEARCH_INT64(x->operation, x->operation_n, id, id);
    if (seq <= 0 || seq > (int64_t)SCHEMA_SEQ_MAX || tokens < 0 || at == x->operation_n ||
        x->operation[at].id != id)
        return 0;
    struct cost_operation *o = &x->operation[at];
    o->tokens = o->tokens < 0 ? tokens : o->tokens + tokens;
    return 0;
}

static int cost_compare_operations(const void *a, const void *b, void *ctx)
{
    const struct cost_operation *x = a, *y = b;
    (void)ctx;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Their other requests may be of other methods, and after the times that are asked for. */
static int cost_read_operations(struct cost_reading *x, const struct call_question *calls,
                                struct filter f)
{
    struct call_question question = *calls;
    f.tool = NULL;
    f.until_us = INT64_MAX;
    question.filter = &f;
    question.operations = false;
    question.several = true;
    if (x->operation_n == 0)
        return 0;
    sort_with(x->operation, x->operation_n, sizeof *x->operation, cost_compare_operations, NULL);
    int st = call_rows(x->q, &question, "c.id, c.operation_seq, c.result_tokens", cost_on_request, x);
    for (size_t i = 0; st == 0 && i < x->operation_n; i++) {
        const struct cost_operation *o = &x->operation[i];
        int64_t tokens = o->tokens < COST_RESULT_MAX ? o->tokens : COST_RESULT_MAX;
        st = cost_add_result(&x->c->list[o->server].tool[o->tool], tokens, o->answered);
    }
    return st;
}

/* ---- results -------------------------------------------------------------------------------- */

#define PART_BITS 16
#define PARTS ((size_t)1 << PART_BITS)

/* The value with this rank, from 0, among the results of several tools: found by its upper half, then by its lower one. So
 * the work grows with n, whatever the values are. count: PARTS counters. Values from 2^32 on are not told apart. */
static int64_t cost_at_rank(const struct cost_tool *tool, size_t tool_n, size_t rank,
                            uint32_t *count)
{
    uint32_t upper = 0, lower = 0;
    for (int pass = 0; pass < 2; pass++) {
        memset(count, 0, PARTS * sizeof *count);
        for (size_t i = 0; i < tool_n; i++)
            for (size_t k = 0; k < tool[i].results.n; k++) {
                int64_t tokens = tool[i].results.tokens[k];
                uint32_t v = tokens > UINT32_MAX ? UINT32_MAX : (uint32_t)tokens;
                if (pass == 0)
                    count[v >> PART_BITS]++;
                else if (v >> PART_BITS == upper)
                    count[v & (PARTS - 1)]++;
            }
        uint32_t part = 0;
        while (rank >= count[part])
            rank -= count[part++];
        if (pass == 0)
            upper = part;
        else
            lower = part;
    }
    return (int64_t)upper << PART_BITS | lower;
}

/* What is in no list, and was not called, was in an earlier list of the session. */
static void cost_drop_unlisted(struct cost_server *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->tool_n; i++) {
        s->tool[i].name = intern_text(&s->names, (uint32_t)i);
        if (s->tool[i].definition_tokens >= 0 || s->tool[i].calls > 0)
            s->tool[n++] = s->tool[i];
    }
    s->tool_n = n;
}

/* Nearest rank, as vault/query/tally.h has it. */
static int64_t cost_percentile(const struct cost_tool *tool, size_t tool_n, int percent,
                               uint32_t *count)
{
    size_t n = 0;
    for (size_t i = 0; i < tool_n; i++)
        n += tool[i].results.n;
    return n > 0 ? cost_at_rank(tool, tool_n, (n * (size_t)percent + 99) / 100 - 1, count) : -1;
}

static int cost_compare_tools(const void *a, const void *b, void *ctx)
{
    const struct cost_tool *x = a, *y = b;
    (void)ctx;
    return slice_cmp(x->name, y->name);
}

static void cost_sum_up(struct cost_server *s, uint32_t *count)
{
    size_t counted = 0;
    cost_drop_unlisted(s);
    for (size_t i = 0; i < s->tool_n; i++) {
        struct cost_tool *t = &s->tool[i];
        t->p50 = cost_percentile(t, 1, 50, count);
        t->p95 = cost_percentile(t, 1, 95, count);
        s->calls += t->calls;
        s->errors += t->errors;
        s->uncounted += t->uncounted;
        s->result_tokens += t->results.sum;
        counted += t->results.n;
        t->result_tokens = t->results.n > 0 || t->uncounted == 0 ? t->results.sum : -1;
        s->last_at_us = t->last_at_us > s->last_at_us ? t->last_at_us : s->last_at_us;
    }
    if (counted == 0 && s->uncounted > 0)
        s->result_tokens = -1;
    s->p50 = cost_percentile(s->tool, s->tool_n, 50, count);
    s->p95 = cost_percentile(s->tool, s->tool_n, 95, count);
    sort_with(s->tool, s->tool_n, sizeof *s->tool, cost_compare_tools, NULL);
}

/* ---- all ------------------------------------------------------------------------------------ */

static int cost_compare_servers(const void *a, const void *b, void *ctx)
{
    const struct cost_server *x = a, *y = b;
    (void)ctx;
    if (x->definition_tokens != y->definition_tokens)
        return x->definition_tokens < y->definition_tokens ? 1 : -1;
    return slice_cmp(x->server, y->server);
}

static int cost_finish(struct cost *c, struct query *q)
{
    uint32_t *count = malloc(PARTS * sizeof *count);
    int st = count != NULL ? 0 : MI_ENOMEM;
    for (size_t i = 0; st == 0 && i < c->n; i++) {
        struct cost_server *s = &c->list[i];
        s->server = intern_text(&c->names, (uint32_t)i);
        st = cost_lists_read(s, q);
        if (st == 0)
            cost_sum_up(s, count);
    }
    if (st == 0 && c->n > 0)
        sort_with(c->list, c->n, sizeof *c->list, cost_compare_servers, NULL);
    free(count);
    return st;
}

int cost_read(struct cost *c, struct query *q)
{
    struct cost_reading x = {.c = c, .q = q};
    struct filter f = c->filter;
    struct call_question question = {
        .filter = &f, .operations = true, .recorded = !c->imported, .not_sent = !c->sent};
    if (c->server != NULL && !filter_is_glob(c->server)) /* a glob does not always match itself */
        f.server = c->server;
    *c = (struct cost){
        .server = c->server, .filter = c->filter, .imported = c->imported, .sent = c->sent};
    int st = query_sessions_of(q, &f, FILTER_HOLDS, 0, cost_on_session, &x);
    st = st == 0 ? x.status : st;
    f.tool = f.tool == NULL ? "*" : f.tool;
    if (st == 0)
        st = call_rows(q, &question,
                       "c.id, s.name, c.target, c.status, c.result_tokens, s.started_at_us, c.t_us,"
                       " c.several",
                       cost_on_call, &x);
    if (st == 0)
        st = cost_read_operations(&x, &question, f);
    free(x.operation);
    return st == 0 ? cost_finish(c, q) : st;
}

void cost_close(struct cost *c)
{
    for (size_t i = 0; i < c->n; i++) {
        for (size_t k = 0; k < c->list[i].tool_n; k++)
            free(c->list[i].tool[k].results.tokens);
        free(c->list[i].tool);
        free(c->list[i].session);
        intern_close(&c->list[i].names);
    }
    free(c->list);
    intern_close(&c->names);
    *c = (struct cost){0};
}
