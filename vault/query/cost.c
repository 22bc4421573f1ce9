#include "vault/query/cost.h"

#include "base/grow.h"
#include "base/os/sort.h"
#include "base/search.h"
#include "vault/query/call_rows.h"
#include "vault/query/connection.h"
#include "vault/query/cost_lists.h"
#include "vault/query/tool_list.h"
#include "vault/store/connect.h"
#include "vault/store/schema.h"

#include <stdlib.h>

/* ---- servers -------------------------------------------------------------------------------- */

/* Finds or adds a server. *ret: index of the server in the list. */
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

/* A session that matches the filter. */
struct cost_reading_session {
    int64_t id, started_at_us;
    size_t server; /* index of the session's server in cost.list */
    /* index of the session in the array cost_server.session of its server; cost_server.session_n or
     * above: that array does not have the session */
    size_t at;
};

/* A call made of several requests. */
struct cost_operation {
    int64_t id;
    size_t tool; /* index of the called tool in cost_server.tool */
    /* result of the call: the results of all its requests, added up */
    struct context_result result;
    bool answered;
};

struct cost_reading {
    struct cost *c;
    struct query *q;
    /* owned; the sessions; sorted by id when all sessions are known */
    struct cost_reading_session *session;
    size_t session_n, session_cap;
    /* index in the array cost_reading.session of the session whose call was read last;
     * cost_reading.session_n: no call was read yet, or the array does not have its session */
    size_t at;
    struct cost_status {
        int64_t id;
        enum call_status status;
    } * several; /* owned; calls made of several requests; sorted by id at the end */
    size_t several_n, several_cap;
    struct cost_operation *operation; /* owned; operations of the current session, sorted by id */
    size_t operation_n, operation_cap;
    int status;
};

/* Counts a session, and adds it to s->session if its lists may be read. */
static int cost_add_session(struct cost_server *s, const struct query_session *of)
{
    s->sessions++;
    if (s->session_n == TOOL_LIST_SESSIONS || of->uid.n >= sizeof s->session->uid)
        return 0;
    if (!GROW(s->session, s->session_n, s->session_cap))
        return MI_ENOMEM;
    struct cost_session *c = &s->session[s->session_n++];
    *c = (struct cost_session){.id = of->id, .imported = query_session_is_imported(of)};
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
        x->status = query_session_is_made_by_send(x->q, s->id, &sent);
    if (x->status < 0)
        return false;
    if (sent || (!x->c->imported && query_session_is_imported(s))) {
        x->c->left_out = true;
        return true;
    }
    x->status = cost_add_server(x->c, s->name, &i);
    size_t at = x->status == 0 ? x->c->list[i].session_n : 0;
    if (x->status == 0)
        x->status = cost_add_session(&x->c->list[i], s);
    if (x->status == 0 && !GROW(x->session, x->session_n, x->session_cap))
        x->status = MI_ENOMEM;
    if (x->status == 0)
        x->session[x->session_n++] = (struct cost_reading_session){
            .id = s->id, .started_at_us = s->started_at_us, .server = i, .at = at};
    return x->status == 0;
}

