/* The rules of MCP about cancellation, errors, lists, tasks, input, subscriptions and caches: for each subject, conversations
 * that violate a rule, and others that violate none. */
#include "tests/support/protocol_unit.h"

#define LEGACY START("2025-06-18", "{}", "{'tools':{},'prompts':{},'resources':{}}")
#define CANCEL(id) NOTE("notifications/cancelled", "{'requestId':" id "}")
#define LISTEN(id, what) REQ(id, "subscriptions/listen", "{" M ",'notifications':{" what "}}")
#define ACK(id, what)                                                                              \
    NOTE("notifications/subscriptions/acknowledged", "{" SUB(id) ",'notifications':{" what "}}")

static void test_protocol_cancellation_of_what_is_not_the_senders_is_found(void **state)
{
    (void)state;
    static const struct conversation rows[] = {
        {{LEGACY, "> " REQ("1", "tools/call", "{'name':'x'}"), "> " CANCEL("'1'"), "> " CANCEL("2"),
          "< " CANCEL("1"), "> " CANCEL("1")},
         "5:stray-cancellation 6:stray-cancellation 7:stray-cancellation"},
        /* it crossed with the answer */
        {{LEGACY, "> " REQ("1", "tools/call", "{'name':'x'}"), "< " RES("1", TEXT),
          "> " CANCEL("1"), "< " REQ("9", "ping", "{}"), "< " CANCEL("9")},
         ""},
        {{"> " REQ("1", "tools/call", "{" M ",'name':'x'}"), "< " CANCEL("1"), "> " CANCEL("2"),
          "> " CANCEL("1")},
         "2:stray-cancellation 3:stray-cancellation"},
        /* the server ends a subscription */
        {{"> " LISTEN("1", ""), "< " ACK("1", ""), "< " CANCEL("1"), "> " CANCEL("1")}, ""},
        /* or a request of its own, with the id of a subscription */
        {{START("2025-06-18", "{'roots':{}}", "{'tools':{'listChanged':true}}"),
          "> " LISTEN("1", "'toolsListChanged':true"), "< " ACK("1", "'toolsListChanged':true"),
          "< " REQ("1", "roots/list", "{}"), "< " CANCEL("1"),
          "< " NOTE("notifications/tools/list_changed", "{" SUB("1") "}")},
         ""},
    };
    PLAY(rows);
}

static void test_protocol_errors_without_the_data_of_their_code_are_found(void **state)
{
    (void)state;
    static const struct conversation rows[] = {
        {{"> " MREQ("1", "tools/list"), "< " ERR("1", "-32022"), "> " MREQ("2", "tools/list"),
          "< " ERROR_DATA("2", "-32022", "{'supported':['2026-07-28']}"),
          "> " MREQ("3", "tools/list"), "< " ERR("3", "-32021"), "> " MREQ("4", "tools/list"),
          "< " ERR("4", "-32020")},
         "2:missing-error-data 4:missing-error-data 6:missing-error-data 8:reserved-error-code"},
        {{"> " MREQ("1", "tools/list"),
          "< " ERROR_DATA("1", "-32022", "{'supported':['2026-07-28'],'requested':'2030-01-01'}"),
          "> " MREQ("2", "tools/list"),
          "< " ERROR_DATA("2", "-32021", "{'requiredCapabilities':{'sampling':{}}}"),
          "> " MREQ("3", "tools/list"), "< " ERR("3", "-32602")},
         ""},
        {{START("2025-11-25", "{}", "{'tools':{}}"), "> " REQ("1", "tools/call", "{'name':'x'}"),
          "< " ERR("1", "-32042"), "> " REQ("2", "tools/call", "{'name':'x'}"),
          "< " ERROR_DATA("2", "-32042", "{'elicitations':[]}")},
         "5:missing-error-data"},
    };
    PLAY(rows);
}

#define TOOL(name) "{'name':'" name "','inputSchema':{'type':'object'}}"
#define CACHE(ttl, scope) "'resultType':'complete','ttlMs':" ttl ",'cacheScope':'" scope "'"
#define PAGE(id, cursor) REQ(id, "tools/list", "{" M ",'cursor':'" cursor "'}")

