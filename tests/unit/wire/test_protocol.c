/* The rules of MCP: conversations, and the rules that each line violates. The first ones are the samples of
 * docs/mcp-wire.md, section 9, then each row of section 6.7. */
#include "wire/mcp/protocol.h"

#include "tests/support/protocol_unit.h"

static void test_protocol_samples_violate_no_rule(void **state)
{
    (void)state;
    static const struct conversation rows[] = {
        {{START("2025-06-18", "{'elicitation':{}}", "{'tools':{'listChanged':true}}"),
          "> " REQ("1", "tools/call",
                   "{'name':'build','arguments':{},'_meta':{'progressToken':1}}"),
          "< " NOTE("notifications/progress", "{'progressToken':1,'progress':0.5,'total':1}"),
          "< " RES("1", "{'content':[{'type':'text','text':'ok'}]}"),
          "> " REQ("2", "tools/call", "{'name':'slow'}"),
          "> " NOTE("notifications/cancelled", "{'requestId':2,'reason':'user'}"),
          "> " REQ("3", "tools/call", "{'name':'ask'}"),
          "< " REQ("0", "elicitation/create",
                   "{'message':'Name?','requestedSchema':{'type':'object','properties':{}}}"),
          "> " RES("0", "{'action':'accept','content':{'n':'Ada'}}"),
          "< " RES("3", "{'content':[{'type':'text','text':'hello Ada'}]}")},
         ""},
        {{"> " MREQ("'d1'", "server/discover"),
          "< " RES("'d1'", "{'resultType':'complete','supportedVersions':['2026-07-28'],"
                           "'capabilities':{'tools':{}},'ttlMs':0,'cacheScope':'private'}"),
          "> " REQ("1", "subscriptions/listen",
                   "{" M ",'notifications':{'toolsListChanged':true}}"),
          "< " NOTE("notifications/subscriptions/acknowledged",
                    "{" SUB("1") ",'notifications':{'toolsListChanged':true}}"),
          "> " REQ("2", "tools/call", "{" M ",'name':'ask'}"),
          "< " RES("2", "{'resultType':'input_required','requestState':'s1','inputRequests':{'k':"
                        "{'method':'elicitation/create','params':{'message':'Name?',"
                        "'requestedSchema':{'type':'object','properties':{}}}}}}"),
          "> " REQ("3", "tools/call",
                   "{" M ",'name':'ask','requestState':'s1','inputResponses':{'k':{}}}"),
          "< " RES("3", OK), "< " NOTE("notifications/tools/list_changed", "{" SUB("1") "}"),
          "< " RES("1", "{'resultType':'complete'," SUB("1") "}"), "> " MREQ("9", "tools/list"),
          "< " ERROR_DATA("9", "-32022", "{'supported':['2026-07-28'],'requested':'2030-01-01'}")},
         ""},
    };
    PLAY(rows);
}

