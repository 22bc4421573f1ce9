#include "model/operations.h"

#include "tests/support/unit.h"

/* Line N of a conversation is the message of seq N, at N ms. "3>": it answers line 3; "<": it comes from the server. */
static struct call_message message_of(const char *const *lines, int64_t seq)
{
    const char *line = lines[seq - 1];
    char *end;
    struct rpc m;
    int64_t request = strtoll(line, &end, 10);
    bool is_answer = *end == '>', is_s2c = *line == '<';
    struct slice text = slice_of(is_answer ? end + 1 : is_s2c ? line + 1 : line);
    bool server_asks = is_answer && lines[request - 1][0] == '<';
    assert_int_equal(rpc_read(text, &m), 0);
    return (struct call_message){
        .seq = seq,
        .t_us = 1000 * seq,
        .size = (int64_t)text.n,
        .request_seq = is_answer ? request : 0,
        .direction = is_answer ? (server_asks ? ROW_C2S : ROW_S2C)
                     : is_s2c  ? ROW_S2C
                               : ROW_C2S,
        .kind = row_kind_of_rpc(m.kind),
        .method = m.method,
        .target = rpc_target(&m),
        .finding = m.is_error.type == JSON_TRUE ? slice_of("tool-error") : (struct slice){0},
        .link = link_read_from_message(&m),
    };
}

static void run(struct operations *o, const char *const *lines, size_t n, int64_t *operation_seq)
{
    struct call_set set = {0};
    operations_clear(o);
    for (size_t i = 0; i < n; i++) {
        struct call *call;
        int64_t seq;
        struct call_message m = message_of(lines, (int64_t)i + 1);
        int step = call_set_add_message(&set, &m, &call, &seq);
        assert_true(step >= 0);
        if (m.kind == KIND_NOTIFICATION)
            operations_update_task_state(o, m.direction, m.seq, m.t_us, &m.link);
        else if (step == CALLS_BEGAN)
            operations_continue_with_request(o, call, &m.link);
        else if (step == CALLS_ENDED)
            operations_add_ended_call(o, call, &m.link);
    }
    const struct call *c;
    memset(operation_seq, 0, (n + 1) * sizeof *operation_seq);
    while ((c = call_set_take_next_ended_call(&set, true)) != NULL)
        operation_seq[c->seq] = c->operation_seq;
    call_set_close(&set);
}

/* clang-format off */
#define ASK                                                                                        \
    "\"inputRequests\":{\"k\":{\"method\":\"elicitation/create\",\"params\":{\"message\":\"?\"}}}"
#define CALL(name, more)                                                                           \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"" name "\"" more "}}"
#define RESULT(more) "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{" more "}}"
#define ASKED(state) RESULT("\"resultType\":\"input_required\",\"requestState\":\"" state "\"," ASK)
#define DONE RESULT("\"resultType\":\"complete\",\"content\":[]")
#define RETRY(name, state) CALL(name, ",\"requestState\":\"" state "\",\"inputResponses\":{\"k\":{}}")
#define GET(id) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks/get\",\"params\":{\"taskId\":\"" id "\"}}"
#define RESULT_OF(id) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks/result\",\"params\":{\"taskId\":\"" id "\"}}"
#define OF_TASK(method)                                                                            \
    "<{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"" method "\",\"params\":{\"_meta\":{"                  \
    "\"io.modelcontextprotocol/related-task\":{\"taskId\":\"t\"}}}}"
#define TASK(status, more) "\"taskId\":\"t\",\"status\":\"" status "\"" more

