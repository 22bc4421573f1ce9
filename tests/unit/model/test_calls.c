#include "model/calls.h"

#include "base/clock.h"
#include "tests/support/unit.h"
#include "wire/mcp/rule.h"

static const char *const findings_tried[] = {
    NULL, "crlf", "timeout", "server-gone,crlf", "crlf,interrupted", "tool-error"};

static struct call_message request(int64_t seq, enum row_direction d, enum row_origin o,
                                   enum row_action a)
{
    return (struct call_message){.seq = seq,
                                 .t_us = 1000 * seq,
                                 .size = 10 + seq,
                                 .direction = d,
                                 .origin = o,
                                 .action = a,
                                 .kind = KIND_REQUEST,
                                 .method = slice_of("tools/call"),
                                 .target = slice_of("echo")};
}

static struct call_message answer(int64_t seq, int64_t request_seq, enum row_kind kind)
{
    return (struct call_message){.seq = seq,
                                 .t_us = 1000 * seq,
                                 .size = 10 + seq,
                                 .request_seq = request_seq,
                                 .direction = ROW_S2C,
                                 .kind = kind};
}

static struct slice text(const char *s)
{
    return s != NULL ? slice_of(s) : (struct slice){0};
}

static int add(struct call_set *c, const struct call_message *m, struct call **ret)
{
    int64_t seq;
    int step = call_set_add_message(c, m, ret, &seq);
    assert_true(step >= 0);
    return step;
}

/* ---- one request, one message --------------------------------------------------------------- */

/* What docs/vault.md says about the statuses, as a table of words: the first line that matches counts. '-': any. */
static const struct {
    const char *action, *kind, *origin, *finding, *status;
} rules[] = {
    {"refused", "-", "-", "-", "refused"},
    {"-", "notification", "-", "-", "cancelled"},
    {"-", "-", "interposer", "server-gone,crlf", "server-gone"},
    {"-", "-", "interposer", "crlf,interrupted", "interrupted"},
    {"-", "-", "interposer", "timeout", "timeout"},
    {"-", "error", "-", "-", "error"},
    {"-", "result", "-", "tool-error", "tool-error"},
    {"-", "result", "-", "-", "ok"},
};

static bool fits(const char *rule, const char *word)
{
    return strcmp(rule, "-") == 0 || (word != NULL && strcmp(rule, word) == 0);
}

static const char *status_by_rules(enum row_action action, const struct call_message *m,
                                   const char *finding)
{
    for (size_t i = 0; i < MI_COUNT(rules); i++)
        if (fits(rules[i].action, row_action_name(action)) &&
            fits(rules[i].kind, row_kind_name(m->kind)) &&
            fits(rules[i].origin, row_origin_name(m->origin)) && fits(rules[i].finding, finding))
            return rules[i].status;
    return "?";
}

static bool ends_by_rules(const struct call_message *q, const struct call_message *m)
{
    bool forwarded = m->action == ROW_FORWARDED, other = q->direction != m->direction;
    if (strcmp(row_kind_name(m->kind), "notification") == 0)
        return forwarded && !other && m->origin == ROW_PEER && q->origin == ROW_PEER;
    if (strcmp(row_kind_name(m->kind), "result") != 0 &&
        strcmp(row_kind_name(m->kind), "error") != 0)
        return false;
    return other && (forwarded || q->origin == ROW_INTERPOSER);
}