static void test_protocol_invalid_entries_of_lists_are_found(void **state)
{
    (void)state;
    static const struct conversation rows[] = {
        {{LEGACY, "> " REQ("1", "tools/list", "{}"),
          "< " RES("1", "{'tools':[" TOOL("a") "," TOOL("b") "," TOOL("a") "]}"),
          "> " REQ("2", "tools/list", "{}"), "< " RES("2", "{'tools':[{'name':'a'}]}"),
          "> " REQ("3", "tools/list", "{}"),
          "< " RES("3", "{'tools':[{'name':'a','inputSchema':{'type':'string'}}]}"),
          "> " REQ("4", "tools/list", "{}"), "< " RES("4", "{'tools':['a']}")},
         "5:duplicate-name 7:invalid-result 9:invalid-result 11:invalid-result"},
        {{LEGACY, "> " REQ("1", "resources/list", "{}"),
          "< " RES("1", "{'resources':[{'uri':'u:1','name':'n'},{'uri':'u:1','name':'o'}]}"),
          "> " REQ("2", "resources/list", "{}"), "< " RES("2", "{'resources':[{'uri':'u:1'}]}"),
          "> " REQ("3", "resources/templates/list", "{}"),
          "< " RES("3", "{'resourceTemplates':[{'uriTemplate':'u:{x}','name':'n'},{'name':'n'}]}"),
          "> " REQ("4", "prompts/list", "{}"), "< " RES("4", "{'prompts':[{'name':'p'},{}]}")},
         "5:duplicate-name 7:invalid-result 9:invalid-result 11:invalid-result"},
        /* over pages, and again from the start */
        {{LEGACY, "> " REQ("1", "tools/list", "{}"),
          "< " RES("1", "{'tools':[" TOOL("a") "],'nextCursor':'2'}"),
          "> " REQ("2", "tools/list", "{'cursor':'2'}"),
          "< " RES("2", "{'tools':[" TOOL("b") "," TOOL("a") "],'nextCursor':'3'}"),
          "> " REQ("3", "tools/list", "{}"),
          "< " RES("3", "{'tools':[" TOOL("a") "],'nextCursor':'2'}")},
         "7:duplicate-name"},
        /* the list has changed between the pages */
        {{START("2025-06-18", "{}", "{'tools':{'listChanged':true}}"),
          "> " REQ("1", "tools/list", "{}"),
          "< " RES("1", "{'tools':[" TOOL("a") "],'nextCursor':'2'}"),
          "< " NOTE("notifications/tools/list_changed", "{}"),
          "> " REQ("2", "tools/list", "{'cursor':'2'}"),
          "< " RES("2", "{'tools':[" TOOL("a") "]}")},
         ""},
        /* another list beside it */
        {{LEGACY, "> " REQ("1", "resources/list", "{}"),
          "< " RES("1", "{'resources':[{'uri':'u:1','name':'n'}],'resourceTemplates':[{'name':"
                        "'n'}]}")},
         ""},
        /* two readers in turns */
        {{LEGACY, "> " REQ("1", "tools/list", "{}"),
          "< " RES("1", "{'tools':[" TOOL("a") "],'nextCursor':'2'}"),
          "> " REQ("2", "tools/list", "{}"),
          "< " RES("2", "{'tools':[" TOOL("a") "],'nextCursor':'2'}"),
          "> " REQ("3", "tools/list", "{'cursor':'2'}"),
          "< " RES("3", "{'tools':[" TOOL("b") "],'nextCursor':'3'}"),
          "> " REQ("4", "tools/list", "{'cursor':'2'}"),
          "< " RES("4", "{'tools':[" TOOL("b") "],'nextCursor':'3'}"),
          "> " REQ("5", "tools/list", "{'cursor':'3'}"),
          "< " RES("5", "{'tools':[" TOOL("c") "]}")},
         ""},
    };
    PLAY(rows);
}

