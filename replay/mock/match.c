#include "replay/mock/match.h"

#include "replay/plan/load.h"
#include "replay/source/sanitize.h"

#define LOAD_MESSAGES 256 /* maximum number of messages added to the plan in one step */
#define NEAR_MAX 64       /* a miss is compared with at most this many recorded requests */

void match_close(struct match *m)
{
    buf_close(&m->key);
    buf_close(&m->other);
    buf_close(&m->text);
    buf_close(&m->near);
}

/* ---- reading the recording ---- */

int match_load_messages(struct match *m, bool *ret_done)
{
    int st = plan_load(m->plan, m->source, LOAD_MESSAGES, &m->text);
    *ret_done = plan_is_finished(m->plan);
    return st;
}

static int load_more_messages(struct match *m)
{
    bool done;
    return match_load_messages(m, &done);
}

/* ---- comparing ---- */

/* Reads a recorded request again. Returns 0; MI_ENOENT: the request was deleted; or an error. */
static int read_recorded_request(struct match *m, uint32_t exchange, struct rpc *ret)
{
    return plan_read_request(m->plan, m->source, exchange, &m->text, ret);
}

/* Whether the recorded request equals the request in m->key. Returns 1, 0 or an error. */
static int recorded_request_equals(struct match *m, uint32_t exchange)
{
    struct rpc recorded;
    int st = read_recorded_request(m, exchange, &recorded);
    if (st == MI_ENOENT)
        return 0;
    if (st < 0)
        return st;
    buf_clear(&m->other);
    canon_write_request(&m->other, &recorded, m->rules);
    if (m->other.failed)
        return MI_ENOMEM;
    return slice_eq(buf_slice(&m->other), buf_slice(&m->key));
}

/* ---- finding ---- */

/* Whether --repeat fail and --ordering strict do not apply to the request. */
static bool request_may_repeat_in_any_order(const struct rpc *r)
{
    return rpc_method_is(r, "ping") || rpc_method_is(r, "initialize") ||
           rpc_method_is(r, "server/discover");
}

static bool requests_may_repeat_in_any_order(const struct plan_topic *t)
{
    return slice_is(t->method, "ping") || slice_is(t->method, "initialize") ||
           slice_is(t->method, "server/discover");
}

/* Finds the group of exchanges whose requests equal the request in m->key. If `all` is true, reads
 * more of the recording until the group has an exchange that was not requested yet. */
static int find_request_group(struct match *m, bool all, struct plan_group **ret)
{
    uint64_t hash = canon_hash_text(buf_slice(&m->key));
    for (;;) {
        struct plan_group *g = plan_find_equal_requests(m->plan, hash);
        while (g != NULL && g->next != PLAN_NONE &&
               plan_get_exchange(m->plan, g->next)->times_requested > 0)
            g->next = plan_get_exchange(m->plan, g->next)->next_same;
        *ret = g;
        if ((g != NULL && g->next != PLAN_NONE) || plan_is_finished(m->plan) || !all)
            return 0;
        int st = load_more_messages(m);
        if (st < 0)
            return st;
    }
}

/* Returns the reason why no equal request was recorded. */
static enum miss_kind explain_no_match(struct match *m, const struct rpc *r)
{
    bool method = false, target = false;
    struct rpc_name name = rpc_name(r, &m->other);
    for (uint32_t i = 0; i < plan_count_method_targets(m->plan) && !target; i++) {
        const struct plan_topic *t = plan_get_method_target(m->plan, i);
        if (t->first == PLAN_NONE || !slice_eq(t->method, name.method))
            continue;
        method = true;
        target = slice_eq(t->target, name.target);
    }
    return target ? MISS_DIFFERENT : method ? MISS_UNKNOWN_TARGET : MISS_UNKNOWN_METHOD;
}

static int match_mark_exchange_used(struct match *m, uint32_t exchange, uint32_t *ret)
{
    struct plan_exchange *x = plan_get_exchange(m->plan, exchange);
    bool again = x->times_requested > 0;
    if (x->times_requested < UINT32_MAX)
        x->times_requested++;
    *ret = exchange;
    return again ? MATCH_AGAIN : MATCH_FIRST;
}

static int find_exchange_in_any_order(struct match *m, const struct rpc *r, uint32_t *ret,
                                      enum miss_kind *ret_why)
{
    struct plan_group *g;
    bool repeats =
        !m->repeat_fail || rpc_method_is(r, "tasks/get") || request_may_repeat_in_any_order(r);
    int st = find_request_group(m, !rpc_method_is(r, "ping"), &g);
    if (st < 0)
        return st;
    if (g == NULL) {
        *ret_why = explain_no_match(m, r);
        return MATCH_MISS;
    }
    uint32_t x = g->next != PLAN_NONE ? g->next : g->last;
    st = recorded_request_equals(m, x);
    if (st < 0)
        return st;
    if (st == 0) {
        /* The hashes are equal by chance, or the recorded request was deleted. */
        *ret_why = MISS_DIFFERENT;
        return MATCH_MISS;
    }
    if (g->next == PLAN_NONE && !repeats) {
        *ret_why = MISS_EXHAUSTED;
        return MATCH_MISS;
    }
    return match_mark_exchange_used(m, x, ret);
}