static void compare_cell(const struct call_message *q, const struct call_message *m,
                         const char *finding)
{
    struct call_set c = {.borrows = true};
    struct call *call;
    assert_int_equal(add(&c, q, &call), CALLS_BEGAN);
    assert_int_equal(call->closing_seq, 0);
    assert_int_equal(call->status, q->action == ROW_REFUSED ? CALL_REFUSED : CALL_OPEN);
    assert_int_equal(call->duration_us, q->action == ROW_REFUSED ? 0 : -1);
    int step = add(&c, m, &call);
    if (m->kind == KIND_REQUEST) {
        assert_int_equal(step, CALLS_BEGAN);
        assert_int_equal(call->seq, m->seq);
    } else if (!ends_by_rules(q, m)) {
        assert_int_equal(step, CALLS_NOTHING);
        assert_int_equal(c.call[0].closing_seq, 0);
    } else {
        bool cancels = m->kind == KIND_NOTIFICATION;
        assert_int_equal(step, CALLS_ENDED);
        assert_ptr_equal(call, &c.call[0]);
        assert_string_equal(call_status_name(call->status), status_by_rules(q->action, m, finding));
        assert_int_equal(call->closing_seq, m->seq);
        assert_int_equal(call->duration_us, m->t_us - q->t_us);
        assert_int_equal(call->response_size, cancels ? -1 : m->size);
        assert_int_equal(call->has_error_code, !cancels && m->has_error_code);
        assert_int_equal(call->error_code, !cancels && m->has_error_code ? -32603 : 0);
        assert_int_equal(add(&c, m, &call), CALLS_NOTHING); /* a second one changes nothing */
    }
    call_set_close(&c);
}

static void test_calls_each_kind_origin_action_and_finding_ends_what_it_should(void **state)
{
    (void)state;
    for (int q = 0; q < 2 * 2 * 3; q++)
        for (int m = 0; m < KIND_UNKNOWN * 2 * 2 * 3; m++)
            for (size_t f = 0; f < MI_COUNT(findings_tried); f++) {
                struct call_message asked = request(1, q % 2, q / 2 % 2, q / 4);
                struct call_message given = answer(5, 1, m / 12);
                given.direction = m % 2;
                given.origin = m / 2 % 2;
                given.action = m / 4 % 3;
                given.finding = text(findings_tried[f]);
                given.has_error_code = given.kind == KIND_ERROR;
                given.error_code = -32603;
                compare_cell(&asked, &given, findings_tried[f]);
            }
}

static void test_calls_late_answer_after_a_cancellation_changes_nothing(void **state)
{
    (void)state;
    struct call_set c = {0};
    struct call *call;
    struct call_message q = request(1, ROW_C2S, ROW_PEER, ROW_FORWARDED);
    struct call_message cancel = answer(2, 1, KIND_NOTIFICATION), late = answer(3, 1, KIND_RESULT);
    cancel.direction = ROW_C2S;
    assert_int_equal(add(&c, &q, &call), CALLS_BEGAN);
    assert_int_equal(add(&c, &cancel, &call), CALLS_ENDED);
    assert_int_equal(add(&c, &late, &call), CALLS_NOTHING);
    assert_int_equal(c.call[0].status, CALL_CANCELLED);
    assert_int_equal(c.call[0].closing_seq, 2);
    assert_int_equal(c.call[0].response_size, -1);
    call_set_close(&c);
}

static void test_calls_times_out_of_range_give_valid_durations(void **state)
{
    (void)state;
    static const int64_t times[][3] = {/* request, answer, duration */
                                       {5, 4, 0},
                                       {INT64_MIN, INT64_MAX, 2 * CLOCK_MAX_US},
                                       {INT64_MAX, INT64_MIN, 0},
                                       {0, INT64_MIN, 0}};
    for (size_t i = 0; i < MI_COUNT(times); i++) {
        struct call_message q = request(1, ROW_C2S, ROW_PEER, ROW_FORWARDED);
        struct call_message a = answer(2, 1, KIND_RESULT);
        q.t_us = times[i][0];
        a.t_us = times[i][1];
        struct call_set c = {0};
        struct call *call;
        assert_int_equal(add(&c, &q, &call), CALLS_BEGAN);
        assert_int_equal(add(&c, &a, &call), CALLS_ENDED);
        assert_int_equal(call->duration_us, times[i][2]);
        call_set_close(&c);
    }
}