static void test_protocol_invalid_hints_for_caches_are_found(void **state)
{
    (void)state;
    static const struct conversation rows[] = {
        {{"> " MREQ("1", "tools/list"), "< " RES("1", "{" CACHE("-1", "public") ",'tools':[]}"),
          "> " MREQ("2", "tools/list"), "< " RES("2", "{" CACHE("0.5", "public") ",'tools':[]}"),
          "> " MREQ("3", "tools/list"), "< " RES("3", "{" CACHE("'1'", "public") ",'tools':[]}"),
          "> " MREQ("4", "tools/list"), "< " RES("4", "{" CACHE("1", "all") ",'tools':[]}"),
          "> " MREQ("5", "tools/list"), "< " RES("5", "{'resultType':'complete','tools':[]}")},
         "2:invalid-cache-fields 4:invalid-cache-fields 6:invalid-cache-fields "
         "8:invalid-cache-fields 10:missing-cache-fields"},
        /* the scope of all pages is one */
        {{"> " MREQ("1", "tools/list"),
          "< " RES("1", "{" CACHE("0", "private") ",'tools':[],'nextCursor':'2'}"),
          "> " PAGE("2", "2"),
          "< " RES("2", "{" CACHE("5", "public") ",'tools':[],'nextCursor':'3'}"),
          "> " MREQ("3", "tools/list"),
          "< " RES("3", "{" CACHE("1e3", "public") ",'tools':[],'nextCursor':'2'}"),
          "> " PAGE("4", "2"), "< " RES("4", "{" CACHE("0", "public") ",'tools':[]}")},
         "4:invalid-cache-fields"},
        /* the page that lacks it is wrong */
        {{"> " MREQ("1", "tools/list"),
          "< " RES("1", "{'resultType':'complete','ttlMs':0,'tools':[],'nextCursor':'2'}"),
          "> " PAGE("2", "2"), "< " RES("2", "{" CACHE("0", "public") ",'tools':[]}")},
         "2:missing-cache-fields"},
    };
    PLAY(rows);
}

static breaches page_with_an_invalid_entry(int before)
{
    struct buf page = {0};
    struct playback y = {0};
    struct rpc m;
    protocol_open(&y.p);
    assert_int_equal(
        rpc_read(slice_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/list\"}"), &m), 0);
    (void)request(&y, PARTY_CLIENT, &m);
    buf_adds(&page, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"prompts\":[");
    for (int i = 0; i < before; i++)
        buf_printf(&page, "{\"name\":\"p%d\"},", i);
    buf_adds(&page, "{}]}}");
    assert_int_equal(rpc_read(buf_slice(&page), &m), 0);
    breaches r = answer(&y, PARTY_SERVER, &m);
    protocol_close(&y.p);
    buf_close(&page);
    return r;
}

static void test_protocol_entries_of_a_page_are_checked_up_to_a_limit(void **state)
{
    (void)state;
    assert_int_equal(page_with_an_invalid_entry(ID_SET_MAX - 1), RULE(RULE_INVALID_RESULT));
    assert_int_equal(page_with_an_invalid_entry(ID_SET_MAX), 0);
}

#define MT                                                                                         \
    "'_meta':{'io.modelcontextprotocol/protocolVersion':'2026-07-28',"                             \
    "'io.modelcontextprotocol/clientCapabilities':{'elicitation':{},"                              \
    "'extensions':{'io.modelcontextprotocol/tasks':{}}}}"
#define CALL_T(id) "> " REQ(id, "tools/call", "{" MT ",'name':'x'}")
#define GET(id) "> " REQ(id, "tasks/get", "{" MT ",'taskId':'t'}")
#define TASK(status)                                                                               \
    "'taskId':'t','status':'" status "','createdAt':'c','lastUpdatedAt':'u','ttlMs':null"
#define STATE(status, more) "{'resultType':'complete'," TASK(status) more "}"
#define ASK(key, message)                                                                          \
    ",'inputRequests':{'" key "':{'method':'elicitation/create','params':{'message':'" message     \
    "','requestedSchema':{'type':'object','properties':{}}}}}"
#define ASK_TURNED(key, message)                                                                   \
    ",'inputRequests':{'" key "':{'params':{'requestedSchema':{'properties':{},'type':'object'},"  \
    "'message':'" message "'},'method':'elicitation/create'}}"
#define UPDATE(id, key)                                                                            \
    "> " REQ(id, "tasks/update", "{" MT ",'taskId':'t','inputResponses':{'" key "':{}}}")
#define DONE "{'resultType':'complete'}"

