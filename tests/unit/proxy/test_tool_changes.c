/* The first complete tools/list of a session against that of the previous session. */
#include "proxy/session/tool_changes.h"

#include "tests/support/traffic_words.h"

#define LIST(id) "C {'jsonrpc':'2.0','id':" id ",'method':'tools/list'}"
#define TOOLS(id, tools) "S {'jsonrpc':'2.0','id':" id ",'result':{'tools':[" tools "]}}"
#define ADD "{'name':'add','inputSchema':{'type':'object'}}"
#define ADD_CHANGED "{'name':'add','inputSchema':{'type':'object','required':['a']}}"
#define SUB "{'name':'sub','inputSchema':{'type':'object'}}"
#define LOGIN(text) "{'name':'login','description':'" text "','inputSchema':{'type':'object'}}"
#define SECRET "ghp_16C7e42F292c6912E7710c838347Ae178B4a"

/* The journal answers with a previous list, as it was recorded. */
static void give(struct fixture *f, const char *recorded)
{
    struct tools tools = {0};
    struct rpc m;
    char text[1000];
    snprintf(text, sizeof text, "{'jsonrpc':'2.0','id':1,'result':{'tools':[%s]}}", recorded);
    traffic_quotes(text, strlen(text));
    assert_int_equal(rpc_read(slice_of(text), &m), 0);
    tools_add_page(&tools, &m, 0);
    tool_changes_take_previous_tools(&f->traffic, &tools, "PREVIOUS");
    tools_close(&tools);
}

static void test_tool_changes_are_recorded_as_event_and_rule(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, LIST("1"));
    assert_int_equal(f->journal.tools_wanted, 1);
    give(f, ADD "," SUB);
    traffic_say(f, TOOLS("1", ADD_CHANGED ",{'name':'new','inputSchema':{'type':'object'}}"));
    traffic_turn(f);
    assert_string_equal(fake_events(&f->journal, "tool-changed"),
                        "{\"tools\":[{\"tool\":\"add\",\"change\":\"changed\"},{\"tool\":\"new\","
                        "\"change\":\"new\"},{\"tool\":\"sub\",\"change\":\"gone\"}],"
                        "\"before\":\"PREVIOUS\"}");
    assert_string_equal(fake_select(&f->journal, "kind finding", NULL, 0),
                        "request|request-before-initialize;result|tool-changed");
    assert_true(said_holds("the tools differ from the previous session: server=srv changed add"));
    traffic_say(f, LIST("2")); /* only the first list is compared */
    traffic_say(f, TOOLS("2", SUB));
    traffic_turn(f);
    assert_int_equal(f->journal.tools_wanted, 1);
    assert_string_equal(fake_select(&f->journal, "kind", NULL, 0), "request;result;request;result");
    traffic_end(f);
}

static void test_tool_changes_ignore_redacted_secrets(void **state)
{
    struct fixture *f = *state;
    struct buf clean = {0};
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, LIST("1"));
    assert_int_equal(redact_append_sanitized_text(slice_of(LOGIN("use " SECRET)), &clean), 0);
    assert_null(strstr(buf_str(&clean), SECRET));
    give(f, buf_str(&clean));
    traffic_say(f, TOOLS("1", LOGIN("use " SECRET)));
    traffic_turn(f);
    assert_string_equal(fake_events(&f->journal, "tool-changed"), "");
    traffic_end(f);
    buf_close(&clean);
}

static void test_tool_changes_need_a_previous_list(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    give(f, SUB); /* not asked for */
    traffic_say(f, LIST("1"));
    traffic_say(f, TOOLS("1", ADD));
    traffic_turn(f);
    assert_string_equal(fake_events(&f->journal, "tool-changed"), "");
    traffic_end(f);
}

static void test_tool_changes_previous_list_may_come_last(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C {'jsonrpc':'2.0','id':0,'method':'ping'}");
    assert_int_equal(f->journal.tools_wanted, 1); /* by the first request */
    traffic_say(f, LIST("1"));
    traffic_say(f, TOOLS("1", ADD));
    traffic_turn(f);
    give(f, SUB);
    traffic_turn(f);
    assert_string_equal(fake_events(&f->journal, "tool-changed"),
                        "{\"tools\":[{\"tool\":\"add\",\"change\":\"new\"},{\"tool\":\"sub\","
                        "\"change\":\"gone\"}],\"before\":\"PREVIOUS\"}");
    traffic_say(f, LIST("2")); /* compared once */
    traffic_say(f, TOOLS("2", SUB));
    traffic_turn(f);
    assert_string_equal(fake_select(&f->journal, "kind finding", NULL, 0),
                        "request|-;request|request-before-initialize;"
                        "result|tool-changed;request|-;result|-");
    assert_int_equal(f->journal.tools_wanted, 1);
    traffic_end(f);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, traffic_set_up, traffic_tear_down)
    const struct CMUnitTest tests[] = {
        T(test_tool_changes_are_recorded_as_event_and_rule),
        T(test_tool_changes_ignore_redacted_secrets),
        T(test_tool_changes_need_a_previous_list),
        T(test_tool_changes_previous_list_may_come_last),
    };
    return cmocka_run_group_tests_name("tool_changes", tests, NULL, NULL);
}