static void test_protocol_lifecycle_violations_are_found(void **state)
{
    (void)state;
    static const struct conversation rows[] = {
        {{"> " REQ("1", "tools/list", "{}"), "< " RES("1", "{'tools':[]}")},
         "1:request-before-initialize"},
        /* reported once: some clients never send initialize */
        {{"> " REQ("1", "tools/list", "{}"), "< " RES("1", "{'tools':[]}"),
          "> " REQ("2", "tools/list", "{}")},
         "1:request-before-initialize"},
        {{"> " REQ("1", "ping", "{}"), "< " RES("1", "{}"), START("2025-06-18", "{}", "{}")}, ""},
        /* reported once */
        {{INIT("2025-06-18", "{}", "{'tools':{}}"), "> " REQ("1", "tools/list", "{}"),
          "> " REQ("2", "tools/list", "{}")},
         "3:request-before-initialized"},
        /* notifications/initialized before the answer counts */
        {{"> " REQ("'i'", "initialize",
                   "{'protocolVersion':'2025-06-18','capabilities':{},'clientInfo':{}}"),
          READY,
          "< " RES("'i'", "{'protocolVersion':'2025-06-18','capabilities':{'tools':{}},"
                          "'serverInfo':{}}"),
          "> " REQ("1", "tools/list", "{}")},
         ""},
        {{INIT("2025-06-18", "{}", "{'tools':{}}"), "> " NOTE("initialized", "{}"),
          "> " REQ("2", "tools/list", "{}")},
         "3:bare-initialized"},
        {{START("2025-06-18", "{}", "{}"), "> " REQ("1", "initialize",
                                                    "{'protocolVersion':'2025-06-18',"
                                                    "'capabilities':{},'clientInfo':{}}")},
         "4:second-initialize"},
        /* after an error it may try again */
        {{"> " REQ("1", "initialize", "{'protocolVersion':'1','capabilities':{},'clientInfo':{}}"),
          "< " ERR("1", "-32602"), START("2025-06-18", "{}", "{}")},
         ""},
        {{INIT("2025-06-18", "{'roots':{}}", "{}"), "< " REQ("1", "roots/list", "{}")},
         "3:early-server-request"},
        {{INIT("2025-06-18", "{}", "{}"), "< " REQ("1", "ping", "{}"),
          "< " NOTE("notifications/message", "{'level':'info','data':1}")},
         "4:undeclared-capability"},
        {{"< " NOTE("notifications/message", "{'level':'info','data':1}"),
          START("2025-06-18", "{}", "{}")},
         "1:early-server-message"},
        {{"> " REQ("1", "initialize",
                   "{'protocolVersion':'2025-06-18','capabilities':{},'clientInfo':{}}"),
          "< " NOTE("notifications/tools/list_changed", "{}")},
         "2:early-server-message"},
        {{START("2031-01-01", "{}", "{}"), "> " REQ("1", "tools/call", "{'name':'x'}")},
         "2:unknown-revision"},
        /* a probe, and the fallback when the server does not know it */
        {{"> " MREQ("'p'", "server/discover"), "< " ERR("'p'", "-32601"),
          START("2025-06-18", "{}", "{'tools':{}}"), "> " REQ("1", "tools/list", "{}"),
          "< " RES("1", "{'tools':[]}")},
         ""},
        /* both eras on one connection */
        {{START("2025-11-25", "{}", "{'tools':{}}"), "> " MREQ("1", "tools/list"),
          "< " RES("1", "{'tools':[],'resultType':'complete','ttlMs':1,'cacheScope':'public'}"),
          "> " REQ("2", "tools/list", "{}"), "< " RES("2", "{'tools':[]}")},
         ""},
    };
    PLAY(rows);
}

static void test_protocol_use_of_undeclared_capabilities_is_found(void **state)
{
    (void)state;
    static const struct conversation rows[] = {
#define FORM "{'message':'m','requestedSchema':{'type':'object','properties':{}}}"
#define URL "{'message':'m','mode':'url','url':'u:v','elicitationId':'e'}"
#define SAMPLE "{'messages':[],'maxTokens':1,'tools':[]}"
        {{START("2025-11-25", "{'elicitation':{'url':{}},'sampling':{}}", "{}"),
          "< " REQ("1", "elicitation/create", FORM), "< " REQ("2", "elicitation/create", URL),
          "< " REQ("3", "sampling/createMessage", SAMPLE)},
         "4:undeclared-capability 6:undeclared-capability"},
        {{START("2025-11-25", "{'elicitation':{'form':{}},'sampling':{'tools':{}}}", "{}"),
          "< " REQ("1", "elicitation/create", FORM), "< " REQ("2", "elicitation/create", URL),
          "< " REQ("3", "sampling/createMessage", SAMPLE)},
         "5:undeclared-capability"},
        {{START("2025-11-25", "{'elicitation':{'form':{},'url':{}}}", "{}"),
          "< " REQ("1", "elicitation/create", FORM), "< " REQ("2", "elicitation/create", URL)},
         ""},
        /* older revisions have no parts of capabilities */
        {{START("2025-06-18", "{'elicitation':{'url':{}},'sampling':{}}", "{}"),
          "< " REQ("1", "elicitation/create", FORM),
          "< " REQ("2", "sampling/createMessage", SAMPLE)},
         ""},
#define ASK(method, params)                                                                        \
    "{'resultType':'input_required','inputRequests':{'k':{'method':'" method "','params':" params  \
    "}}}"
#define ASKED(id, capabilities)                                                                    \
    "> " REQ(id, "tools/call",                                                                     \
             "{'name':'x','_meta':{'io.modelcontextprotocol/protocolVersion':'2026-07-28',"        \
             "'io.modelcontextprotocol/clientCapabilities':" capabilities "}}")
        {{ASKED("1", "{'elicitation':{}}"), "< " RES("1", ASK("elicitation/create", FORM)),
          ASKED("2", "{'elicitation':{}}"), "< " RES("2", ASK("elicitation/create", URL)),
          ASKED("3", "{'elicitation':{'url':{}}}"), "< " RES("3", ASK("elicitation/create", FORM)),
          ASKED("4", "{'elicitation':{'url':{}}}"), "< " RES("4", ASK("elicitation/create", URL)),
          ASKED("5", "{'sampling':{}}"), "< " RES("5", ASK("sampling/createMessage", SAMPLE))},
         "4:undeclared-capability 6:undeclared-capability 10:undeclared-capability"},
    };
    PLAY(rows);
}

