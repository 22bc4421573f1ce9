/* The rule for tools in a session: what the peers get, what is recorded, and how the list is asked for. */
#include "proxy/session/tool_gate.h"

#include "tests/support/traffic_words.h"
#include "wire/mcp/tool_rule.h"

#define LIST(id) "{'jsonrpc':'2.0','id':" id ",'method':'tools/list'}"
#define TOOLS(id, tools) "{'jsonrpc':'2.0','id':" id ",'result':{'tools':[" tools "]}}"
#define ASKED(n) "{'jsonrpc':'2.0','id':'mcp-interposer:" n "','method':'tools/list','params':{}}"
#define ANSWER(n, more) "S {'jsonrpc':'2.0','id':'mcp-interposer:" n "'," more "}"
#define LISTED(n, tools) ANSWER(n, "'result':{'tools':[" tools "]}")
#define CHANGED "S {'jsonrpc':'2.0','method':'notifications/tools/list_changed'}"
#define A "{'name':'a'}"
#define H "{'name':'h'}"
#define R "{'name':'r','annotations':{'readOnlyHint':true}}"
#define LSP_CANCEL(id) "{'jsonrpc':'2.0','method':'$/cancelRequest','params':{'id':" id "}}"
#define MANY_STEPS 12

static const struct {
    const char *rule;
    const char *step[MANY_STEPS];
    const char *server, *client; /* what they get */
} rows[] = {
    /* lists and calls */
    {"hide-tools = h",
     {"C " LIST("1"), "S " TOOLS("1", H "," A)},
     LIST("1") "|",
     TOOLS("1", A) "|"},
    {"hide-tools = h",
     {"C " CALL("1", "h"), "C " CALL("2", "a")},
     CALL("2", "a") "|",
     "<1 -32602 tool-hidden>"},
    {"tools = a",
     {"C " CALL("1", "b"), "C " CALL("2", "a"), "S " OK("2")},
     CALL("2", "a") "|",
     "<1 -32602 tool-hidden>" OK("2") "|"},
    {"tools = a",
     {"C {'jsonrpc':'2.0','id':1,'method':'tools/call','params':{'name':'a','Name':'b'}}"},
     "",
     "<1 -32602 ambiguous-call>"},
    {"tools = a", {"C {'jsonrpc':'2.0','method':'tools/call','params':{'name':'b'}}"}, "", ""},
    /* an answer that could be read as a call: the server gets an error in its place */
    {"tools = a",
     {"S " PING("9"), "C {'jsonrpc':'2.0','id':9,'result':{},'Method':'tools/call'}"},
     "<9 -32603 malformed-answer>",
     PING("9") "|"},
    {"tools = a",
     {"C {'jsonrpc':'2.0','method':'tools/call','params':{'name':'a'}}"},
     "{'jsonrpc':'2.0','method':'tools/call','params':{'name':'a'}}|",
     ""},
    /* an answer to another request is not a list, an error stays one */
    {"tools = a", {"C " PING("1"), "S " TOOLS("1", H)}, PING("1") "|", TOOLS("1", H) "|"},
    {"tools = a",
     {"C " PING("1"), "C " LIST("1"), "S " TOOLS("1", H)},
     PING("1") "|" LIST("1") "|",
     TOOLS("1", "") "|"},
    {"tools = a",
     {"C " LIST("1"),
      "S {'jsonrpc':'2.0','id':1,'error':{'code':1,'message':'m','data':{'tools':[" H "]}}}"},
     LIST("1") "|",
     "{'jsonrpc':'2.0','id':1,'error':{'code':1,'message':'m','data':{'tools':[" H "]}}}|"},
    /* an id of another type is repaired, and the list is cut */
    {"tools = a", {"C " LIST("1"), "S " TOOLS("'1'", H "," A)}, LIST("1") "|", TOOLS("1", A) "|"},
    /* read-only: the list is asked for, and what follows waits */
    {"read-only",
     {"C " CALL("1", "r"), "C " PING("2"), LISTED("1", R)},
     ASKED("1") "|" PING("2") "|" CALL("1", "r") "|",
     ""},
    {"read-only",
     {"C " CALL("1", "r"), "C " CALL("2", "r"), "C " CANCEL("7"), "C " CANCEL("2"), LISTED("1", R)},
     ASKED("1") "|" CANCEL("7") "|" CALL("1", "r") "|" CALL("2", "r") "|" CANCEL("2") "|",
     ""},
    /* after a failure nobody is asked for some time, or until the list changes */
    {"read-only",
     {"C " CALL("1", "r"), ANSWER("1", "'error':{'code':1,'message':''}"), "C " CALL("2", "r")},
     ASKED("1") "|",
     "<1 -32602 tool-unlisted><2 -32602 tool-unlisted>"},
    {"read-only",
     {"C " CALL("1", "h"), LISTED("1", R "," H)},
     ASKED("1") "|",
     "<1 -32602 tool-hidden>"},
    {"read-only",
     {"C " CALL("1", "r"), ANSWER("1", "'error':{'code':1,'message':''}"), CHANGED,
      "C " CALL("2", "r"), LISTED("2", R)},
     ASKED("1") "|" ASKED("2") "|" CALL("2", "r") "|",
     "<1 -32602 tool-unlisted>{'jsonrpc':'2.0','method':'notifications/tools/list_changed'}|"},
    {"read-only",
     {"C " CALL("1", "r"), ANSWER("7", "'result':{'tools':[" R "]}"), LISTED("1", R)},
     ASKED("1") "|" CALL("1", "r") "|",
     ""},
    {"read-only",
     {"C " LIST("1"), "S " TOOLS("1", R), "C " CALL("2", "r"), "C " CALL("3", "h")},
     LIST("1") "|" CALL("2", "r") "|",
     TOOLS("1", R) "|<3 -32602 tool-unlisted>"},
    {"read-only",
     {"C " LIST("1"), "S " TOOLS("1", R), CHANGED, "C " CALL("2", "r"), LISTED("1", R)},
     LIST("1") "|" ASKED("1") "|" CALL("2", "r") "|",
     TOOLS("1", R) "|{'jsonrpc':'2.0','method':'notifications/tools/list_changed'}|"},
    {"read-only",
     {"C " CALL("1", "r"), "C " CANCEL("1"), LISTED("1", R)},
     ASKED("1") "|" CALL("1", "r") "|" CANCEL("1") "|",
     ""},
    {"read-only",
     {"C " CALL("1", "r"), "C " LSP_CANCEL("1"), LISTED("1", R)},
     ASKED("1") "|" CALL("1", "r") "|" LSP_CANCEL("1") "|",
     ""},
    {"read-only",
     {"C " CALL("1", "h"), "C " CANCEL("1"), LISTED("1", R "," H)},
     ASKED("1") "|",
     "<1 -32602 tool-hidden>"},
    /* the cancellation of a refused call is not forwarded, unless its id was used again */
    {"tools = a",
     {"C " CALL("1", "h"), "C " CANCEL("1"), "C " CANCEL("'1'")},
     CANCEL("'1'") "|",
     "<1 -32602 tool-hidden>"},
    {"tools = a",
     {"C " CALL("1", "h"), "C " CALL("1", "a"), "C " CANCEL("1")},
     CALL("1", "a") "|" CANCEL("1") "|",
     "<1 -32602 tool-hidden>"},
    {"tools = a",
     {"C " CALL("1", "h"), "C " CALL("1", "a"), "S " OK("1"), "C " CANCEL("1")},
     CALL("1", "a") "|" CANCEL("1") "|",
     "<1 -32602 tool-hidden>" OK("1") "|"},
    {"tools = a",
     {"C " CALL("1", "h"), "C " LSP_CANCEL("1"), "C " LSP_CANCEL("2")},
     LSP_CANCEL("2") "|",
     "<1 -32602 tool-hidden>"},
    {"read-only",
     {"C " CALL("1", "x"), LISTED("1", R "," H)},
     ASKED("1") "|",
     "<1 -32602 tool-unlisted>"},
    {"tools = a; read-only",
     {"C " CALL("1", "r")},
     "",
     "<1 -32602 tool-hidden>"}, /* nobody is asked */
    /* an empty cursor is no cursor */
    {"read-only",
     {"C " LIST("1"), "S {'jsonrpc':'2.0','id':1,'result':{'tools':[" R "],'nextCursor':''}}",
      "C " CALL("2", "r")},
     LIST("1") "|" CALL("2", "r") "|",
     "{'jsonrpc':'2.0','id':1,'result':{'tools':[" R "],'nextCursor':''}}|"},
    {"read-only",
     {"C " CALL("1", "r"), ANSWER("1", "'result':{'tools':[" R "],'nextCursor':''}")},
     ASKED("1") "|" CALL("1", "r") "|",
     ""},
    /* a list from which nothing can be cut is refused */
    {"tools = a",
     {"C " LIST("1"), "S {'jsonrpc':'2.0','id':1,'result':[{'tools':[" H "]}]}"},
     LIST("1") "|",
     "<1 -32603 malformed-answer>"},
    {"tools = a",
     {"C " LIST("1"), "S {'jsonrpc':'2.0','id':1,'result':{'tools':{'x':" H "}}}"},
     LIST("1") "|",
     "<1 -32603 malformed-answer>"},
    {"tools = a",
     {"C " LIST("1"), "S {'jsonrpc':'2.0','id':1,'result':{'tools':[],'Tools':[" H "]}}"},
     LIST("1") "|",
     "<1 -32603 malformed-answer>"},
    {"tools = a",
     {"C " LIST("1"),
      "S {'jsonrpc':'2.0','id':1,'result':{'tools':[]},'Result':{'tools':[" H "]}}"},
     LIST("1") "|",
     "<1 -32603 malformed-answer>"},
    {"tools = a",
     {"C " LIST("1"),
      "S {'jsonrpc':'2.0','id':1,'error':{'code':1,'message':'m'},'result\\u0000':{'tools':[" H
      "]}}"},
     LIST("1") "|",
     "<1 -32603 malformed-answer>"},
    {"tools = a",
     {"C " PING("1"), "C " LIST("1"), "S {'jsonrpc':'2.0','id':1,'result':{'Tools':[" H "]}}"},
     PING("1") "|" LIST("1") "|",
     "<1 -32603 malformed-answer>"},
    {"tools = a", {"C " LIST("1"), "S " OK("1")}, LIST("1") "|", OK("1") "|"},
    /* the id of our own request is ours, whatever the client has asked */
    {"read-only",
     {"C " PING("'mcp-interposer:1'"), "C " CALL("2", "r"), LISTED("1", R "," H)},
     PING("'mcp-interposer:1'") "|" ASKED("1") "|" CALL("2", "r") "|",
     ""},
    {"read-only",
     {"S " PING("9"), "C " CALL("1", "r"), "C " OK("9"), LISTED("1", R)},
     ASKED("1") "|" OK("9") "|" CALL("1", "r") "|",
     PING("9") "|"},
};