static void test_protocol_invalid_tasks_are_found(void **state)
{
    (void)state;
    static const struct conversation rows[] = {
        /* a whole life */
        {{CALL_T("1"), "< " RES("1", "{'resultType':'task'," TASK("working") "}"), GET("2"),
          "< " RES("2", STATE("input_required", ASK("k", "Name?"))), GET("3"),
          "< " RES("3", STATE("input_required", ASK_TURNED("k", "Name?"))), UPDATE("4", "k"),
          "< " RES("4", DONE), GET("5"),
          "< " RES("5", STATE("completed", ",'result':{'content':[]}")),
          "> " REQ("6", "tasks/cancel", "{" MT ",'taskId':'t'}"), "< " RES("6", DONE)},
         ""},
        /* only for those who declared it, and flat */
        {{"> " REQ("1", "tools/call", "{" M ",'name':'x'}"),
          "< " RES("1", "{'resultType':'task'," TASK("working") "}"), CALL_T("2"),
          "< " RES("2", "{'resultType':'task','task':{" TASK("working") "}}"), CALL_T("3"),
          "< " RES("3", "{'resultType':'task'," TASK("submitted") "}"),
          "> " REQ("4", "tasks/get", "{" M ",'taskId':'t'}"), "< " RES("4", STATE("working", ""))},
         "2:undeclared-capability 4:invalid-task 6:invalid-task 8:undeclared-capability"},
        /* what each status requires */
        {{GET("1"), "< " RES("1", STATE("completed", "")), GET("2"),
          "< " RES("2", STATE("completed", ",'error':{'code':1,'message':'m'}"))},
         "2:invalid-task 4:invalid-task"},
        {{GET("1"), "< " RES("1", STATE("failed", ",'result':{}"))}, "2:invalid-task"},
        {{GET("1"), "< " RES("1", STATE("failed", ",'error':{'code':1,'message':'m'}"))}, ""},
        {{GET("1"), "< " RES("1", STATE("input_required", ""))}, "2:invalid-task"},
        {{GET("1"), "< " RES("1", STATE("cancelled", "")), GET("2"),
          "< " RES("2", STATE("cancelled", ""))},
         ""},
        /* another task, and a life after the end */
        {{"> " REQ("1", "tasks/get", "{" MT ",'taskId':'u'}"), "< " RES("1", STATE("working", "")),
          GET("2"), GET("3"), "< " RES("2", STATE("cancelled", "")),
          "< " RES("3", STATE("working", "")), GET("4"), "< " RES("4", STATE("cancelled", "")),
          GET("5"), "< " RES("5", STATE("working", ""))},
         "2:invalid-task 10:invalid-task"},
        /* answers cross: the task has ended */
        {{CALL_T("1"), "< " RES("1", "{'resultType':'task'," TASK("working") "}"), GET("2"),
          GET("3"), "< " RES("3", STATE("cancelled", "")), "< " RES("2", STATE("working", "")),
          "> " CANCEL("1"), GET("4"), "< " RES("4", STATE("working", ""))},
         "9:invalid-task"},
        /* the id of a task is used again */
        {{CALL_T("1"), "< " RES("1", "{'resultType':'task'," TASK("working") "}"), GET("2"),
          "< " RES("2", STATE("input_required", ASK("k", "Name?"))), CALL_T("3"),
          "< " RES("3", "{'resultType':'task'," TASK("working") "}"), GET("4"),
          "< " RES("4", STATE("input_required", ASK("k", "Age?")))},
         ""},
        /* keys over a task's life */
        {{GET("1"), "< " RES("1", STATE("input_required", ASK("k", "Name?"))), UPDATE("2", "j"),
          "< " RES("2", DONE), UPDATE("3", "k"), "< " RES("3", DONE), GET("4"),
          "< " RES("4", STATE("input_required", ASK("k", "Age?")))},
         "3:unknown-input-key 8:reused-input-key"},
        /* acknowledgements are empty */
        {{UPDATE("1", "k"), "< " RES("1", STATE("working", ""))}, "2:invalid-task"},
        /* a request for input has the capabilities of the request */
        {{GET("1"), "< " RES("1", STATE("input_required", ",'inputRequests':{'k':{'method':"
                                                          "'roots/list'}}"))},
         "2:undeclared-capability"},
        /* a task is not cancelled like a request; another request may have the id */
        {{CALL_T("1"), "< " RES("1", "{'resultType':'task'," TASK("working") "}"), "> " CANCEL("1"),
          GET("2"), "< " RES("2", STATE("working", "")), "> " CANCEL("1"), CALL_T("1"),
          "> " CANCEL("1")},
         "6:cancelled-task"},
        {{START("2025-11-25", "{}", "{'tools':{},'tasks':{'requests':{'tools':{'call':{}}}}}"),
          "> " REQ("1", "tasks/get", "{'taskId':'t'}"),
          "< " RES("1", "{'taskId':'t','status':'running','createdAt':'','lastUpdatedAt':'',"
                        "'ttl':null}"),
          "> " REQ("2", "tools/call", "{'name':'x','task':{}}"),
          "< " RES("2", "{'task':{'taskId':'t','status':'done'}}"),
          "> " REQ("3", "tools/call", "{'name':'x'}"),
          "< " RES("3", "{'content':[],'status':'x'}")},
         "5:invalid-task 7:invalid-task"},
    };
    PLAY(rows);
}