/* Finds the next recorded request to which --ordering strict applies. */
static int find_next_expected_request(struct match *m, uint32_t *ret)
{
    for (;; m->expected++) {
        while (m->expected == plan_count_exchanges(m->plan)) {
            *ret = PLAN_NONE;
            if (plan_is_finished(m->plan))
                return 0;
            int st = load_more_messages(m);
            if (st < 0)
                return st;
        }
        *ret = m->expected;
        if (!requests_may_repeat_in_any_order(
                plan_get_method_target(m->plan, plan_get_exchange(m->plan, m->expected)->topic)))
            return 0;
    }
}

static int find_exchange_in_order(struct match *m, const struct rpc *r, uint32_t *ret,
                                  enum miss_kind *ret_why)
{
    uint32_t expected;
    int st = find_next_expected_request(m, &expected);
    if (st == 0 && expected != PLAN_NONE)
        st = recorded_request_equals(m, expected);
    if (st < 0)
        return st;
    if (st == 1) {
        m->expected++;
        return match_mark_exchange_used(m, expected, ret);
    }
    struct plan_group *g;
    st = find_request_group(m, true, &g);
    if (st < 0)
        return st;
    *ret_why = g != NULL ? MISS_OUT_OF_ORDER : explain_no_match(m, r);
    if (g != NULL || expected == PLAN_NONE)
        return MATCH_MISS;
    /* If the request is the expected request with other parameters, expect the next recorded
     * request from now on. */
    const struct plan_topic *t =
        plan_get_method_target(m->plan, plan_get_exchange(m->plan, expected)->topic);
    struct rpc_name name = rpc_name(r, &m->other);
    if (slice_eq(t->method, name.method) && slice_eq(t->target, name.target))
        m->expected++;
    return MATCH_MISS;
}

int match_find_exchange(struct match *m, const struct rpc *request, uint32_t *ret,
                        enum miss_kind *ret_why)
{
    buf_clear(&m->key);
    canon_write_request(&m->key, request, m->rules);
    if (m->key.failed)
        return MI_ENOMEM;
    return m->strict_order && !request_may_repeat_in_any_order(request)
               ? find_exchange_in_order(m, request, ret, ret_why)
               : find_exchange_in_any_order(m, request, ret, ret_why);
}

/* ---- explaining ---- */

struct nearest {
    struct match *m;
    const struct rpc *request;
    uint32_t exchange; /* the nearest exchange so far; PLAN_NONE: none */
    size_t differences;
    bool unasked; /* the exchange was not requested yet */
};

static bool match_count_difference(void *ctx, const struct canon_difference *d)
{
    (void)d;
    size_t *left = ctx;
    return --*left > 0;
}

/* Compares the recorded request i with the client's request. The nearest request has the fewest
 * differences; among equals, one that was not requested yet is preferred, then the first. */
static int compare_with_nearest_request(struct nearest *n, uint32_t i)
{
    struct rpc recorded;
    int st = read_recorded_request(n->m, i, &recorded);
    if (st < 0)
        return st == MI_ENOENT ? 0 : st;
    size_t left = 100;
    size_t d =
        canon_find_differences(&recorded, n->request, n->m->rules, match_count_difference, &left);
    bool unasked = plan_get_exchange(n->m->plan, i)->times_requested == 0;
    if (n->exchange != PLAN_NONE &&
        (d > n->differences || (d == n->differences && (n->unasked || !unasked))))
        return 0;
    n->exchange = i;
    n->differences = d;
    n->unasked = unasked;
    return 0;
}

/* Finds the nearest request of the same method and target, else of the same method. */
static int find_nearest_request(struct match *m, const struct rpc *request, struct slice method,
                                struct slice target, struct nearest *n)
{
    uint32_t topic = plan_find_method_and_target(m->plan, method, target);
    size_t tried = 0;
    *n = (struct nearest){.m = m, .request = request, .exchange = PLAN_NONE};
    for (uint32_t i = topic != PLAN_NONE ? plan_get_method_target(m->plan, topic)->first
                                         : PLAN_NONE;
         i != PLAN_NONE && tried < NEAR_MAX;
         i = plan_get_exchange(m->plan, i)->next_topic, tried++) {
        int st = compare_with_nearest_request(n, i);
        if (st < 0)
            return st;
    }
    for (uint32_t i = 0; n->exchange == PLAN_NONE && i < plan_count_method_targets(m->plan); i++) {
        const struct plan_topic *t = plan_get_method_target(m->plan, i);
        if (t->first == PLAN_NONE || !slice_eq(t->method, method) || tried++ >= NEAR_MAX)
            continue;
        int st = compare_with_nearest_request(n, t->first);
        if (st < 0)
            return st;
    }
    return 0;
}