static void test_tool_gate_each_peer_gets_what_the_rule_says(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct tool_rule rule;
        struct buf why = {0};
        assert_int_equal(tool_rule_read(&rule, slice_of(rows[i].rule), &why), 0);
        traffic_begin(f, VALIDATE_WIRE, MAX);
        f->traffic.gate.rule = &rule;
        for (size_t k = 0; k < MANY_STEPS && rows[i].step[k] != NULL; k++)
            traffic_say(f, rows[i].step[k]);
        traffic_turn(f);
        if (strcmp(traffic_got(f, ROW_C2S), rows[i].server) != 0)
            fail_msg("row %zu, the server got %s", i, traffic_got(f, ROW_C2S));
        if (strcmp(traffic_got(f, ROW_S2C), rows[i].client) != 0)
            fail_msg("row %zu, the client got %s", i, traffic_got(f, ROW_S2C));
        traffic_end(f);
        tool_rule_close(&rule);
    }
}

static void begin_read_only(struct fixture *f, struct tool_rule *rule)
{
    struct buf why = {0};
    assert_int_equal(tool_rule_read(rule, slice_of("read-only"), &why), 0);
    traffic_begin(f, VALIDATE_WIRE, MAX);
    f->traffic.gate.rule = rule;
}

static void test_tool_gate_list_has_a_deadline(void **state)
{
    struct fixture *f = *state;
    struct tool_rule rule;
    begin_read_only(f, &rule);
    assert_int_equal(expire_start_timers_and_get_wait(&f->traffic), -1);
    traffic_say(f, "C " CALL("1", "r"));
    assert_int_equal(expire_start_timers_and_get_wait(&f->traffic), TOOL_ASK_US);
    f->journal.now_us += TOOL_ASK_US - 1;
    expire_due_requests(&f->traffic);
    traffic_release_waiting_lines(&f->traffic);
    assert_true(tool_ask_has_waiting_lines(&f->traffic));
    f->journal.now_us += 1;
    expire_due_requests(&f->traffic);
    traffic_release_waiting_lines(&f->traffic);
    assert_false(tool_ask_has_waiting_lines(&f->traffic));
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C), "<1 -32602 tool-unlisted>");
    traffic_say(f, LISTED("1", R)); /* too late */
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_C2S), ASKED("1") "|");
    traffic_end(f);
    tool_rule_close(&rule);
}