#define ASKS(what) "{'resultType':'input_required','inputRequests':{'k':" what "}}"
#define ELICIT(params) ASKS("{'method':'elicitation/create','params':{" params "}}")
#define CALL_M(id) "> " REQ(id, "tools/call", "{" MC ",'name':'x'}")
#define MC                                                                                         \
    "'_meta':{'io.modelcontextprotocol/protocolVersion':'2026-07-28',"                             \
    "'io.modelcontextprotocol/clientCapabilities':{'elicitation':{'form':{},'url':{}},"            \
    "'sampling':{},'roots':{}}}"

static void test_protocol_invalid_requests_for_input_are_found(void **state)
{
    (void)state;
    static const char *const valid[] = {
        ELICIT("'message':'m','requestedSchema':{'type':'object','properties':{'n':{'type':'string'"
               "}}}"),
        ELICIT("'mode':'url','message':'m','url':'https://x.example/a'"),
        ASKS("{'method':'roots/list'}"),
        ASKS("{'method':'sampling/createMessage','params':{'maxTokens':1,'messages':[{'role':'user'"
             ",'content':{'type':'text','text':'t'}}]}}"),
    };
    static const char *const invalid[] = {
        ASKS("{'method':'ping'}"),
        ASKS("1"),
        ELICIT("'message':'m'"),
        ELICIT("'message':'m','requestedSchema':{'type':'string','properties':{}}"),
        ELICIT("'message':'m','requestedSchema':{'type':'object','properties':{'n':{'type':'object'"
               "}}}"),
        ELICIT("'requestedSchema':{'type':'object','properties':{}}"),
        ELICIT("'mode':'link','message':'m','requestedSchema':{'type':'object','properties':{}}"),
        ELICIT("'mode':'url','message':'m'"),
        ELICIT("'mode':'url','message':'m','url':'not a url'"),
        ASKS("{'method':'sampling/createMessage','params':{'maxTokens':1}}"),
        ASKS("{'method':'sampling/createMessage','params':{'messages':[]}}"),
        ASKS("{'method':'sampling/createMessage','params':{'maxTokens':1,'messages':[{'role':'x',"
             "'content':{}}]}}"),
    };
    for (size_t i = 0; i < MI_COUNT(valid) + MI_COUNT(invalid); i++) {
        bool bad = i >= MI_COUNT(valid);
        char line[1000];
        snprintf(line, sizeof line, "< {'jsonrpc':'2.0','id':1,'result':%s}",
                 bad ? invalid[i - MI_COUNT(valid)] : valid[i]);
        struct conversation c = {{CALL_M("1"), line}, bad ? "2:invalid-input-request" : ""};
        play(&c, 1);
    }
}

static void test_protocol_roots_that_are_no_files_are_found(void **state)
{
    (void)state;
    static const struct conversation rows[] = {
        {{START("2025-06-18", "{'roots':{}}", "{}"), "< " REQ("1", "roots/list", "{}"),
          "> " RES("1", "{'roots':[{'uri':'file:///a'},{'uri':'https://x'}]}"),
          "< " REQ("2", "roots/list", "{}"), "> " RES("2", "{'roots':[{'name':'n'}]}"),
          "< " REQ("3", "roots/list", "{}"), "> " RES("3", "{'roots':[{'uri':'file:///a'}]}")},
         "5:invalid-result 7:invalid-result"},
        {{"> " REQ("1", "tools/call",
                   "{" M ",'name':'x','inputResponses':{'k':{'roots':[{'uri':'/a'"
                   "}]}}}"),
          "> " REQ("2", "tools/call",
                   "{" M ",'name':'x','inputResponses':{'k':{'roots':[{'uri':"
                   "'file:///a'}]},'j':{'action':'decline'}}}")},
         "1:invalid-params"},
    };
    PLAY(rows);
}

#define STATE_S "{'resultType':'input_required','requestState':'s'" ASK("k", "m") "}"