/* requests, asked, status, closing, duration, server and person in ms; of the operation that began first */
static const struct {
    const char *what;
    const char *line[12];
    int64_t operation_seq[13];
    int64_t requests, asked;
    enum call_status status;
    int64_t closing, took, server, person;
} rows[] = {
    {"a call", {CALL("a", ""), "1>" DONE}, {0}, 0, 0, CALL_OK, 0, 0, 0, 0},
    {"input, and the call again",
     {CALL("a", ""), "1>" ASKED("s"), CALL("b", ""), RETRY("a", "s"), "4>" DONE, "3>" DONE},
     {[4] = 1}, 2, 1, CALL_OK, 5, 4, 2, 2},
    {"twice, and an error",
     {CALL("a", ""), "1>" ASKED("s"), RETRY("a", "s"), "3>" ASKED("t"), RETRY("a", "t"),
      "5>{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1,\"message\":\"\"}}"},
     {[3] = 1, [5] = 1}, 3, 2, CALL_ERROR, 6, 5, 3, 2},
    {"never answered", {CALL("a", ""), "1>" ASKED("s")}, {0}, 1, 1, CALL_OPEN, 0, -1, 1, 0},
    {"only a state: nobody is asked",
     {CALL("a", ""), "1>" RESULT("\"resultType\":\"input_required\",\"requestState\":\"s\""),
      CALL("a", ",\"requestState\":\"s\""), "3>" DONE},
     {[3] = 1}, 2, 0, CALL_OK, 4, 3, 2, 0},
    {"only requests, without a state",
     {CALL("a", ""), "1>" RESULT("\"resultType\":\"input_required\"," ASK),
      CALL("a", ",\"inputResponses\":{\"k\":{}}"), "3>" DONE},
     {[3] = 1}, 2, 1, CALL_OK, 4, 3, 2, 1},
    {"another tool", {CALL("a", ""), "1>" ASKED("s"), RETRY("b", "s"), "3>" DONE}, {0}, 1, 1,
     CALL_OPEN, 0, -1, 1, 0},
    {"another state", {CALL("a", ""), "1>" ASKED("s"), RETRY("a", "t"), "3>" DONE}, {0}, 1, 1,
     CALL_OPEN, 0, -1, 1, 0},
    {"the state a second time",
     {CALL("a", ""), "1>" ASKED("s"), RETRY("a", "s"), "3>" DONE, RETRY("a", "s"), "5>" DONE},
     {[3] = 1}, 2, 1, CALL_OK, 4, 3, 2, 1},
    {"two that wait with one state",
     {CALL("a", ""), "1>" ASKED("s"), CALL("a", ""), "3>" ASKED("s"), RETRY("a", "s"), "5>" DONE},
     {0}, 1, 1, CALL_OPEN, 0, -1, 1, 0},
    {"one state after the other",
     {CALL("a", ""), "1>" ASKED("s"), RETRY("a", "s"), "3>" DONE, CALL("a", ""), "5>" ASKED("s"),
      RETRY("a", "s"), "7>" DONE},
     {[3] = 1, [7] = 5}, 2, 1, CALL_OK, 4, 3, 2, 1},
    {"a task of 2026-07-28 that asks",
     {CALL("a", ""), "1>" RESULT("\"resultType\":\"task\"," TASK("working", "")), GET("t"),
      "3>" RESULT("\"resultType\":\"complete\"," TASK("working", "")), GET("t"),
      "5>" RESULT("\"resultType\":\"complete\"," TASK("input_required", "," ASK)),
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks/update\",\"params\":{\"taskId\":\"t\",\"inputResponses\":{\"k\":{}}}}",
      "7>" RESULT("\"resultType\":\"complete\""), GET("t"),
      "9>" RESULT("\"resultType\":\"complete\"," TASK("completed", ",\"result\":{\"isError\":true}")),
      GET("t"), "11>" RESULT(TASK("completed", ",\"result\":{}"))},
     {[3] = 1, [5] = 1, [7] = 1, [9] = 1, [11] = 1}, 6, 1, CALL_TOOL_ERROR, 10, 9, 8, 1},
    {"a task of 2025-11-25: its result ends it, and a request belongs to it",
     {CALL("a", ",\"task\":{}"), "1>" RESULT("\"task\":{" TASK("working", "") "}"), GET("t"),
      "3>" RESULT(TASK("input_required", "")),
      "<{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"elicitation/create\",\"params\":{\"_meta\":{"
      "\"io.modelcontextprotocol/related-task\":{\"taskId\":\"t\"}}}}",
      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/other\",\"params\":{}}",
      "<{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks/status\",\"params\":{" TASK("completed", "") "}}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks/result\",\"params\":{\"taskId\":\"t\"}}",
      "8>" RESULT("\"content\":[]")},
     {[3] = 1, [5] = 1, [8] = 1}, 3, 1, CALL_OK, 7, 6, 4, 2},
    {"after the end, tasks/result says only whether the tool has failed",
     {CALL("a", ",\"task\":{}"), "1>" RESULT("\"task\":{" TASK("working", "") "}"), GET("t"),
      "3>" RESULT(TASK("completed", "")), RESULT_OF("t"), "5>" RESULT("\"isError\":true"), RESULT_OF("t"),
      "7>{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"\"}}"},
     {[3] = 1, [5] = 1, [7] = 1}, 4, 0, CALL_TOOL_ERROR, 4, 3, 3, 0},
    {"a task that asks for roots, and a ping of it: nobody waits for a person",
     {CALL("a", ",\"task\":{}"), "1>" RESULT("\"task\":{" TASK("working", "") "}"),
      OF_TASK("roots/list"), OF_TASK("ping"), "4>" RESULT(""), "3>" RESULT(""), GET("t"), "7>" RESULT(TASK("completed", ""))},
     {[3] = 1, [4] = 1, [7] = 1}, 2, 1, CALL_OK, 8, 7, 4, 0},
    {"a notification ends the task",
     {CALL("a", ""), "1>" RESULT("\"resultType\":\"task\"," TASK("working", "")),
      "<{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks\",\"params\":{" TASK("cancelled", "") "}}"},
     {0}, 1, 0, CALL_CANCELLED, 3, 2, 2, 0},
    {"two tasks with one id",
     {CALL("a", ""), "1>" RESULT("\"resultType\":\"task\"," TASK("working", "")), CALL("a", ""),
      "3>" RESULT("\"resultType\":\"task\"," TASK("working", "")), GET("t"),
      "5>" RESULT(TASK("completed", ""))},
     {0}, 1, 0, CALL_OPEN, 0, -1, 1, 0},
    {"the id of a task that has ended, again",
     {CALL("a", ""), "1>" RESULT("\"resultType\":\"task\"," TASK("working", "")), GET("t"),
      "3>" RESULT(TASK("completed", "")), CALL("a", ""),
      "5>" RESULT("\"resultType\":\"task\"," TASK("working", "")), GET("t"),
      "7>" RESULT(TASK("failed", ""))},
     {[3] = 1, [7] = 5}, 2, 0, CALL_OK, 4, 3, 3, 0},
    {"a task that nobody has started", {GET("t"), "1>" RESULT(TASK("completed", ""))}, {0}, 0, 0,
     CALL_OK, 0, 0, 0, 0},
};