static void test_tool_gate_cancellation_belongs_to_the_newest_refused_call(void **state)
{
    struct fixture *f = *state;
    struct tool_rule rule;
    struct buf why = {0};
    assert_int_equal(tool_rule_read(&rule, slice_of("tools = a"), &why), 0);
    traffic_begin(f, VALIDATE_WIRE, MAX);
    f->traffic.gate.rule = &rule;
    for (int i = 0; i < REFUSED_MAX - 1; i++)
        traffic_say(f, "C " CALL("1", "h"));
    for (int i = 0; i < 4; i++) {
        traffic_say(f, "C " CALL("1", "h"));
        uint64_t called = f->journal.n - 1; /* its error follows it */
        traffic_say(f, "C " CANCEL("1"));
        assert_int_equal(f->journal.row[f->journal.n - 1].request_seq, called);
    }
    traffic_end(f);
    tool_rule_close(&rule);
}

/* The client does not read, so the proxy does not read the server: its list may be in the pipe. */
static void test_tool_gate_list_has_no_deadline_while_the_server_is_not_read(void **state)
{
    struct fixture *f = *state;
    struct tool_rule rule;
    begin_read_only(f, &rule);
    traffic_say(f, "C " CALL("1", "r"));
    assert_true(expire_set_server_not_reading(&f->traffic, true));
    f->journal.now_us += 2 * (int64_t)TOOL_ASK_US;
    assert_int_equal(expire_start_timers_and_get_wait(&f->traffic), -1);
    expire_due_requests(&f->traffic);
    traffic_release_waiting_lines(&f->traffic);
    assert_true(tool_ask_has_waiting_lines(&f->traffic));
    assert_true(expire_set_server_not_reading(&f->traffic, false));
    traffic_say(f, LISTED("1", R));
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_C2S), ASKED("1") "|" CALL("1", "r") "|");
    traffic_end(f);
    tool_rule_close(&rule);
}