static void test_protocol_request_state_for_another_request_is_found(void **state)
{
    (void)state;
    static const struct conversation rows[] = {
        {{"> " REQ("1", "tools/call", "{" M ",'name':'x','arguments':{'a':1,'b':[2,'c']}}"),
          "< " RES("1", STATE_S),
          "> " REQ("2", "tools/call",
                   "{'arguments':{'b':[2,'c'], 'a':1}," M
                   ",'name':'x','requestState':'s','inputResponses':{'k':{}}}"),
          "< " RES("2", OK),
          "> " REQ("3", "tools/call",
                   "{" M ",'name':'y','arguments':{'a':1,'b':[2,'c']},"
                   "'requestState':'s','inputResponses':{}}"),
          "> " REQ("4", "tools/call",
                   "{" M ",'name':'x','arguments':{'a':3,'b':[2,'c']},"
                   "'requestState':'s','inputResponses':{}}"),
          "> " REQ("5", "prompts/get",
                   "{" M ",'name':'x','arguments':{'a':1,'b':[2,'c']},"
                   "'requestState':'s','inputResponses':{}}"),
          "> " REQ("6", "tools/call",
                   "{" M ",'name':'x','arguments':{'a':1,'b':[2,'c']},"
                   "'requestState':'s'}")},
         "5:bad-retry 6:bad-retry 7:bad-retry 8:bad-retry"},
        /* the same arguments, written differently; and those of two members exchanged */
        {{"> " REQ("1", "tools/call", "{" M ",'name':'x','arguments':{'from':'ab','to':'B'}}"),
          "< " RES("1", STATE_S),
          "> " REQ("2", "tools/call",
                   "{" M ",'name':'x','arguments':{'to':'B','from' :'a\\u0062'},"
                   "'requestState':'s','inputResponses':{}}"),
          "> " REQ("3", "tools/call",
                   "{" M ",'name':'x','arguments':{'from':'B','to':'ab'},"
                   "'requestState':'s','inputResponses':{}}")},
         "4:bad-retry"},
        /* one state for two requests, and one without questions */
        {{"> " REQ("1", "tools/call", "{" M ",'name':'x'}"), "< " RES("1", STATE_S),
          "> " REQ("2", "tools/call", "{" M ",'name':'y'}"), "< " RES("2", STATE_S),
          "> " REQ("3", "tools/call", "{" M ",'name':'x','requestState':'s','inputResponses':{}}"),
          "> " REQ("4", "tools/call", "{" M ",'name':'y','requestState':'s','inputResponses':{}}"),
          "> " REQ("5", "tools/call", "{" M ",'name':'z'}"),
          "< " RES("5", "{'resultType':'input_required','requestState':'r'}"),
          "> " REQ("6", "tools/call", "{" M ",'name':'z','arguments':{},'requestState':'r'}")},
         ""},
    };
    PLAY(rows);
}

#define UPDATED(id, uri)                                                                           \
    "< " NOTE("notifications/resources/updated", "{" SUB(id) ",'uri':'" uri "'}")

static void test_protocol_notifications_beyond_what_was_agreed_are_found(void **state)
{
    (void)state;
    static const struct conversation rows[] = {
        {{"> " LISTEN("1", "'toolsListChanged':true,'promptsListChanged':true,"
                           "'resourceSubscriptions':['file:///a','file:///b']"),
          "< " ACK("1", "'toolsListChanged':true,'resourceSubscriptions':['file:///a']"),
          "< " NOTE("notifications/prompts/list_changed", "{" SUB("1") "}"),
          UPDATED("1", "file:///a"), UPDATED("1", "file:///a/part"), UPDATED("1", "file:///b"),
          "< " RES("1", "{'resultType':'complete'," SUB("1") "}"), UPDATED("1", "file:///a")},
         "3:unasked-notification 6:unasked-notification 8:no-subscription"},
        /* more than was requested */
        {{"> " LISTEN("1", "'resourceSubscriptions':['file:///a']"),
          "< " ACK("1", "'resourceSubscriptions':['file:///c']"), "> " LISTEN("2", ""),
          "< " ACK("2", "'toolsListChanged':true"), "> " LISTEN("3", "'taskIds':['t']"),
          "< " ACK("3", "'taskIds':['t']")},
         "2:unasked-notification 4:unasked-notification 6:undeclared-capability"},
        {{"> " REQ("1", "subscriptions/listen", "{" MT ",'notifications':{'taskIds':['t']}}"),
          "< " ACK("1", "'taskIds':['t']"),
          "< " NOTE("notifications/tasks", "{" SUB("1") "," TASK("working") "}"),
          "< " NOTE("notifications/tasks", "{" SUB("1") "," TASK("completed") "}"),
          "< " NOTE("notifications/tasks",
                    "{" SUB("1") ",'taskId':'t2','status':'working',"
                                 "'createdAt':'','lastUpdatedAt':'','ttlMs':1}")},
         "4:invalid-task 5:unasked-notification"},
        /* how it ends */
        {{"> " LISTEN("1", ""), "< " RES("1", "{'resultType':'complete'," SUB("1") "}"),
          "> " LISTEN("2", ""), "< " ACK("2", ""),
          "< " RES("2", "{'resultType':'complete'," SUB("'2'") "}"), "> " LISTEN("3", ""),
          "< " ERR("3", "-32601"), "> " LISTEN("4", "'toolsListChanged':true"),
          "< " ACK("4", "'toolsListChanged':true"), "< " CANCEL("4"),
          "< " RES("4", "{'resultType':'complete'," SUB("4") "}"),
          "> " LISTEN("4", "'toolsListChanged':true"), "< " ACK("4", "'toolsListChanged':true"),
          "< " NOTE("notifications/tools/list_changed", "{" SUB("4") "}")},
         "2:not-acknowledged 5:no-subscription"},
    };
    PLAY(rows);
}

