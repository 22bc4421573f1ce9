/* A call that equals one which may have run: what the client and the server get, what is recorded. */
#include "tests/support/traffic_words.h"

#define S INT64_C(1000000)
#define SEND(id) "C " SEND_OF(id, "'to':'a','n':1")
#define SEND_OF(id, arguments)                                                                     \
    "{'jsonrpc':'2.0','id':" id                                                                    \
    ",'method':'tools/call','params':{'name':'send','arguments':{" arguments "}}}"
#define SENT(id)                                                                                   \
    "S {'jsonrpc':'2.0','id':" id ",'result':{'content':[],'structuredContent':{'n':7}}}"

struct repeat_fixture {
    struct fixture *f;
    struct deadlines rules;
    char happened[1024]; /* of the last escalation */
    unsigned escalated;
};

static struct repeat_fixture r;

static void on_repeat(void *owner, const struct pending *p, const char *happened)
{
    (void)owner, (void)p;
    r.escalated++;
    snprintf(r.happened, sizeof r.happened, "%s", happened);
}

static void begin(struct fixture *f, enum on_repeat mode, enum validate v)
{
    traffic_begin(f, v, MAX);
    r = (struct repeat_fixture){.f = f};
    deadlines_open(&r.rules);
    r.rules.default_us = S;
    traffic_set_deadlines(&f->traffic, &r.rules, 0);
    repeats_open(&f->traffic.repeats, mode, 600 * S, &(struct hash_key){1, 2});
    f->traffic.on_repeat = on_repeat;
}

static void end(void)
{
    traffic_end(r.f);
    deadlines_close(&r.rules);
}

/* Everything is written, and time passes. */
static void let_pass(int64_t us)
{
    traffic_turn(r.f);
    (void)expire_start_timers_and_get_wait(&r.f->traffic);
    r.f->journal.now_us += us;
    expire_due_requests(&r.f->traffic);
    traffic_turn(r.f);
}

static void say(const char *text)
{
    traffic_say(r.f, text);
    traffic_turn(r.f);
}

static size_t count(const char *text, const char *word)
{
    size_t n = 0;
    for (; (text = strstr(text, word)) != NULL; text += strlen(word))
        n++;
    return n;
}

/* How often the server was told to send. */
static size_t sent_n(void)
{
    return count(traffic_got(r.f, ROW_C2S), "'method':'tools/call'");
}

static bool client_got(const char *text)
{
    return strstr(traffic_got(r.f, ROW_S2C), text) != NULL;
}

static bool row_is(const char *text)
{
    return strstr(traffic_rows(r.f), text) != NULL;
}

/* The decisions of the events so far. */
static const char *decisions(void)
{
    static char text[256];
    text[0] = '\0';
    for (size_t i = 0; i < r.f->journal.committed; i++) {
        const struct row *e = &r.f->journal.row[i];
        if (e->event == NULL || strcmp(e->event, "repeat") != 0)
            continue;
        struct json_value detail = {JSON_OBJECT, e->body};
        struct slice word = json_string_raw(json_get(detail, "decision"));
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%s%.*s", n > 0 ? " " : "", (int)word.n, word.p);
    }
    return text;
}

/* Request 1 has timed out, and request 2 is equal. */
static void time_out_and_repeat(void)
{
    say(SEND("1"));
    let_pass(2 * S);
    assert_true(client_got("<1 -32001 timeout>"));
    say("C " SEND_OF("2", "'n':1.0, '\\u0074o':'a'"));
}