static int cost_compare_sessions(const void *a, const void *b, void *ctx)
{
    const struct cost_reading_session *x = a, *y = b;
    (void)ctx;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* ---- calls ---------------------------------------------------------------------------------- */

static bool call_was_answered(enum call_status status)
{
    return status == CALL_OK || status == CALL_ERROR || status == CALL_TOOL_ERROR;
}

/* Reads a number from a row of `calls`. In a damaged vault, the column may have any value. */
static int64_t read_cost_number(sqlite3_value *v, int64_t max)
{
    int64_t n = sqlite3_value_int64(v);
    if (sqlite3_value_type(v) != SQLITE_INTEGER || n < 0)
        return CONTEXT_UNKNOWN;
    return n < max ? n : max;
}

static int64_t add_counts_unless_unknown(int64_t a, int64_t b)
{
    return a < 0 ? b : b < 0 ? a : a + b;
}

static int cost_add_result(struct cost_tool *t, const struct context_result *r, bool answered)
{
    int64_t tokens = r->tokens < COST_RESULT_MAX ? r->tokens : COST_RESULT_MAX;
    if (r->binaries >= 0 && r->binary_size >= 0) {
        t->binaries.n += r->binaries;
        t->binaries.size += r->binary_size;
        t->binaries.counted++;
    } else {
        t->binaries.uncounted += answered;
    }
    if (tokens < 0) {
        t->uncounted += answered;
        return 0;
    }
    if (!GROW(t->results.tokens, t->results.n, t->results.cap))
        return MI_ENOMEM;
    t->results.tokens[t->results.n++] = (uint32_t)tokens;
    t->results.sum += tokens;
    return 0;
}

static int cost_on_call_status(void *ctx, sqlite3_stmt *st)
{
    struct cost_reading *x = ctx;
    if (!GROW(x->several, x->several_n, x->several_cap))
        return MI_ENOMEM;
    x->several[x->several_n++] = (struct cost_status){
        sqlite3_column_int64(st, 0), value_find_by_word(&call_statuses, connect_column(st, 1))};
    return 0;
}

static int cost_compare_call_status(const void *a, const void *b, void *ctx)
{
    const struct cost_status *x = a, *y = b;
    (void)ctx;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Adds the results of the session's operations to their tools. Called after the last call of the
 * session. */
static int cost_add_operations(struct cost_reading *x)
{
    int st = 0;
    for (size_t i = 0; st == 0 && i < x->operation_n; i++) {
        const struct cost_operation *o = &x->operation[i];
        struct cost_server *s = &x->c->list[x->session[x->at].server];
        st = cost_add_result(&s->tool[o->tool], &o->result, o->answered);
    }
    x->operation_n = 0;
    return st;
}

/* Adds the result of a request that continues operation `id` to the result of the operation. The
 * request may have any method. */
static void cost_add_result_of_continuation(struct cost_reading *x, int64_t id,
                                            const struct context_result *r)
{
    size_t at = SEARCH_INT64(x->operation, x->operation_n, id, id);
    if (at == x->operation_n || x->operation[at].id != id)
        return;
    struct context_result *sum = &x->operation[at].result;
    *sum = (struct context_result){add_counts_unless_unknown(sum->tokens, r->tokens),
                                   add_counts_unless_unknown(sum->binaries, r->binaries),
                                   add_counts_unless_unknown(sum->binary_size, r->binary_size)};
}

static int cost_add_call(struct cost_reading *x, int64_t id, struct slice tool,
                         enum call_status status, const struct context_result *result,
                         int64_t at_us)
{
    struct cost_server *s = &x->c->list[x->session[x->at].server];
    struct cost_tool *t;
    size_t several = SEARCH_INT64(x->several, x->several_n, id, id);
    bool is_several = several < x->several_n && x->several[several].id == id;
    if (is_several)
        status = x->several[several].status;
    if (cost_add_tool(s, tool, &t) < 0)
        return MI_ENOMEM;
    t->calls++;
    t->errors += call_status_failed(status);
    t->last_at_us = at_us > t->last_at_us ? at_us : t->last_at_us;
    if (!is_several)
        return cost_add_result(t, result, call_was_answered(status));
    if (!GROW(x->operation, x->operation_n, x->operation_cap))
        return MI_ENOMEM;
    x->operation[x->operation_n++] = (struct cost_operation){.id = id,
                                                             .tool = (size_t)(t - s->tool),
                                                             .result = *result,
                                                             .answered = call_was_answered(status)};
    return 0;
}

#define CALL_COLUMNS                                                                               \
    "c.id, c.method, c.target, c.status, c.result_tokens, c.t_us, c.direction, c.origin,"          \
    " c.result_binaries, c.result_binary_size, "

/* Called for the calls of a session in the order of ids. */
static int cost_on_call(void *ctx, sqlite3_value **column)
{
    struct cost_reading *x = ctx;
    int64_t id = sqlite3_value_int64(column[0]), session_id = id >> SCHEMA_SEQ_BITS;
    if (x->at == x->session_n || x->session[x->at].id != session_id) {
        int st = cost_add_operations(x);
        if (st < 0)
            return st;
        x->at = SEARCH_INT64(x->session, x->session_n, id, session_id);
        if (x->at < x->session_n && x->session[x->at].id != session_id)
            x->at = x->session_n;
    }
    if (x->at == x->session_n)
        /* skip the call: its session does not match the filter, or began after the sessions were
         * read */
        return 0;
    int64_t first = sqlite3_value_int64(column[10]); /* seq of the operation's first request */
    int64_t at_us = x->session[x->at].started_at_us + each_read_clamped_time(column[5]);
    struct context_result result = {read_cost_number(column[4], COST_RESULT_MAX),
                                    read_cost_number(column[8], COST_RESULT_MAX),
                                    read_cost_number(column[9], COST_BINARY_SIZE_MAX)};
    if (x->c->result != NULL)
        result = x->c->result(x->c->ctx, id & SCHEMA_SEQ_MAX);
    struct slice method = each_get_argument_text(column[1]);
    const struct cost_reading_session *session = &x->session[x->at];
    struct cost_server *s = &x->c->list[session->server];
    int64_t seq = id & SCHEMA_SEQ_MAX;
    if (!slice_is(method, "tools/call") && seq <= TOOL_LIST_MESSAGES && session->at < s->session_n)
        s->session[session->at].lists |= cost_lists_get_method_mask(method);
    if (!slice_is(each_get_argument_text(column[6]), "c2s") ||
        !slice_is(each_get_argument_text(column[7]), "peer"))
        return 0;
    if (first > 0 && first <= (int64_t)SCHEMA_SEQ_MAX)
        cost_add_result_of_continuation(x, schema_message_id(session_id, (uint64_t)first), &result);
    if (first != 0 || !slice_is(method, "tools/call") ||
        !filter_includes_time(&x->c->filter, at_us))
        return 0;
    return cost_add_call(x, id, each_get_argument_text(column[2]),
                         value_find_by_word(&call_statuses, each_get_argument_text(column[3])),
                         &result, at_us);
}

/* ---- results -------------------------------------------------------------------------------- */

/* Sorts by one byte at a time (radix sort, lowest byte first), so that the time is proportional to
 * n for any values. `scratch` has n elements. */
static void cost_sort_tokens(uint32_t *tokens, uint32_t *scratch, size_t n)
{
    for (int shift = 0; shift < 32; shift += 8) {
        size_t at[256] = {0}, sum = 0;
        for (size_t i = 0; i < n; i++)
            at[tokens[i] >> shift & 0xFF]++;
        for (size_t d = 0; d < MI_COUNT(at); d++) {
            size_t k = at[d];
            at[d] = sum;
            sum += k;
        }
        for (size_t i = 0; i < n; i++)
            scratch[at[tokens[i] >> shift & 0xFF]++] = tokens[i];
        uint32_t *sorted = scratch;
        scratch = tokens;
        tokens = sorted;
    }
    /* The loop runs an even number of times, so the result is in the array `tokens` of the
     * caller. */
}

/* Counts the results of a tool that have at most `tokens` tokens. The results are sorted. */
static size_t cost_count_results_within_tokens(const struct cost_results *r, uint32_t tokens)
{
    size_t from = 0, to = r->n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (r->tokens[middle] <= tokens)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Removes the tools that were not called, and that only an older list has: the list whose tokens
 * are counted does not have them. */
static void cost_remove_unused_old_tools(struct cost_server *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->tool_n; i++) {
        s->tool[i].name = intern_get_text(&s->names, (uint32_t)i);
        if (s->tool[i].definition_tokens >= 0 || s->tool[i].calls > 0)
            s->tool[n++] = s->tool[i];
    }
    s->tool_n = n;
}

/* Returns the percentile (nearest rank, as in vault/query/tally.h) of the tokens of all results of
 * these tools; -1 if there are no results. Uses a binary search over numbers of tokens, and counts
 * the results up to each number. */
static int64_t cost_compute_percentile(const struct cost_tool *tool, size_t tool_n, int percent)
{
    size_t n = 0;
    for (size_t i = 0; i < tool_n; i++)
        n += tool[i].results.n;
    size_t enough = (n * (size_t)percent + 99) / 100;
    uint32_t from = 0, to = UINT32_MAX;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        size_t have = 0;
        for (size_t i = 0; i < tool_n; i++)
            have += cost_count_results_within_tokens(&tool[i].results, middle);
        if (have >= enough)
            to = middle;
        else
            from = middle + 1;
    }
    return n > 0 ? (int64_t)from : -1;
}

static int cost_compare_tools(const void *a, const void *b, void *ctx)
{
    const struct cost_tool *x = a, *y = b;
    (void)ctx;
    return slice_cmp(x->name, y->name);
}

/* Sets number and size of the binaries to -1 (unknown) if they are unknown for all answered
 * calls. Without answered calls, both stay 0. */
static void cost_set_unknown_binaries(struct cost_binaries *b)
{
    if (b->counted == 0 && b->uncounted > 0)
        b->n = b->size = -1;
}

/* Computes the sums and percentiles of a server and of its tools. */
static int cost_sum_tools(struct cost_server *s)
{
    size_t counted = 0, most = 0;
    cost_remove_unused_old_tools(s);
    for (size_t i = 0; i < s->tool_n; i++)
        most = s->tool[i].results.n > most ? s->tool[i].results.n : most;
    uint32_t *scratch = malloc((most + 1) * sizeof *scratch);
    if (scratch == NULL)
        return MI_ENOMEM;
    for (size_t i = 0; i < s->tool_n; i++) {
        struct cost_tool *t = &s->tool[i];
        cost_sort_tokens(t->results.tokens, scratch, t->results.n);
        t->p50 = cost_compute_percentile(t, 1, 50);
        t->p95 = cost_compute_percentile(t, 1, 95);
        s->calls += t->calls;
        s->errors += t->errors;
        s->uncounted += t->uncounted;
        s->result_tokens += t->results.sum;
        counted += t->results.n;
        t->result_tokens = t->results.n > 0 || t->uncounted == 0 ? t->results.sum : -1;
        s->last_at_us = t->last_at_us > s->last_at_us ? t->last_at_us : s->last_at_us;
        s->binaries.n += t->binaries.n;
        s->binaries.size += t->binaries.size;
        s->binaries.counted += t->binaries.counted;
        s->binaries.uncounted += t->binaries.uncounted;
        cost_set_unknown_binaries(&t->binaries);
    }
    cost_set_unknown_binaries(&s->binaries);
    if (counted == 0 && s->uncounted > 0)
        s->result_tokens = -1;
    s->p50 = cost_compute_percentile(s->tool, s->tool_n, 50);
    s->p95 = cost_compute_percentile(s->tool, s->tool_n, 95);
    sort_array(s->tool, s->tool_n, sizeof *s->tool, cost_compare_tools, NULL);
    free(scratch);
    return 0;
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

static int cost_finish_servers(struct cost *c, struct query *q)
{
    int st = 0;
    for (size_t i = 0; st == 0 && i < c->n; i++) {
        struct cost_server *s = &c->list[i];
        s->server = intern_get_text(&c->names, (uint32_t)i);
        st = cost_lists_read(s, q);
        if (st == 0)
            st = cost_sum_tools(s);
    }
    if (st == 0 && c->n > 0)
        sort_array(c->list, c->n, sizeof *c->list, cost_compare_servers, NULL);
    return st;
}

static int cost_read_calls(struct cost_reading *x, const struct call_question *question)
{
    struct call_question several = *question;
    several.operations = several.several = true;
    int st = call_rows_read(x->q, &several, "c.id, c.status", cost_on_call_status, x);
    if (x->several_n > 0)
        sort_array(x->several, x->several_n, sizeof *x->several, cost_compare_call_status, NULL);
    if (st == 0)
        st = call_rows_read_with_callback(
            x->q, question, x->several_n > 0 ? CALL_COLUMNS "c.operation_seq" : CALL_COLUMNS "NULL",
            cost_on_call, x);
    return st == 0 ? cost_add_operations(x) : st;
}

int cost_read_sessions(struct cost *c, struct query *q)
{
    struct cost_reading x = {.c = c, .q = q};
    struct filter f = c->filter;
    struct call_question question = {.filter = &f,
                                     .any_time = true,
                                     .side = CALLS_OF_ALL,
                                     .recorded = !c->imported,
                                     .not_sent = !c->sent};
    /* The filter would take a server name with `*`, `?` or `[` as a glob, which may not match the
     * name itself. So cost_on_session() compares such a name. */
    if (c->server != NULL && !filter_is_glob(c->server))
        f.server = c->server;
    *c = (struct cost){.server = c->server,
                       .filter = c->filter,
                       .imported = c->imported,
                       .sent = c->sent,
                       .result = c->result,
                       .ctx = c->ctx};
    int st = query_matching_sessions(q, &f, FILTER_HOLDS, 0, cost_on_session, &x);
    st = st == 0 ? x.status : st;
    if (x.session_n > 0)
        sort_array(x.session, x.session_n, sizeof *x.session, cost_compare_sessions, NULL);
    x.at = x.session_n;
    if (st == 0)
        st = call_rows_prepare(q, &f);
    if (st == 0)
        st = db_begin(&q->d); /* use one transaction, so that operations and calls are consistent */
    if (st == 0)
        st = db_end(&q->d, cost_read_calls(&x, &question));
    free(x.operation);
    free(x.several);
    free(x.session);
    return st == 0 ? cost_finish_servers(c, q) : st;
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