static void test_protocol_invalid_methods_and_members_are_found(void **state)
{
    (void)state;
    static const struct conversation rows[] = {
        {{START("2025-06-18", "{}", "{'tools':{}}"), "> " REQ("1", "tools/frob", "{}"),
          "> " REQ("2", "shutdown", "{}"), "> " NOTE("$/cancelRequest", "{'id':3}"),
          "> " NOTE("exit", "{}"), "< " NOTE("notifications/tools/list", "{}")},
         "4:unknown-method 5:lsp-method 6:lsp-method 7:lsp-method 8:unknown-method"},
        {{START("2025-06-18", "{}", "{}"), "> " MREQ("1", "ping"),
          "> " REQ("2", "tasks/get", "{'taskId':'t'}"), "< " REQ("1", "tools/list", "{}"),
          "> " REQ("4", "roots/list", "{}"),
          "> " NOTE("notifications/message", "{'level':'info','data':1}"),
          "< " NOTE("notifications/initialized", "{}")},
         "4:other-revision 5:other-revision 6:wrong-direction 7:wrong-direction "
         "8:wrong-direction 9:wrong-direction"},
        {{START("2025-03-26", "{'sampling':{}}", "{'tools':{}}"),
          "< " REQ("1", "elicitation/create", "{'message':'m','requestedSchema':{}}")},
         "4:other-revision"},
        {{START("2025-06-18", "{}", "{'tools':{}}"), "> " REQ("1", "tools/call", "{}"),
          "> " REQ("2", "tools/call", "{'name':7}"),
          "> " REQ("3", "tools/call", "{'name':'x','arguments':[]}"),
          "> {'jsonrpc':'2.0','id':4,'method':'tools/call'}",
          "> " REQ("5", "tools/list", "{'cursor':5}"), "> " REQ("6", "tools/list", "{}")},
         "4:invalid-params 5:invalid-params 6:invalid-params 7:invalid-params 8:invalid-params"},
        {{START("2025-06-18", "{}", "{'tools':{}}"), "> " REQ("1", "tools/call", "{'name':'x'}"),
          "< " RES("1", "{}"), "> " REQ("2", "tools/list", "{}"), "< " RES("2", "{'tools':{}}"),
          "> " REQ("3", "ping", "{}"), "< " RES("3", "{'anything':1}"),
          "> " REQ("4", "tools/list", "{}"), "< " RES("4", "{'tools':[],'nextCursor':null}")},
         "5:invalid-result 7:invalid-result 11:invalid-result"},
        {{"> " REQ("1", "initialize", "{'protocolVersion':'2025-06-18','capabilities':{}}"),
          "< " RES("1", "{'protocolVersion':'2025-06-18','capabilities':{}}")},
         "1:invalid-params 2:invalid-result"},
        /* only 2025-11-25 allows a cancellation without requestId */
        {{START("2025-11-25", "{}", "{}"), "> " NOTE("notifications/cancelled", "{}")}, ""},
        {{START("2025-06-18", "{}", "{}"), "> " NOTE("notifications/cancelled", "{}")},
         "4:invalid-params"},
        {{START("2025-06-18", "{}", "{}"), "> " REQ("1", "tools/list", "{}"),
          "> " REQ("2", "resources/subscribe", "{'uri':'u'}"),
          "> " REQ("3", "completion/complete", "{'ref':{},'argument':{}}"),
          "< " REQ("1", "sampling/createMessage", "{'messages':[],'maxTokens':1}"),
          "< " NOTE("notifications/tools/list_changed", "{}"),
          "> " NOTE("notifications/roots/list_changed", "{}")},
         "4:undeclared-capability 5:undeclared-capability 6:undeclared-capability "
         "7:undeclared-capability 8:undeclared-capability 9:undeclared-capability"},
        /* this revision has no capability for completions */
        {{START("2024-11-05", "{}", "{}"),
          "> " REQ("3", "completion/complete", "{'ref':{},'argument':{}}")},
         ""},
        {{START("2025-11-25", "{'elicitation':{}}", "{}"),
          "< " REQ("1", "elicitation/create", "{'message':'m','requestedSchema':{}}"),
          "< " REQ("2", "elicitation/create", "{'message':'m'}"),
          "< " REQ("3", "elicitation/create",
                   "{'message':'m','mode':'url','url':'u','elicitationId':'e'}")},
         "5:invalid-params 6:undeclared-capability"},
        {{START("2025-11-25", "{}", "{'tools':{},'tasks':{}}"),
          "> " REQ("1", "tools/call", "{'name':'x','task':{}}"), "< " RES("1", "{'task':{}}"),
          "> " REQ("2", "tasks/get", "{'taskId':'t'}"), "< " RES("2", "{'taskId':'t'}"),
          "> " REQ("3", "tasks/list", "{}")},
         "7:invalid-result 8:undeclared-capability"},
    };
    PLAY(rows);
}