/* A status is found by a part of a text, and names of rules are added to it later: none may look like one. */
static void test_calls_no_other_finding_contains_the_name_of_a_status(void **state)
{
    (void)state;
    static const findings statuses = FINDING(FIND_TIMEOUT) | FINDING(FIND_SERVER_GONE) |
                                     FINDING(FIND_INTERRUPTED) | FINDING(FIND_TOOL_ERROR);
    for (int s = 0; s < FIND_COUNT; s++) {
        if ((statuses & FINDING(s)) == 0)
            continue;
        const char *name = finding_name((enum finding)s);
        for (int i = 0; i < FIND_COUNT; i++)
            assert_true(i == s || strstr(finding_name((enum finding)i), name) == NULL);
        for (int i = 0; i < RULE_COUNT; i++)
            assert_null(strstr(rule_name((enum rule)i), name));
    }
}

/* ---- requests of the proxy ------------------------------------------------------------------ */

static struct call_message own_request(int64_t seq, const char *id)
{
    struct call_message m = request(seq, ROW_C2S, ROW_INTERPOSER, ROW_FORWARDED);
    m.rpc_id = slice_of(id);
    return m;
}

static struct call_message own_answer(int64_t seq, const char *id)
{
    struct call_message m = answer(seq, 0, KIND_RESULT);
    m.action = ROW_SWALLOWED;
    m.rpc_id = slice_of(id);
    m.finding = slice_of("own-request");
    return m;
}

static void test_calls_own_request_is_ended_by_the_answer_with_its_id(void **state)
{
    (void)state;
    struct call_set c = {0};
    struct call *call;
    struct call_message m[] = {own_request(1, "\"i-1\""), own_request(2, "\"i-2\""),
                               own_answer(3, "\"i-2\""),  own_answer(4, "\"i-2\""),
                               own_answer(5, "\"i-1\""),  own_answer(6, "\"i-3\"")};
    static const int steps[] = {CALLS_BEGAN,   CALLS_BEGAN, CALLS_ENDED,
                                CALLS_NOTHING, CALLS_ENDED, CALLS_NOTHING};
    for (size_t i = 0; i < MI_COUNT(m); i++)
        assert_int_equal(add(&c, &m[i], &call), steps[i]);
    assert_int_equal(c.call[0].closing_seq, 5);
    assert_int_equal(c.call[1].closing_seq, 3);
    call_set_close(&c);
}

static void test_calls_own_request_with_a_reused_id_is_ended_oldest_first(void **state)
{
    (void)state;
    struct call_set c = {0};
    struct call *call;
    struct call_message m[] = {own_request(1, "7"), own_request(2, "7"), own_answer(3, "7")};
    for (size_t i = 0; i < MI_COUNT(m); i++)
        (void)add(&c, &m[i], &call);
    assert_int_equal(call->seq, 1);
    call_set_close(&c);
}

static void test_calls_only_the_last_own_requests_are_known_by_their_id(void **state)
{
    (void)state;
    struct call_set c = {0};
    struct call *call;
    char id[32];
    for (int64_t i = 1; i <= CALLS_OWN + 1; i++) {
        snprintf(id, sizeof id, "%d", (int)i);
        struct call_message m = own_request(i, id);
        (void)add(&c, &m, &call);
    }
    struct call_message first = own_answer(1000, "1"), second = own_answer(1001, "2");
    assert_int_equal(add(&c, &first, &call), CALLS_NOTHING);
    assert_int_equal(add(&c, &second, &call), CALLS_ENDED);
    assert_int_equal(call->seq, 2);
    call_set_close(&c);
}

/* ---- a session in parts --------------------------------------------------------------------- */

#define MESSAGES 24

struct table { /* as the database has it */
    struct call row[MESSAGES];
    size_t n;
};

static struct call *row_of(struct table *t, int64_t seq)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->row[i].seq == seq)
            return &t->row[i];
    return NULL;
}

