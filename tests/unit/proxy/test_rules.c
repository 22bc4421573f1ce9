/* --validate protocol: a message that violates a MUST is rejected, and its sender or receiver gets an error. */
#include "tests/support/traffic_unit.h"

#define INIT                                                                                       \
    "C {'jsonrpc':'2.0','id':0,'method':'initialize','params':{'protocolVersion':'2025-06-18',"    \
    "'capabilities':{'sampling':{}},'clientInfo':{'name':'c','version':'1'}}}",                    \
        "S {'jsonrpc':'2.0','id':0,'result':{'protocolVersion':'2025-06-18','capabilities':"       \
        "{'tools':{}},'serverInfo':{'name':'s','version':'1'}}}",                                  \
        "C {'jsonrpc':'2.0','method':'notifications/initialized'}"
#define CALL(id, params) "{'jsonrpc':'2.0','id':" id ",'method':'tools/call','params':" params "}"

static const struct {
    const char *say[4]; /* after the handshake */
    const char *to_server, *to_client, *rows;
} cases[] = {
    {{"C " CALL("1", "{}")},
     "",
     "<1 -32602 invalid-params>",
     "c2s request refused invalid-params;s2c* error forwarded -"},
    {{"C " CALL("1", "{'name':'x'}"), "S {'jsonrpc':'2.0','id':1,'result':{}}"},
     CALL("1", "{'name':'x'}") "|",
     "<1 -32603 invalid-result>",
     "c2s request forwarded -;s2c result refused invalid-result;s2c* error forwarded -"},
    {{"C {'jsonrpc':'2.0','id':1,'method':'resources/list'}"},
     "",
     "<1 -32601 undeclared-capability>",
     "c2s request refused undeclared-capability;s2c* error forwarded -"},
    /* unknown methods are forwarded: the protocol grows */
    {{"C {'jsonrpc':'2.0','id':1,'method':'my/own'}"},
     "{'jsonrpc':'2.0','id':1,'method':'my/own'}|",
     "",
     "c2s request forwarded unknown-method"},
    {{"S {'jsonrpc':'2.0','method':'notifications/message','params':{'level':'info'}}",
      "C {'jsonrpc':'2.0','method':'notifications/progress','params':{}}"},
     "",
     "",
     "s2c notification refused undeclared-capability,invalid-params;"
     "c2s notification refused invalid-params"},
    {{"S {'jsonrpc':'2.0','id':5,'method':'sampling/createMessage','params':{'messages':[]}}"},
     "<5 -32602 invalid-params>",
     "",
     "s2c request refused invalid-params;c2s* error forwarded -"},
    {{"S {'jsonrpc':'2.0','id':5,'method':'sampling/createMessage','params':{'messages':[],"
      "'maxTokens':1}}",
      "C {'jsonrpc':'2.0','id':5,'result':{'role':'user'}}"},
     "<5 -32603 invalid-result>",
     "{'jsonrpc':'2.0','id':5,'method':'sampling/createMessage','params':{'messages':[],"
     "'maxTokens':1}}|",
     "s2c request forwarded -;c2s result refused invalid-result;c2s* error forwarded -"},
    /* an id that was used before; the id of an open request is a finding */
    {{"C {'jsonrpc':'2.0','id':1,'method':'ping'}", "S {'jsonrpc':'2.0','id':1,'result':{}}",
      "C {'jsonrpc':'2.0','id':1,'method':'ping'}"},
     "{'jsonrpc':'2.0','id':1,'method':'ping'}|",
     "{'jsonrpc':'2.0','id':1,'result':{}}|<1 -32600 repeated-id>",
     "c2s request forwarded -;s2c result forwarded -;c2s request refused repeated-id;"
     "s2c* error forwarded -"},
};