static void test_protocol_invalid_ids_cursors_progress_and_errors_are_found(void **state)
{
    (void)state;
    static const struct conversation rows[] = {
        {{START("2025-06-18", "{}", "{'tools':{}}"), "> " REQ("1", "ping", "{}"),
          "< " RES("1", "{}"), "> " REQ("2", "ping", "{}"), "< " RES("2", "{}"),
          "> " REQ("1", "ping", "{}"), "> " REQ("'1'", "ping", "{}"), "< " REQ("1", "ping", "{}"),
          "> " REQ("'i'", "ping", "{}")},
         "8:repeated-id 11:repeated-id"},
        /* legal in this revision after the answer */
        {{"> " REQ("1", "tools/call", "{" M ",'name':'x'}"), "< " RES("1", OK),
          "> " REQ("1", "tools/call", "{" M ",'name':'x'}")},
         ""},
        {{START("2025-06-18", "{}", "{'tools':{}}"), "> " REQ("1", "tools/list", "{'cursor':'a'}"),
          "< " RES("1", "{'tools':[],'nextCursor':'b'}"),
          "> " REQ("2", "tools/list", "{'cursor':'b'}"),
          "< " RES("2", "{'tools':[],'nextCursor':'b'}")},
         "7:repeated-cursor"},
        {{START("2025-06-18", "{}", "{'tools':{}}"),
          "> " REQ("1", "tools/call", "{'name':'x','_meta':{'progressToken':'t'}}"),
          "< " NOTE("notifications/progress", "{'progressToken':'t','progress':1}"),
          "< " NOTE("notifications/progress", "{'progressToken':'t','progress':1.5}"),
          "< " NOTE("notifications/progress", "{'progressToken':'t','progress':1.5}"),
          "< " NOTE("notifications/progress", "{'progressToken':'u','progress':2}"),
          "< " RES("1", TEXT),
          "< " NOTE("notifications/progress", "{'progressToken':'t','progress':9}")},
         "7:progress-not-increasing 8:stray-progress 10:stray-progress"},
        /* progress of a task may follow the answer that created it */
        {{START("2025-11-25", "{}", "{'tools':{},'tasks':{}}"),
          "> " REQ("1", "tools/call", "{'name':'x','task':{},'_meta':{'progressToken':'t'}}"),
          "< " RES("1", "{'task':{}}"),
          "< " NOTE("notifications/progress", "{'progressToken':'t','progress':9}")},
         ""},
        {{START("2025-06-18", "{}", "{'tools':{}}"), "> " REQ("1", "tools/call", "{'name':'x'}"),
          "< " ERR("1", "-32042"), "> " REQ("2", "tools/call", "{'name':'x'}"),
          "< " ERR("2", "-32002")},
         "5:reserved-error-code"},
        {{START("2025-11-25", "{}", "{'tools':{}}"), "> " REQ("1", "tools/call", "{'name':'x'}"),
          "< " ERROR_DATA("1", "-32042", "{'elicitations':[]}")},
         ""},
        /* a list sent as a notification, after an error */
        {{START("2025-06-18", "{}", "{'tools':{}}"), "> " REQ("1", "tools/list", "{}"),
          "< " ERR("1", "-32601"), "< " NOTE("notifications/tools/list", "{'tools':[]}"),
          "< " NOTE("notifications/tools/list", "{'tools':[]}"), "> " REQ("2", "tools/list", "{}"),
          "< " ERR("2", "-32601"), "> " REQ("3", "ping", "{}"), "< " RES("3", "{}"),
          "< " NOTE("notifications/tools/list", "{'tools':[]}")},
         "6:unknown-method,answer-as-notification 7:unknown-method 12:unknown-method"},
        {{"> " MREQ("1", "resources/list"), "< " ERR("1", "-32002"), "> " MREQ("2", "tools/list"),
          "< " ERR("2", "-32050"), "> " MREQ("3", "tools/list"), "< " ERR("3", "-32602")},
         "2:reserved-error-code 4:reserved-error-code"},
    };
    PLAY(rows);
}