static void test_tool_gate_call_that_waits_has_the_time_of_its_arrival(void **state)
{
    struct fixture *f = *state;
    struct tool_rule rule;
    begin_read_only(f, &rule);
    f->journal.now_us = 1000;
    traffic_say(f, "C " CALL("1", "r"));
    f->journal.now_us = 3000000;
    traffic_say(f, LISTED("1", R));
    const struct pending *p = f->traffic.open[ROW_C2S].open.oldest;
    assert_int_equal(p->t_us, 1000);
    assert_int_equal(f->journal.row[p->request_seq - 1].t_us, 1000);
    traffic_say(f, "C " CALL("2", "r"));
    assert_int_equal(p->next->t_us, 3000000);
    assert_int_equal(f->journal.row[p->next->request_seq - 1].t_us, 3000000);
    traffic_end(f);
    tool_rule_close(&rule);
}

static void test_tool_gate_new_process_is_asked_again(void **state)
{
    struct fixture *f = *state;
    struct tool_rule rule;
    begin_read_only(f, &rule);
    traffic_say(f, "C " CALL("1", "r"));
    tool_ask_list_tools_again(&f->traffic);
    traffic_say(f, LISTED("1", R)); /* of the old one */
    assert_true(tool_ask_has_waiting_lines(&f->traffic));
    traffic_say(f, LISTED("2", R));
    assert_false(tool_ask_has_waiting_lines(&f->traffic));
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_C2S), ASKED("1") "|" ASKED("2") "|" CALL("1", "r") "|");
    traffic_end(f);
    tool_rule_close(&rule);
}