/* Stores the calls of a batch, then those that ended an earlier one. */
static void store_batch(struct table *t, struct call_set *c, const struct call_message *late,
                        const int64_t *late_seq, size_t late_n)
{
    for (size_t i = c->first; i < c->n; i++)
        t->row[t->n++] = c->call[i];
    for (size_t i = 0; i < late_n; i++) {
        struct call *call = row_of(t, late_seq[i]);
        if (call != NULL && message_ends_call(call, &late[i]))
            call_end_by_message(call, &late[i]);
    }
    call_set_clear(c);
}

/* Bit i of splits: a batch ends after message i. */
static void add_in_batches(struct table *t, const struct call_message *m, size_t n, uint32_t splits)
{
    struct call_set c = {.borrows = true};
    struct call_message late[MESSAGES];
    int64_t late_seq[MESSAGES];
    size_t late_n = 0;
    *t = (struct table){0};
    for (size_t i = 0; i < n; i++) {
        struct call *call;
        if (call_set_add_message(&c, &m[i], &call, &late_seq[late_n]) == CALLS_ELSEWHERE)
            late[late_n++] = m[i];
        if ((splits >> i & 1) != 0 || i + 1 == n) {
            store_batch(t, &c, late, late_seq, late_n);
            late_n = 0;
        }
    }
    call_set_close(&c);
}

static void assert_same_calls(const struct table *a, const struct table *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        const struct call *x = &a->row[i], *y = &b->row[i];
        assert_int_equal(x->seq, y->seq);
        assert_int_equal(x->closing_seq, y->closing_seq);
        assert_int_equal(x->status, y->status);
        assert_int_equal(x->duration_us, y->duration_us);
        assert_int_equal(x->response_size, y->response_size);
        assert_int_equal(x->has_error_code, y->has_error_code);
        assert_int_equal(x->error_code, y->error_code);
    }
}

static struct call_message random_message(struct unit_random *r, int64_t seq)
{
    static const char *const ids[] = {"1", "2", "3"};
    struct call_message m = request(seq, (enum row_direction)unit_random(r, 2),
                                    unit_random(r, 4) == 0 ? ROW_INTERPOSER : ROW_PEER,
                                    (enum row_action)unit_random(r, 3));
    m.rpc_id = slice_of(ids[unit_random(r, MI_COUNT(ids))]);
    if (unit_random(r, 2) == 0)
        return m;
    m.kind = (enum row_kind)unit_random(r, KIND_UNKNOWN);
    m.request_seq = unit_random(r, 3) == 0 ? 0 : (int64_t)unit_random(r, (size_t)seq + 2);
    m.finding =
        unit_random(r, 3) == 0 ? slice_of("own-request") : text(findings_tried[unit_random(r, 6)]);
    m.has_error_code = m.kind == KIND_ERROR;
    m.error_code = -seq;
    return m;
}

static void test_calls_are_the_same_wherever_a_batch_ends(void **state)
{
    (void)state;
    struct unit_random r = {7};
    size_t rounds = unit_slow() ? 20 : 400;
    for (size_t round = 0; round < rounds; round++) {
        struct call_message m[MESSAGES];
        struct table whole, parts;
        for (size_t i = 0; i < MESSAGES; i++)
            m[i] = random_message(&r, (int64_t)i + 1);
        add_in_batches(&whole, m, MESSAGES, 0);
        for (size_t at = 0; at < MESSAGES; at++) {
            add_in_batches(&parts, m, MESSAGES, 1u << at);
            assert_same_calls(&whole, &parts);
        }
        add_in_batches(&parts, m, MESSAGES, UINT32_MAX);
        assert_same_calls(&whole, &parts);
    }
}