#define LOGS(level)                                                                                \
    "'_meta':{'io.modelcontextprotocol/protocolVersion':'2026-07-28',"                             \
    "'io.modelcontextprotocol/clientCapabilities':{},"                                             \
    "'io.modelcontextprotocol/logLevel':'" level "'}"
#define LOG(level) "< " NOTE("notifications/message", "{'level':'" level "','data':1}")

static void test_protocol_log_messages_below_the_level_are_found(void **state)
{
    (void)state;
    static const struct conversation rows[] = {
        {{"> " REQ("1", "tools/call", "{" LOGS("warning") ",'name':'x'}"), LOG("info"),
          LOG("warning"), LOG("emergency"), LOG("warn"),
          "> " REQ("2", "tools/call", "{" LOGS("debug") ",'name':'x'}"), LOG("debug"),
          "< " RES("2", OK), LOG("notice"),
          "< " NOTE("notifications/message", "{" SUB("1") ",'level':'error','data':1}"),
          "< " RES("1", OK), LOG("error")},
         "2:unasked-log 5:invalid-params 9:unasked-log 10:unasked-log 12:unasked-log"},
        {{"> " REQ("1", "tools/call", "{" LOGS("verbose") ",'name':'x'}")}, "1:invalid-meta"},
        {{START("2025-06-18", "{}", "{'logging':{}}"),
          "> " REQ("1", "logging/setLevel", "{'level':'warn'}"), LOG("info")},
         "4:invalid-params"},
        /* a level of another method */
        {{"> " REQ("1", "tools/call", "{" M ",'name':'x','level':'high'}")}, ""},
    };
    PLAY(rows);
}

#define PARENT "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
#define META(more)                                                                                 \
    "'_meta':{'io.modelcontextprotocol/protocolVersion':'2026-07-28',"                             \
    "'io.modelcontextprotocol/clientCapabilities':{}," more "}"
#define WITH(id, more) "> " REQ(id, "tools/call", "{" META(more) ",'name':'x'}")
#define SERVER(info)                                                                               \
    "{'resultType':'complete','content':[],'_meta':{"                                              \
    "'io.modelcontextprotocol/serverInfo':" info "}}"

static void test_protocol_rejected_requests_leave_no_state(void **state)
{
    (void)state;
    static const char line[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}";
    struct protocol p;
    struct protocol_asked asked;
    struct rpc m;
    protocol_open(&p);
    assert_int_equal(rpc_read(slice_of(line), &m), 0);
    assert_int_equal(protocol_check_request(&p, PARTY_CLIENT, &m, &asked),
                     RULE(RULE_INVALID_PARAMS));
    protocol_forget_rejected_request(&p, &asked);
    assert_int_equal(
        protocol_check_request(&p, PARTY_CLIENT, &m, &asked) & RULE(RULE_SECOND_INITIALIZE), 0);
    protocol_close(&p);
}