static void test_tool_gate_too_many_messages_end_the_wait(void **state)
{
    struct fixture *f = *state;
    struct tool_rule rule;
    begin_read_only(f, &rule);
    traffic_say(f, "C " CALL("1", "r"));
    for (int i = 0; i < TOOL_ASK_LINES_MAX; i++)
        traffic_say(f, "C {'jsonrpc':'2.0','method':'tools/call','params':{'name':'r'}}");
    traffic_turn(f);
    assert_false(tool_ask_has_waiting_lines(&f->traffic));
    assert_string_equal(traffic_got(f, ROW_S2C), "<1 -32602 tool-unlisted>");
    assert_true(said_holds("too many messages of the client wait for the list of tools"));
    traffic_end(f);
    tool_rule_close(&rule);
}

static void test_tool_gate_decides_also_if_the_server_reads_no_more(void **state)
{
    struct fixture *f = *state;
    struct tool_rule rule;
    struct buf why = {0};
    assert_int_equal(tool_rule_read(&rule, slice_of("tools = a; read-only"), &why), 0);
    traffic_begin(f, VALIDATE_WIRE, MAX);
    f->traffic.gate.rule = &rule;
    outbox_discard_after_error(&f->traffic.out[ROW_C2S]);
    traffic_say(f, "C " CALL("1", "h"));
    traffic_say(
        f, "C {'jsonrpc':'2.0','id':2,'method':'tools/call','params':{'name':'a','Name':'h'}}");
    traffic_say(f, "C " CALL("3", "a")); /* its hint is not known, and nobody can be asked */
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C),
                        "<1 -32602 tool-hidden><2 -32602 ambiguous-call><3 -32602 tool-unlisted>");
    traffic_end(f);
    tool_rule_close(&rule);
}

static int escalated;

static void on_rule(void *owner, const char *happened)
{
    (void)owner;
    assert_non_null(strstr(happened, "the rule hides all 2 tools of the server; rule: tools = x"));
    escalated++;
}

static void begin_rule(struct fixture *f, struct tool_rule *rule, const char *text)
{
    struct buf why = {0};
    assert_int_equal(tool_rule_read(rule, slice_of(text), &why), 0);
    traffic_begin(f, VALIDATE_WIRE, MAX);
    f->traffic.gate.rule = rule;
    f->traffic.on_rule = on_rule;
    escalated = 0;
}

static void test_tool_gate_refusals_and_cuts_are_recorded(void **state)
{
    struct fixture *f = *state;
    struct tool_rule rule;
    begin_rule(f, &rule, "hide-tools = h, gone; read-only");
    traffic_say(f, "C " LIST("1"));
    traffic_say(f, "S {'jsonrpc':'2.0','id':1,'result':{'tools':[" H "," R "],'nextCursor':'n'}}");
    assert_string_equal(fake_events(&f->journal, "tools-rule"), ""); /* the list is not complete */
    traffic_say(f, "C {'jsonrpc':'2.0','id':2,'method':'tools/list','params':{'cursor':'n'}}");
    traffic_say(f, "S " TOOLS("2", A));
    traffic_say(f, "C " CALL("3", "h"));
    traffic_say(f, "C " CALL("4", "x"));
    traffic_say(f, "C {'jsonrpc':'2.0','id':5,'method':'tools/call','params':{}}");
    traffic_turn(f);
    assert_non_null(
        strstr(traffic_rows(f), "c2s request refused 3 tools/call h - - - tool-hidden"));
    assert_non_null(
        strstr(traffic_rows(f), "c2s request refused 4 tools/call x - - - tool-unlisted"));
    assert_non_null(
        strstr(traffic_rows(f), "c2s request refused 5 tools/call - - - - ambiguous-call"));
    assert_true(said_holds("rejected: server=srv unknown tool 'h'"));
    assert_true(said_holds(
        "the server has no such tool: 'gone'; rule: hide-tools = h, gone; read-only: server=srv"));
    const char *hidden = fake_events(&f->journal, "tools-hidden");
    assert_non_null(strstr(hidden, "\"rule\":\"hide-tools = h, gone; "
                                   "read-only\",\"hidden\":[\"h\"],\"hidden_n\":1,\"listed_n\":2"));
    assert_non_null(strstr(hidden, "\"hidden\":[\"a\"],\"hidden_n\":1,\"listed_n\":1"));
    assert_non_null(strstr(fake_events(&f->journal, "tools-rule"),
                           "\"listed\":3,\"hidden\":2,\"unmatched\":[\"gone\"]"));
    assert_int_equal(escalated, 0);
    traffic_end(f);
    tool_rule_close(&rule);
}