/* A text in m->near. It is stored as offsets, because the buffer moves when it grows. The offsets
 * become slices after the last text was added. */
struct place {
    size_t at, n;
    bool there;
};

struct listing {
    struct match *m;
    struct miss *f;
    /* for each difference: pointer, recorded value, requested value */
    struct place texts[MISS_DIFFERENCES_MAX][3];
};

static struct place match_add_sanitized_value(struct match *m, struct slice pointer,
                                              struct slice value)
{
    struct place p = {.at = m->near.n, .there = value.p != NULL};
    if (p.there && sanitize_value(&m->near, pointer, value) < 0)
        m->near.failed = true;
    p.n = m->near.n - p.at;
    return p;
}

static struct slice match_get_text_of_nearest(const struct match *m, struct place p)
{
    if (!p.there || m->near.failed)
        return (struct slice){0};
    return (struct slice){m->near.p != NULL ? m->near.p + p.at : "", p.n};
}

static bool match_add_difference(void *ctx, const struct canon_difference *d)
{
    struct listing *l = ctx;
    struct miss *f = l->f;
    if (f->differences < MISS_DIFFERENCES_MAX) {
        struct place *texts = l->texts[f->differences];
        texts[0] = (struct place){l->m->near.n, d->pointer.n, true};
        buf_slice_add(&l->m->near, d->pointer);
        texts[1] = match_add_sanitized_value(l->m, d->pointer, d->ours);
        texts[2] = match_add_sanitized_value(l->m, d->pointer, d->theirs);
    }
    f->differences++;
    return f->differences < 100;
}

/* Proposes an `--ignore` option for each difference, unless the option could make the mock server
 * answer for another tool or resource. */
static void propose_ignore_options(struct match *m, struct miss *f)
{
    if (f->differences == 0 || f->differences > MISS_DIFFERENCES_MAX)
        return;
    for (size_t i = 0; i < f->differences; i++) {
        struct slice p = f->difference[i].pointer;
        if (p.n == 0 || slice_is(p, "/name") || slice_is(p, "/uri") || slice_is(p, "/ref"))
            return;
    }
    for (size_t i = 0; i < f->differences; i++) {
        struct slice p = f->difference[i].pointer;
        bool plain = memchr(p.p, '\'', p.n) == NULL;
        buf_adds(&m->other, i > 0 ? " --ignore " : "--ignore ");
        buf_adds(&m->other, plain ? "'" : "\"");
        buf_slice_add(&m->other, p);
        buf_adds(&m->other, plain ? "'" : "\"");
    }
}

int match_explain_miss(struct match *m, const struct rpc *request, struct miss *f)
{
    struct nearest n;
    struct rpc recorded;
    buf_clear(&m->near);
    f->differences = 0;
    int st = find_nearest_request(m, request, f->method, f->target, &n);
    if (st < 0 || n.exchange == PLAN_NONE)
        return st;
    f->nearest_seq = source_seq_in_session(plan_get_exchange(m->plan, n.exchange)->place);
    st = read_recorded_request(m, n.exchange, &recorded);
    if (st < 0)
        return st == MI_ENOENT ? 0 : st;
    struct listing l = {.m = m, .f = f};
    (void)canon_find_differences(&recorded, request, m->rules, match_add_difference, &l);
    for (size_t i = 0; i < size_min(f->differences, MISS_DIFFERENCES_MAX); i++)
        f->difference[i] = (struct miss_difference){match_get_text_of_nearest(m, l.texts[i][0]),
                                                    match_get_text_of_nearest(m, l.texts[i][1]),
                                                    match_get_text_of_nearest(m, l.texts[i][2])};
    buf_clear(&m->other);
    if (f->kind == MISS_EXHAUSTED)
        buf_adds(&m->other, "--repeat last");
    else if (f->kind == MISS_OUT_OF_ORDER)
        buf_adds(&m->other, "--ordering match");
    else if (f->kind == MISS_DIFFERENT || f->kind == MISS_UNKNOWN_TARGET)
        propose_ignore_options(m, f);
    f->accept = buf_slice(&m->other);
    return m->near.failed || m->other.failed ? MI_ENOMEM : 0;
}