static void test_repeat_warn_forwards_with_finding_event_and_escalation(void **state)
{
    begin(*state, ON_REPEAT_WARN, VALIDATE_WIRE);
    time_out_and_repeat();
    assert_int_equal(sent_n(), 2);
    assert_true(row_is("c2s request forwarded 2 tools/call send - - - repeat-of-uncertain"));
    assert_string_equal(decisions(), "forwarded");
    assert_int_equal(r.escalated, 1);
    assert_non_null(
        strstr(r.happened, "(tools/call send) equals request 1, which was received 2.00s ago"));
    assert_non_null(
        strstr(r.happened, "the call was not answered before its deadline; no answer to the call"));
    assert_true(said_holds("a call equals an earlier call that may have run: server=srv"));
    say(SENT("2"));
    say(SEND("3")); /* the answer to 2 was given: this is a call of its own */
    assert_int_equal(sent_n(), 3);
    assert_string_equal(decisions(), "forwarded");
    end();
}

static void test_repeat_refuse_names_the_first_call_and_how_to_insist(void **state)
{
    begin(*state, ON_REPEAT_REFUSE, VALIDATE_WIRE);
    time_out_and_repeat();
    assert_int_equal(sent_n(), 1);
    assert_true(client_got("<2 -32600 repeat-of-uncertain>"));
    assert_true(row_is("c2s request refused 2 tools/call send - - - repeat-of-uncertain"));
    const char *error = strstr(buf_str(&r.f->got[ROW_S2C]), "\"id\":2");
    assert_non_null(error);
    assert_non_null(strstr(
        error,
        "Check whether that call took effect. To run it again, send the same call once more.\""));
    assert_non_null(strstr(error, "Not sent: the same call was sent 2.00s ago (message 1) and may "
                                  "have run: the call was not answered"));
    assert_non_null(strstr(error, "\"tool\":\"send\""));
    assert_non_null(strstr(error, "\"repeats\":{\"seq\":1,\"at\":\""));
    assert_non_null(
        strstr(error, "\"age_ms\":2000,\"cause\":\"timeout\",\"late_answer\":\"none\"}"));
    say(SEND("3"));
    assert_int_equal(sent_n(), 2);
    assert_int_equal(r.escalated, 1);
    assert_string_equal(decisions(), "refused insisted");
    let_pass(2 * S); /* 3 is uncertain, too */
    say(SEND("4"));
    assert_int_equal(sent_n(), 2);
    assert_string_equal(decisions(), "refused insisted refused");
    end();
}

static void test_repeat_after_the_window_is_forwarded(void **state)
{
    begin(*state, ON_REPEAT_REFUSE, VALIDATE_WIRE);
    say(SEND("1"));
    let_pass(2 * S);
    let_pass(601 * S);
    say(SEND("2"));
    assert_int_equal(sent_n(), 2);
    assert_string_equal(decisions(), "");
    end();
}