static void test_protocol_violations_of_2026_rules_are_found(void **state)
{
    (void)state;
    static const struct conversation rows[] = {
        {{"> " MREQ("1", "tools/list"), "< " REQ("1", "roots/list", "{}"), "> " RES("1", "{}")},
         "2:server-request 3:client-answer"},
        {{"> " REQ("1", "tools/list",
                   "{'_meta':{'io.modelcontextprotocol/protocolVersion':'2026-07-28'}}"),
          "> " REQ("2", "tools/list", "{}"), "> " REQ("3", "ping", "{}")},
         "1:missing-meta 2:missing-meta 3:other-revision"},
        {{"> " REQ("1", "server/discover", "{}")}, "1:missing-meta"},
        {{"> " REQ("1", "tools/list",
                   "{'_meta':{'io.modelcontextprotocol/protocolVersion':'2030-01-01',"
                   "'io.modelcontextprotocol/clientCapabilities':{}}}")},
         "1:unknown-revision"},
        {{"> " MREQ("1", "tools/list"), "< " RES("1", "{'tools':[]}"), "> " MREQ("2", "tools/list"),
          "< " RES("2", "{'tools':[],'resultType':'whole'}"),
          "> " REQ("3", "tools/call", "{" M ",'name':'x'}"), "< " RES("3", TEXT),
          "> " REQ("4", "tools/call", "{" M ",'name':'x'}"),
          "< " RES("4", "{'resultType':'task','taskId':'t'}"), "> " MREQ("5", "tools/list"),
          "< " RES("5", "{'resultType':'task','taskId':'t'}")},
         "2:missing-result-type,missing-cache-fields 4:unknown-result-type 6:missing-result-type "
         "8:undeclared-capability,invalid-task 10:unknown-result-type"},
        {{"> " MREQ("1", "tools/list"), "< " RES("1", "{'resultType':'input_required'}"),
          "> " REQ("2", "tools/call", "{" M ",'name':'x'}"),
          "< " RES("2", "{'resultType':'input_required'}"),
          "> " REQ("3", "tools/call", "{" M ",'name':'x'}"),
          "< " RES("3", "{'resultType':'input_required','inputRequests':{'k':"
                        "{'method':'sampling/createMessage',"
                        "'params':{'messages':[],'maxTokens':1}}}}")},
         "2:misplaced-input-required 4:misplaced-input-required 6:undeclared-capability"},
        {{"> " REQ("1", "tools/call", "{" M ",'name':'x'}"),
          "< " RES("1", "{'resultType':'input_required','requestState':'s'}"),
          "> " REQ("1", "tools/call", "{" M ",'name':'x','requestState':'s'}"),
          "> " REQ("2", "tools/call", "{" M ",'name':'x','requestState':'t'}"),
          "> " REQ("3", "tools/call", "{" M ",'name':'x','requestState':'s'}")},
         "3:bad-retry 4:bad-retry"},
        /* a retry repeats the given state, or has none if none was given */
        {{"> " REQ("1", "tools/call", "{" M ",'name':'x'}"),
          "< " RES("1", "{'resultType':'input_required','requestState':'s','inputRequests':{}}"),
          "> " REQ("2", "tools/call", "{" M ",'name':'x','inputResponses':{}}"),
          "< " RES("2", "{'resultType':'input_required','inputRequests':{}}"),
          "> " REQ("3", "tools/call", "{" M ",'name':'x','inputResponses':{}}")},
         "3:bad-retry"},
        /* the first attempt went to another process */
        {{"> " REQ("1", "tools/call", "{" M ",'name':'x','requestState':'s','inputResponses':{}}"),
          "< " RES("1", "{'resultType':'complete','content':[]}"),
          "> " REQ("2", "tools/call", "{" M ",'name':'x','inputResponses':{}}")},
         ""},
        {{"> " REQ("1", "subscriptions/listen",
                   "{" M ",'notifications':{'toolsListChanged':true}}"),
          "< " NOTE("notifications/tools/list_changed", "{" SUB("1") "}"),
          "< " NOTE("notifications/subscriptions/acknowledged",
                    "{" SUB("1") ",'notifications':{'toolsListChanged':true}}"),
          "< " NOTE("notifications/tools/list_changed", "{" SUB("1") "}"),
          "< " NOTE("notifications/prompts/list_changed", "{" SUB("1") "}"),
          "< " NOTE("notifications/tools/list_changed", "{" SUB("2") "}"),
          "< " NOTE("notifications/tools/list_changed", "{}"),
          "> " NOTE("notifications/cancelled", "{'requestId':1}"),
          "< " NOTE("notifications/prompts/list_changed", "{" SUB("1") "}")},
         "2:unasked-notification 5:unasked-notification 6:no-subscription 7:no-subscription"},
        {{"> " REQ("1", "tools/call", "{" M ",'name':'x'}"),
          "< " NOTE("notifications/message", "{'level':'info','data':1}"),
          "> " REQ("2", "tools/call",
                   "{'_meta':{'io.modelcontextprotocol/protocolVersion':'2026-07-28',"
                   "'io.modelcontextprotocol/clientCapabilities':{},"
                   "'io.modelcontextprotocol/logLevel':'debug'},'name':'x'}"),
          "< " NOTE("notifications/message", "{'level':'info','data':1}"), "< " RES("2", OK),
          "< " NOTE("notifications/message", "{'level':'info','data':1}")},
         "2:unasked-log 6:unasked-log"},
        {{"> " REQ("1", "tools/call", "{" M ",'name':'x'}"),
          "> " NOTE("notifications/progress", "{'progressToken':1,'progress':1}")},
         "2:wrong-direction,stray-progress"},
    };
    PLAY(rows);
}