/* clang-format on */

static void test_operations_rows(void **state)
{
    (void)state;
    struct operations *o = calloc(1, sizeof *o);
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        int64_t seqs[13];
        size_t n = 0;
        while (n < MI_COUNT(rows[i].line) && rows[i].line[n] != NULL)
            n++;
        memset(o, 0, sizeof *o);
        run(o, rows[i].line, n, seqs);
        for (size_t k = 1; k <= n; k++)
            if (seqs[k] != rows[i].operation_seq[k])
                fail_msg("%s: line %zu is of operation %lld", rows[i].what, k, (long long)seqs[k]);
        if ((o->n > 0) != (rows[i].requests > 0))
            fail_msg("%s: %zu operations", rows[i].what, o->n);
        if (o->n == 0)
            continue;
        const struct operation *op = &o->kept[0];
        assert_int_equal(op->seq, 1);
        assert_int_equal(op->requests, rows[i].requests);
        assert_int_equal(op->asked, rows[i].asked);
        assert_int_equal(op->status, rows[i].status);
        assert_int_equal(op->closing_seq, rows[i].closing);
        assert_int_equal(op->duration_us, rows[i].took < 0 ? -1 : 1000 * rows[i].took);
        assert_int_equal(op->server_us, 1000 * rows[i].server);
        assert_int_equal(op->person_us, 1000 * rows[i].person);
    }
    free(o);
}

/* More than are kept: the oldest is forgotten, and its retry counts by itself. */
static void test_operations_are_bounded(void **state)
{
    (void)state;
    struct operations *o = calloc(1, sizeof *o);
    struct link asks = {.kind = LINK_ASKS, .key = 1}, retry = {.kind = LINK_RETRY};
    for (int64_t i = 1; i <= OPERATIONS_MAX + 1; i++) {
        asks.key = (uint64_t)i;
        operations_add_ended_call(
            o, &(struct call){.seq = i, .status = CALL_OK, .method = slice_of("tools/call")},
            &asks);
    }
    struct call c = {.seq = 1000, .status = CALL_OPEN, .method = slice_of("tools/call")};
    retry.key = 1;
    operations_continue_with_request(o, &c, &retry);
    assert_int_equal(c.operation_seq, 0);
    retry.key = 2;
    operations_continue_with_request(o, &c, &retry);
    assert_int_equal(c.operation_seq, 2);
    free(o);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations_rows),
        cmocka_unit_test(test_operations_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