static void test_repeat_answer_is_the_late_answer_with_its_mark(void **state)
{
    static const struct {
        const char *late, *want, *row;
    } rows[] = {
        {SENT("1"),
         "\"id\":2,\"result\":{\"_meta\":{\"mcp-interposer/repeat\":{\"session\":\"" FAKE_UID
         "\",\"seq\":1,",
         "s2c* result forwarded 2 - - 3 - - -"},
        {"S {'jsonrpc':'2.0','id':1,'result':{'content':[],'_meta':{'a/b':1}}}",
         "\"late_answer\":\"result\"},\"a/b\":1}}}", "s2c* result forwarded 2 - - 3 - - -"},
        {"S {'jsonrpc':'2.0','id':1,'result':{'content':[],'_meta':{}}}",
         "{\"content\":[],\"_meta\":{\"mcp-interposer/repeat\":{",
         "s2c* result forwarded 2 - - 3 - - -"},
        {"S {'jsonrpc':'2.0','id':1,'result':{'content':[],'isError':true}}", "\"isError\":true}}",
         "s2c* result forwarded 2 - - 3 - - tool-error"},
        {"S {'jsonrpc':'2.0','id':1,'error':{'code':-5,'message':'no such mailbox'}}",
         "\"id\":2,\"error\":{\"data\":{\"mcp-interposer/repeat\":{",
         "s2c* error forwarded 2 - - 3 -5 - -"},
        {"S {'jsonrpc':'2.0','id':1,'error':{'code':-5,'message':'m','data':'text'}}",
         "\"id\":2,\"error\":{\"code\":-5,\"message\":\"m\",\"data\":\"text\"}}",
         "s2c* error forwarded 2 - - 3 -5 - -"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        begin(*state, ON_REPEAT_ANSWER, VALIDATE_WIRE);
        say(SEND("1"));
        let_pass(2 * S);
        say(rows[i].late);
        r.f->base = r.f->seq - 2; /* rows count from the cancellation */
        say(SEND("2"));
        assert_int_equal(sent_n(), 1);
        if (strstr(buf_str(&r.f->got[ROW_S2C]), rows[i].want) == NULL)
            fail_msg("row %zu: %s is not in %s", i, rows[i].want, buf_str(&r.f->got[ROW_S2C]));
        assert_true(row_is("3 c2s request swallowed 2 tools/call send - - - repeat-of-uncertain"));
        if (!row_is(rows[i].row))
            fail_msg("row %zu: %s is not in %s", i, rows[i].row, traffic_rows(r.f));
        say(SEND("3")); /* the client knows what has become of it: this is a call of its own */
        assert_int_equal(sent_n(), 2);
        end();
    }
}

static void test_repeat_answer_without_a_late_answer_refuses(void **state)
{
    static const char *const late[] = {
        NULL,
        "S {'jsonrpc':'2.0','id':1,'error':{'code':0,'message':'Request cancelled'}}",
        "S {'jsonrpc':'2.0','id':1,'result':{'resultType':'input_required','requestState':'x'}}",
    };
    for (size_t i = 0; i < MI_COUNT(late); i++) {
        begin(*state, ON_REPEAT_ANSWER, VALIDATE_WIRE);
        say(SEND("1"));
        let_pass(2 * S);
        if (late[i] != NULL)
            say(late[i]);
        say(SEND("2"));
        assert_true(client_got("<2 -32600 repeat-of-uncertain>"));
        say(SENT("1")); /* now it is known, or the request has been answered before */
        say(SEND("3"));
        assert_int_equal(sent_n(), i == 0 ? 1 : 2);
        assert_true(client_got("'id':3,'result'") == (i == 0));
        end();
    }
}

/* With --validate protocol the client gets no late answer that it would not have got in time. */
static void test_repeat_late_answer_that_breaks_a_rule_is_not_given(void **state)
{
    for (int protocol = 0; protocol <= 1; protocol++) {
        begin(*state, ON_REPEAT_ANSWER, protocol ? VALIDATE_PROTOCOL : VALIDATE_WIRE);
        say("C "
            "{'jsonrpc':'2.0','id':0,'method':'initialize','params':{'protocolVersion':'2025-06-18'"
            ","
            "'capabilities':{},'clientInfo':{'name':'c','version':'1'}}}");
        say("S {'jsonrpc':'2.0','id':0,'result':{'protocolVersion':'2025-06-18',"
            "'capabilities':{'tools':{}},'serverInfo':{'name':'s','version':'1'}}}");
        say("C {'jsonrpc':'2.0','method':'notifications/initialized'}");
        say(SEND("1"));
        let_pass(2 * S);
        say("S {'jsonrpc':'2.0','id':1,'result':{'content':'text'}}");
        say(SEND("2"));
        assert_true(client_got("<2 -32600 repeat-of-uncertain>") == protocol);
        assert_int_equal(sent_n(), 1);
        end();
    }
}

/* An error does not say whether the first call has run. */
static void test_repeat_that_gets_an_error_leaves_the_first_uncertain(void **state)
{
    begin(*state, ON_REPEAT_REFUSE, VALIDATE_WIRE);
    time_out_and_repeat();
    say(SEND("3")); /* insisted */
    say("S {'jsonrpc':'2.0','id':3,'error':{'code':-32603,'message':'busy'}}");
    say(SEND("4"));
    assert_string_equal(decisions(), "refused insisted refused");
    say(SEND("5"));
    say(SENT("5"));
    say(SEND("6")); /* a call of its own */
    assert_string_equal(decisions(), "refused insisted refused insisted");
    end();
}

static void test_repeat_late_answer_after_the_repeat_changes_nothing_for_it(void **state)
{
    begin(*state, ON_REPEAT_ANSWER, VALIDATE_WIRE);
    time_out_and_repeat(); /* refused */
    say(SEND("3"));        /* insisted */
    say(SENT("1"));
    assert_false(client_got("'id':3,'result'"));
    say(SENT("3"));
    assert_true(client_got("'id':3,'result'"));
    assert_int_equal(sent_n(), 2);
    end();
}

static void test_repeat_of_the_clients_cancellation_is_no_escalation(void **state)
{
    begin(*state, ON_REPEAT_WARN, VALIDATE_WIRE);
    say(SEND("1"));
    say("C " CANCEL("1"));
    say(SEND("2"));
    assert_string_equal(decisions(), "forwarded");
    assert_int_equal(r.escalated, 0);
    end();
}

static void list_tools(void)
{
    say("C {'jsonrpc':'2.0','id':'l','method':'tools/list'}");
    say("S {'jsonrpc':'2.0','id':'l','result':{'tools':["
        "{'name':'read','inputSchema':{'type':'object'},'annotations':{'readOnlyHint':true}},"
        "{'name':'put','inputSchema':{'type':'object'},'annotations':{'idempotentHint':true}},"
        "{'name':'send','inputSchema':{'type':'object'}}]}}");
}

/* Read-only and idempotent tools, other methods, other arguments. */
static void test_repeat_of_what_may_run_twice_is_forwarded(void **state)
{
    static const char *const twice[][2] = {
        {"C " CALL("1", "read"), "C " CALL("2", "read")},
        {"C " CALL("1", "put"), "C " CALL("2", "put")},
        {"C {'jsonrpc':'2.0','id':1,'method':'resources/read','params':{'uri':'a'}}",
         "C {'jsonrpc':'2.0','id':2,'method':'resources/read','params':{'uri':'a'}}"},
        {SEND("1"), "C " SEND_OF("2", "'to':'b','n':1")},
        {SEND("1"), "C " CALL("2", "send")},
    };
    for (size_t i = 0; i < 2 * MI_COUNT(twice); i++) {
        bool listed_before = i % 2 == 0;
        begin(*state, ON_REPEAT_REFUSE, VALIDATE_WIRE);
        if (listed_before)
            list_tools();
        say(twice[i / 2][0]);
        let_pass(2 * S);
        bool may_run_twice = i / 2 < 3;
        if (listed_before)
            assert_int_equal(r.f->traffic.repeats.n, may_run_twice ? 0 : 1);
        else
            list_tools();
        say(twice[i / 2][1]);
        assert_false(client_got("repeat-of-uncertain"));
        assert_string_equal(decisions(), "");
        end();
    }
}

static void test_repeat_in_a_batch_or_unvalidated_is_forwarded(void **state)
{
    begin(*state, ON_REPEAT_REFUSE, VALIDATE_WIRE);
    strcpy(r.f->traffic.version, "2025-03-26");
    say(SEND("1"));
    let_pass(2 * S);
    say("C [" SEND_OF("2", "'to':'a','n':1") "]");
    assert_int_equal(sent_n(), 2);
    assert_string_equal(decisions(), "forwarded");
    end();
    begin(*state, ON_REPEAT_REFUSE, VALIDATE_NONE);
    time_out_and_repeat();
    assert_int_equal(sent_n(), 2);
    end();
}

/* A request over PENDING_WHOLE_MAX is not kept; its key is computed when it arrives. */
static void test_repeat_of_a_large_call_is_noticed(void **state)
{
    begin(*state, ON_REPEAT_REFUSE, VALIDATE_WIRE);
    for (int i = 1; i <= 2; i++) {
        char head[128];
        snprintf(head, sizeof head,
                 "{'jsonrpc':'2.0','id':%d,'method':'tools/call','params':{'name':'send',"
                 "'arguments':{'text':'",
                 i);
        traffic_feed_long(r.f, 'C', head, 100000, "'}}}");
        let_pass(2 * S);
    }
    assert_int_equal(sent_n(), 1);
    assert_string_equal(decisions(), "refused");
    end();
}

/* It is not kept, and its tool was harmless when it arrived: there is no key, but memory. */
static void test_repeat_large_call_whose_tool_turns_out_harmful_is_said(void **state)
{
    begin(*state, ON_REPEAT_REFUSE, VALIDATE_WIRE);
    list_tools();
    traffic_feed_long(r.f, 'C',
                      "{'jsonrpc':'2.0','id':1,'method':'tools/call','params':{'name':'read',"
                      "'arguments':{'text':'",
                      100000, "'}}}");
    say("C {'jsonrpc':'2.0','id':'m','method':'tools/list'}");
    say("S {'jsonrpc':'2.0','id':'m','result':{'tools':["
        "{'name':'read','inputSchema':{'type':'object'}}]}}");
    let_pass(2 * S);
    assert_false(said_holds("out of memory"));
    assert_true(said_holds("its tool was marked read-only or idempotent when the call arrived, "
                           "and the call was too long to be kept"));
    end();
}

static void test_repeat_too_many_uncertain_calls_are_said_once(void **state)
{
    begin(*state, ON_REPEAT_REFUSE, VALIDATE_WIRE);
    for (int i = 0; i < REPEATS_MAX + 10; i++) {
        char line[256];
        snprintf(line, sizeof line, "C " SEND_OF("%d", "'n':%d"), i, i);
        traffic_say(r.f, line);
    }
    let_pass(2 * S);
    assert_int_equal(r.f->traffic.repeats.n, REPEATS_MAX);
    size_t said_so = 0;
    for (size_t i = 0; i < r.f->journal.committed; i++)
        said_so += r.f->journal.row[i].event != NULL &&
                   strcmp(r.f->journal.row[i].event, "repeats-full") == 0;
    assert_int_equal(said_so, 1);
    assert_true(said_holds("more than 1024 calls may have run"));
    end();
}

#define REPEAT_TEST(name) cmocka_unit_test_setup_teardown(name, traffic_set_up, traffic_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPEAT_TEST(test_repeat_warn_forwards_with_finding_event_and_escalation),
        REPEAT_TEST(test_repeat_refuse_names_the_first_call_and_how_to_insist),
        REPEAT_TEST(test_repeat_after_the_window_is_forwarded),
        REPEAT_TEST(test_repeat_answer_is_the_late_answer_with_its_mark),
        REPEAT_TEST(test_repeat_answer_without_a_late_answer_refuses),
        REPEAT_TEST(test_repeat_late_answer_that_breaks_a_rule_is_not_given),
        REPEAT_TEST(test_repeat_that_gets_an_error_leaves_the_first_uncertain),
        REPEAT_TEST(test_repeat_late_answer_after_the_repeat_changes_nothing_for_it),
        REPEAT_TEST(test_repeat_of_the_clients_cancellation_is_no_escalation),
        REPEAT_TEST(test_repeat_of_what_may_run_twice_is_forwarded),
        REPEAT_TEST(test_repeat_in_a_batch_or_unvalidated_is_forwarded),
        REPEAT_TEST(test_repeat_of_a_large_call_is_noticed),
        REPEAT_TEST(test_repeat_large_call_whose_tool_turns_out_harmful_is_said),
        REPEAT_TEST(test_repeat_too_many_uncertain_calls_are_said_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