/* The rows after the handshake. */
static const char *list(struct fixture *f)
{
    static struct buf b;
    buf_close(&b);
    for (size_t i = 0; i < f->journal.committed; i++) {
        const struct row *r = &f->journal.row[i];
        if (r->event != NULL || r->seq <= f->base + 3)
            continue;
        buf_printf(&b, "%s%s%s %s %s ", b.n > 0 ? ";" : "", row_direction_name(r->direction),
                   r->origin == ROW_PEER ? "" : "*", row_kind_name(r->kind),
                   row_action_name(r->action));
        fake_add_column(&b, r, "finding", 0);
    }
    return buf_str(&b);
}

/* The messages of a peer after the handshake. */
static const char *got(struct fixture *f, enum row_direction dir)
{
    const char *all = traffic_got(f, dir);
    for (int skip = dir == ROW_C2S ? 2 : 1; skip > 0; skip--)
        all = strchr(all, '|') + 1;
    return all;
}

static void test_rules_protocol_rejects_violations_of_a_must(void **state)
{
    struct fixture *f = *state;
    static const char *const handshake[] = {INIT};
    for (size_t i = 0; i < MI_COUNT(cases); i++) {
        traffic_begin(f, VALIDATE_PROTOCOL, 1 << 20);
        for (size_t k = 0; k < MI_COUNT(handshake); k++)
            traffic_say(f, handshake[k]);
        for (size_t k = 0; k < MI_COUNT(cases[i].say) && cases[i].say[k] != NULL; k++)
            traffic_say(f, cases[i].say[k]);
        traffic_turn(f);
        traffic_expect(i, "to the server", got(f, ROW_C2S), cases[i].to_server);
        traffic_expect(i, "to the client", got(f, ROW_S2C), cases[i].to_client);
        traffic_expect(i, "rows", list(f), cases[i].rows);
        assert_int_equal(f->traffic.open[ROW_S2C].open.count, 0);
        traffic_end(f);
    }
}

static void test_rules_wire_forwards_violations_with_a_finding(void **state)
{
    struct fixture *f = *state;
    static const char *const handshake[] = {INIT};
    traffic_begin(f, VALIDATE_WIRE, 1 << 20);
    for (size_t k = 0; k < MI_COUNT(handshake); k++)
        traffic_say(f, handshake[k]);
    traffic_say(f, "C " CALL("1", "{'_meta':{'progressToken':1}}"));
    traffic_say(f, "C " CALL("2", "{'name':'x','_meta':{'progressToken':1}}"));
    traffic_say(f, "S {'jsonrpc':'2.0','method':'notifications/progress','params':"
                   "{'progressToken':7,'progress':1}}");
    traffic_say(f, "S {'jsonrpc':'2.0','id':1,'result':{}}");
    /* requests of the server may have progress as well */
    traffic_say(
        f, "S {'jsonrpc':'2.0','id':1,'method':'ping','params':{'_meta':{'progressToken':7}}}");
    for (int i = 0; i < 2; i++)
        traffic_say(f, "C {'jsonrpc':'2.0','method':'notifications/progress','params':"
                       "{'progressToken':7,'progress':1}}");
    traffic_say(f, "C {'jsonrpc':'2.0','method':'notifications/progress','params':"
                   "{'progressToken':1,'progress':1}}");
    traffic_turn(f);
    assert_string_equal(list(f), "c2s request forwarded invalid-params;"
                                 "c2s request forwarded reused-token;"
                                 "s2c notification forwarded stray-progress;"
                                 "s2c result forwarded invalid-result;"
                                 "s2c request forwarded -;"
                                 "c2s notification forwarded -;"
                                 "c2s notification forwarded progress-not-increasing;"
                                 "c2s notification forwarded stray-progress");
    traffic_end(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rules_protocol_rejects_violations_of_a_must,
                                        traffic_set_up, traffic_tear_down),
        cmocka_unit_test_setup_teardown(test_rules_wire_forwards_violations_with_a_finding,
                                        traffic_set_up, traffic_tear_down),
    };
    return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