static void test_calls_taken_come_in_the_order_of_their_requests(void **state)
{
    (void)state;
    struct call_set c = {0};
    struct call *call;
    for (int64_t seq = 1; seq <= 3; seq++) {
        char target[] = "echo"; /* copied: it does not live longer */
        struct call_message q = request(seq, ROW_C2S, ROW_PEER, ROW_FORWARDED);
        q.target.p = target;
        (void)add(&c, &q, &call);
        memset(target, 'x', sizeof target);
    }
    struct call_message second = answer(4, 2, KIND_RESULT), first = answer(5, 1, KIND_RESULT);
    (void)add(&c, &second, &call);
    assert_null(call_set_take_next_ended_call(&c, false));
    (void)add(&c, &first, &call);
    assert_int_equal(call_set_take_next_ended_call(&c, false)->seq, 1);
    const struct call *taken = call_set_take_next_ended_call(&c, false);
    assert_int_equal(taken->seq, 2);
    assert_true(slice_is(taken->target, "echo"));
    assert_null(call_set_take_next_ended_call(&c, false));
    assert_int_equal(call_set_take_next_ended_call(&c, true)->seq, 3);
    assert_null(call_set_take_next_ended_call(&c, true));
    call_set_close(&c);
}

static void test_calls_taken_need_no_memory(void **state)
{
    (void)state;
    struct call_set c = {0};
    struct call *call;
    for (int64_t seq = 1; seq < 10000; seq += 2) {
        struct call_message q = request(seq, ROW_C2S, ROW_PEER, ROW_FORWARDED);
        struct call_message a = answer(seq + 1, seq, KIND_RESULT);
        (void)add(&c, &q, &call);
        assert_int_equal(add(&c, &a, &call), CALLS_ENDED);
        assert_int_equal(call_set_take_next_ended_call(&c, false)->seq, seq);
    }
    assert_true(c.cap <= 64);
    call_set_close(&c);
}

/* Results of methods that fill a model's context, of the client's requests, and only if their answer was forwarded. */
static void test_calls_tokens_are_those_of_results_for_the_client(void **state)
{
    static const char body[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":"
                               "\"text\",\"text\":\"one\"}]}}";
    static const struct {
        const char *method;
        enum row_direction direction;
        enum row_action action;
        bool has_body;
        int64_t tokens;
    } rows[] = {
        {"tools/call", ROW_C2S, ROW_FORWARDED, true, 1},
        {"tasks/result", ROW_C2S, ROW_FORWARDED, true, 1},
        {"tools/call", ROW_C2S, ROW_FORWARDED, false, 7},
        {"tools/list", ROW_C2S, ROW_FORWARDED, true, -1},
        {"sampling/createMessage", ROW_S2C, ROW_FORWARDED, true, -1},
        {"elicitation/create", ROW_S2C, ROW_FORWARDED, false, -1},
        {"tools/call", ROW_S2C, ROW_FORWARDED, true, -1},
        {"tools/call", ROW_C2S, ROW_SWALLOWED, true, -1},
    };
    (void)state;
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct call c = {.method = slice_of(rows[i].method), .direction = rows[i].direction};
        struct call_message m = answer(2, 1, KIND_RESULT);
        m.action = rows[i].action;
        m.result = (struct context_result){7, 0, 0};
        if (rows[i].has_body)
            m.body = slice_of(body);
        call_end_by_message(&c, &m);
        if (c.result.tokens != rows[i].tokens || (c.result.binaries < 0) != (c.result.tokens < 0))
            fail_msg("row %zu: %lld tokens", i, (long long)c.result.tokens);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_each_kind_origin_action_and_finding_ends_what_it_should),
        cmocka_unit_test(test_calls_late_answer_after_a_cancellation_changes_nothing),
        cmocka_unit_test(test_calls_times_out_of_range_give_valid_durations),
        cmocka_unit_test(test_calls_no_other_finding_contains_the_name_of_a_status),
        cmocka_unit_test(test_calls_own_request_is_ended_by_the_answer_with_its_id),
        cmocka_unit_test(test_calls_own_request_with_a_reused_id_is_ended_oldest_first),
        cmocka_unit_test(test_calls_only_the_last_own_requests_are_known_by_their_id),
        cmocka_unit_test(test_calls_are_the_same_wherever_a_batch_ends),
        cmocka_unit_test(test_calls_taken_come_in_the_order_of_their_requests),
        cmocka_unit_test(test_calls_taken_need_no_memory),
        cmocka_unit_test(test_calls_tokens_are_those_of_results_for_the_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