static void test_tool_gate_a_rule_that_hides_all_is_escalated_once(void **state)
{
    struct fixture *f = *state;
    struct tool_rule rule;
    begin_rule(f, &rule, "tools = x");
    traffic_say(f, "C " LIST("1"));
    traffic_say(f, "S " TOOLS("1", A "," H));
    traffic_say(f, "C " LIST("2"));
    traffic_say(f, "S " TOOLS("2", A "," H));
    assert_int_equal(escalated, 1);
    traffic_end(f);
    tool_rule_close(&rule);
    begin_rule(f, &rule, "tools = x");
    traffic_say(f, "C " LIST("1"));
    traffic_say(f, "S " TOOLS("1", "")); /* nothing is hidden */
    assert_int_equal(escalated, 0);
    traffic_end(f);
    tool_rule_close(&rule);
}

static void test_tool_gate_without_a_rule_does_nothing(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C " LIST("1"));
    traffic_say(f, "S " TOOLS("1", H));
    traffic_say(f, "C " CALL("2", "h"));
    traffic_handle_tools_list_failure(&f->traffic, "not asked");
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_C2S), LIST("1") "|" CALL("2", "h") "|");
    assert_string_equal(traffic_got(f, ROW_S2C), TOOLS("1", H) "|");
    assert_string_equal(fake_events(&f->journal, "tools-hidden"), "");
    traffic_end(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tool_gate_each_peer_gets_what_the_rule_says,
                                        traffic_set_up, traffic_tear_down),
        cmocka_unit_test_setup_teardown(test_tool_gate_list_has_a_deadline, traffic_set_up,
                                        traffic_tear_down),
        cmocka_unit_test_setup_teardown(
            test_tool_gate_cancellation_belongs_to_the_newest_refused_call, traffic_set_up,
            traffic_tear_down),
        cmocka_unit_test_setup_teardown(
            test_tool_gate_list_has_no_deadline_while_the_server_is_not_read, traffic_set_up,
            traffic_tear_down),
        cmocka_unit_test_setup_teardown(test_tool_gate_call_that_waits_has_the_time_of_its_arrival,
                                        traffic_set_up, traffic_tear_down),
        cmocka_unit_test_setup_teardown(test_tool_gate_new_process_is_asked_again, traffic_set_up,
                                        traffic_tear_down),
        cmocka_unit_test_setup_teardown(test_tool_gate_too_many_messages_end_the_wait,
                                        traffic_set_up, traffic_tear_down),
        cmocka_unit_test_setup_teardown(test_tool_gate_decides_also_if_the_server_reads_no_more,
                                        traffic_set_up, traffic_tear_down),
        cmocka_unit_test_setup_teardown(test_tool_gate_refusals_and_cuts_are_recorded,
                                        traffic_set_up, traffic_tear_down),
        cmocka_unit_test_setup_teardown(test_tool_gate_a_rule_that_hides_all_is_escalated_once,
                                        traffic_set_up, traffic_tear_down),
        cmocka_unit_test_setup_teardown(test_tool_gate_without_a_rule_does_nothing, traffic_set_up,
                                        traffic_tear_down),
    };
    return cmocka_run_group_tests_name("tool_gate", tests, NULL, NULL);
}