static struct json_value json(const char *text)
{
    return (struct json_value){json_type_at(text[0]), slice_of(text)};
}

static void test_protocol_id_set_finds_added_ids(void **state)
{
    (void)state;
    struct id_set s = {0};
    char text[32];
    assert_false(id_set_add(&s, json("1")));
    assert_true(id_set_add(&s, json("1.0")));
    assert_false(id_set_add(&s, json("\"1\"")));
    assert_false(id_set_add(&s, json("0")));
    assert_true(id_set_add(&s, json("0")));
    assert_false(id_set_add(&s, json("9223372036854775807")));
    assert_false(id_set_add(&s, json("9223372036854775808")));
    assert_true(id_set_add(&s, json("9223372036854775808")));
    for (int i = 2; i < 100000; i++) {
        snprintf(text, sizeof text, "%d", i);
        assert_false(id_set_add(&s, json(text)));
    }
    assert_true(id_set_add(&s, json("31337")));
    assert_int_equal(s.n, 2); /* consecutive ids take no memory */
    for (int i = 0; i < ID_SET_MAX + 100; i++) {
        snprintf(text, sizeof text, "\"u%d\"", i);
        assert_false(id_set_add(&s, json(text)));
    }
    assert_true(id_set_add(&s, json("\"u17\"")));
    assert_int_equal(s.n, ID_SET_MAX);
    id_set_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_protocol_samples_violate_no_rule),
        cmocka_unit_test(test_protocol_lifecycle_violations_are_found),
        cmocka_unit_test(test_protocol_use_of_undeclared_capabilities_is_found),
        cmocka_unit_test(test_protocol_invalid_methods_and_members_are_found),
        cmocka_unit_test(test_protocol_invalid_ids_cursors_progress_and_errors_are_found),
        cmocka_unit_test(test_protocol_violations_of_2026_rules_are_found),
        cmocka_unit_test(test_protocol_id_set_finds_added_ids),
    };
    return cmocka_run_group_tests_name("protocol", tests, NULL, NULL);
}