static void test_protocol_invalid_members_of_meta_are_found(void **state)
{
    (void)state;
    static const struct conversation rows[] = {
        {{WITH("1", "'traceparent':'" PARENT "','tracestate':'a=b,c=d','baggage':'k=v'"),
          WITH("2", "'io.modelcontextprotocol/clientInfo':{'name':'n','version':'1'}"),
          WITH("3", "'com.example/key-1_a.b':1,'plain':2,'a.b.c/':3,'progressToken':'p'")},
         ""},
        {{WITH("1", "'traceparent':'00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331'"),
          WITH("2", "'traceparent':'00-00000000000000000000000000000000-b7ad6b7169203331-01'"),
          WITH("3", "'traceparent':1"), WITH("4", "'baggage':'k'"), WITH("5", "'tracestate':'=v'"),
          WITH("6", "'progressToken':1.5"), WITH("7", "'progressToken':true"),
          WITH("8", "'io.modelcontextprotocol/clientInfo':{'name':'n'}"), WITH("9", "'-a':1"),
          WITH("10", "'1a.b/c':1"), WITH("11", "'a b/c':1"), WITH("12", "'a-/c':1"),
          WITH("13", "'/c':1")},
         "1:invalid-meta 2:invalid-meta 3:invalid-meta 4:invalid-meta 5:invalid-meta "
         "6:invalid-meta 7:invalid-meta 8:invalid-meta 9:invalid-meta 10:invalid-meta "
         "11:invalid-meta 12:invalid-meta 13:invalid-meta"},
        {{"> " REQ("1", "tools/call", "{" M ",'name':'x'}"),
          "< " RES("1", SERVER("{'name':'s','version':'1'}")),
          "> " REQ("2", "tools/call", "{" M ",'name':'x'}"), "< " RES("2", SERVER("{'name':'s'}"))},
         "4:invalid-meta"},
    };
    PLAY(rows);
}

static void test_protocol_two_revisions_on_one_connection_have_their_own_rules(void **state)
{
    (void)state;
    static const struct conversation rows[] = {
        /* the capabilities of one are not those of the other */
        {{"> " MREQ("1", "server/discover"),
          "< " RES("1", "{" CACHE("0", "public") ",'supportedVersions':[],"
                                                 "'capabilities':{'tools':{}}}"),
          START("2025-06-18", "{'roots':{}}", "{'prompts':{}}"),
          "> " REQ("2", "prompts/list", "{}"), "< " RES("2", "{'prompts':[]}"),
          "> " MREQ("3", "tools/list"), "< " RES("3", "{" CACHE("0", "public") ",'tools':[]}"),
          "> " MREQ("4", "prompts/list"), "> " REQ("5", "tools/list", "{}"),
          "< " REQ("1", "roots/list", "{}"), "> " RES("1", "{'roots':[]}")},
         "10:undeclared-capability 11:undeclared-capability"},
        /* notifications of a subscription, and of the session */
        {{START("2025-06-18", "{}", "{'tools':{'listChanged':true}}"),
          "> " LISTEN("1", "'promptsListChanged':true"), "< " ACK("1", "'promptsListChanged':true"),
          "< " NOTE("notifications/prompts/list_changed", "{" SUB("1") "}"),
          "< " NOTE("notifications/tools/list_changed", "{}"),
          "< " NOTE("notifications/prompts/list_changed", "{}"),
          "< " NOTE("notifications/resources/list_changed", "{" SUB("1") "}")},
         "8:undeclared-capability 9:unasked-notification"},
        /* an id of one era is none of the other */
        {{"> " MREQ("1", "server/discover"), "< " ERR("1", "-32601"),
          "> " REQ("1", "initialize",
                   "{'protocolVersion':'2025-06-18','capabilities':{},"
                   "'clientInfo':{}}")},
         ""},
    };
    PLAY(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_protocol_cancellation_of_what_is_not_the_senders_is_found),
        cmocka_unit_test(test_protocol_errors_without_the_data_of_their_code_are_found),
        cmocka_unit_test(test_protocol_invalid_entries_of_lists_are_found),
        cmocka_unit_test(test_protocol_entries_of_a_page_are_checked_up_to_a_limit),
        cmocka_unit_test(test_protocol_invalid_hints_for_caches_are_found),
        cmocka_unit_test(test_protocol_invalid_tasks_are_found),
        cmocka_unit_test(test_protocol_invalid_requests_for_input_are_found),
        cmocka_unit_test(test_protocol_roots_that_are_no_files_are_found),
        cmocka_unit_test(test_protocol_request_state_for_another_request_is_found),
        cmocka_unit_test(test_protocol_notifications_beyond_what_was_agreed_are_found),
        cmocka_unit_test(test_protocol_log_messages_below_the_level_are_found),
        cmocka_unit_test(test_protocol_rejected_requests_leave_no_state),
        cmocka_unit_test(test_protocol_invalid_members_of_meta_are_found),
        cmocka_unit_test(test_protocol_two_revisions_on_one_connection_have_their_own_rules),
    };
    return cmocka_run_group_tests_name("protocol 2026", tests, NULL, NULL);
}
