/* What becomes of each line: every row of the tables in docs/findings.md, both directions, at both
 * levels of checking; and what is remembered between lines. */
#include "proxy/traffic.h"

#include "tests/unit/traffic_unit.h"

#define MAX ((size_t)64 << 20)

#define PING(id) "{'jsonrpc':'2.0','id':" id ",'method':'ping'}"
#define CALL(id, tool)                                                                             \
    "{'jsonrpc':'2.0','id':" id ",'method':'tools/call','params':{'name':'" tool "'}}"
#define OK(id) "{'jsonrpc':'2.0','id':" id ",'result':{}}"
#define CANCEL(id)                                                                                 \
    "{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':" id "}}"
#define NOTE "{'jsonrpc':'2.0','method':'notifications/x'}"

static const struct conversation good[] = {
    /* what is valid goes on as it is, whatever it looks like */
    {{"C " PING("1"), "S " OK("1")},
     PING("1") "|",
     OK("1") "|",
     "1 c2s request forwarded 1 ping - - - - -;2 s2c result forwarded 1 - - 1 - - -"},
    {{"C   \t{ 'id' : '' , 'method':'x','jsonrpc' : '2.0' }  ",
      "S {'result':{},'jsonrpc':'2.0','id':''}"},
     "  \t{ 'id' : '' , 'method':'x','jsonrpc' : '2.0' }  |",
     "{'result':{},'jsonrpc':'2.0','id':''}|",
     "1 c2s request forwarded '' x - - - - -;2 s2c result forwarded '' - - 1 - - -"},
    {{"C " NOTE, "S " NOTE},
     NOTE "|",
     NOTE "|",
     "1 c2s notification forwarded - notifications/x - - - - -;"
     "2 s2c notification forwarded - notifications/x - - - - -"},
    {{"C {'jsonrpc':'2.0','id':3,'method':'tools\\/call','params':{'name':'d\\u00e9j\\u00e0'}}",
      "S {'jsonrpc':'2.0','id':3,'error':{'code':-32602,'message':'no','data':1}}"},
     "{'jsonrpc':'2.0','id':3,'method':'tools\\/call','params':{'name':'d\\u00e9j\\u00e0'}}|",
     "{'jsonrpc':'2.0','id':3,'error':{'code':-32602,'message':'no','data':1}}|",
     "1 c2s request forwarded 3 tools/call d\xc3\xa9j\xc3\xa0 - - - -;"
     "2 s2c error forwarded 3 - - 1 -32602 - -"},
    /* the server asks, the client answers; their ids are not the client's */
    {{"C " PING("1"), "S {'jsonrpc':'2.0','id':1,'method':'roots/list'}", "C " OK("1"),
      "S " OK("1")},
     PING("1") "|" OK("1") "|",
     "{'jsonrpc':'2.0','id':1,'method':'roots/list'}|" OK("1") "|",
     "1 c2s request forwarded 1 ping - - - - -;2 s2c request forwarded 1 roots/list - - - - -;"
     "3 c2s result forwarded 1 - - 2 - - -;4 s2c result forwarded 1 - - 1 - - -"},
    /* out of order */
    {{"C " PING("1"), "C " PING("2"), "C " PING("'1'"), "S " OK("'1'"), "S " OK("2"), "S " OK("1")},
     PING("1") "|" PING("2") "|" PING("'1'") "|",
     OK("'1'") "|" OK("2") "|" OK("1") "|",
     "1 c2s request forwarded 1 ping - - - - -;2 c2s request forwarded 2 ping - - - - -;"
     "3 c2s request forwarded '1' ping - - - - -;4 s2c result forwarded '1' - - 3 - - -;"
     "5 s2c result forwarded 2 - - 2 - - -;6 s2c result forwarded 1 - - 1 - - -"},
    /* another spelling of the same id is the same id */
    {{"C " PING("1"), "C " PING("'\\u0061'"), "S " OK("1.0"), "S " OK("'a'")},
     PING("1") "|" PING("'\\u0061'") "|",
     OK("1.0") "|" OK("'a'") "|",
     "1 c2s request forwarded 1 ping - - - - -;2 c2s request forwarded '\\u0061' ping - - - - -;"
     "3 s2c result forwarded 1.0 - - 1 - - -;4 s2c result forwarded 'a' - - 2 - - -"},
};

static const struct conversation repaired[] = {
    {{"C " PING("1") "\r", "S " OK("1") "\r"},
     PING("1") "|",
     OK("1") "|",
     "1 c2s request forwarded 1 ping - - - - crlf;2 s2c result forwarded 1 - - 1 - - crlf"},
    {{"C \xef\xbb\xbf" PING("1"), "S \xef\xbb\xbf\xef\xbb\xbf" OK("1") "\r"},
     PING("1") "|",
     OK("1") "|",
     "1 c2s request forwarded 1 ping - - - - bom;2 s2c result forwarded 1 - - 1 - - crlf,bom"},
    {{"C ", "C  \t ", "C \r", "S ", "S \r\r", "C " NOTE},
     NOTE "|",
     NULL,
     "1 c2s noise swallowed - - - - - - blank-line;2 c2s noise swallowed - - - - - - blank-line;"
     "3 c2s noise swallowed - - - - - - crlf,blank-line;4 s2c noise swallowed - - - - - - "
     "blank-line;"
     "5 s2c noise swallowed - - - - - - crlf,blank-line;"
     "6 c2s notification forwarded - notifications/x - - - - -"},
    {{"C \xef\xbb\xbf"}, NULL, NULL, "1 c2s noise swallowed - - - - - - bom,blank-line"},
    {{"c " NOTE, "s " NOTE "\r"},
     NOTE "|",
     NOTE "|",
     "1 c2s notification forwarded - notifications/x - - - - no-newline;"
     "2 s2c notification forwarded - notifications/x - - - - crlf,no-newline"},
    {{"c " PING("1") ",", "s Killed"},
     NULL,
     "<null -32700 not-json>",
     "1 c2s noise refused - - - - - - not-json,no-newline;2 s2c* error forwarded null - - 1 -32700 "
     "- -;"
     "3 s2c noise refused - - - - - - not-json,no-newline"},
};

static const struct conversation from_the_client[] = {
    /* not JSON, in every way */
    {{"C hello"},
     NULL,
     "<null -32700 not-json>",
     "1 c2s noise refused - - - - - - not-json;2 s2c* error forwarded null - - 1 -32700 - -"},
    {{"C {'jsonrpc':'2.0','id':1,'method':'ping'"},
     NULL,
     "<null -32700 not-json>",
     "1 c2s noise refused - - - - - - not-json,cut-json;2 s2c* error forwarded null - - 1 -32700 - "
     "-"},
    {{"C {'jsonrpc':'2.0','id':1,'method':'p\xff'}"},
     NULL,
     "<null -32700 not-json>",
     "1 c2s noise refused - - - - - - invalid-utf8;2 s2c* error forwarded null - - 1 -32700 - -"},
    {{"C " PING("1") PING("2")},
     NULL,
     "<null -32700 not-json>",
     "1 c2s noise refused - - - - - - several-values;2 s2c* error forwarded null - - 1 -32700 - -"},
    {{"C sending: " PING("1")}, /* glued text is repaired from the server alone */
     NULL,
     "<null -32700 not-json>",
     "1 c2s noise refused - - - - - - not-json;2 s2c* error forwarded null - - 1 -32700 - -"},
    {{"C Content-Length: 40\r"},
     NULL,
     "<null -32700 not-json>",
     "1 c2s noise refused - - - - - - crlf,not-json,content-length;"
     "2 s2c* error forwarded null - - 1 -32700 - -"},
    /* JSON, but no message; with an id when there is one to be answered */
    {{"C {}"},
     NULL,
     "<null -32600 not-jsonrpc>",
     "1 c2s noise refused - - - - - - not-jsonrpc;2 s2c* error forwarded null - - 1 -32600 - -"},
    {{"C 42", "C 'text'", "C null"},
     NULL,
     "<null -32600 not-jsonrpc><null -32600 not-jsonrpc><null -32600 not-jsonrpc>",
     "1 c2s noise refused - - - - - - not-jsonrpc;2 s2c* error forwarded null - - 1 -32600 - -;"
     "3 c2s noise refused - - - - - - not-jsonrpc;4 s2c* error forwarded null - - 3 -32600 - -;"
     "5 c2s noise refused - - - - - - not-jsonrpc;6 s2c* error forwarded null - - 5 -32600 - -"},
    {{"C {'id':5,'method':'ping'}"},
     NULL,
     "<5 -32600 not-jsonrpc>",
     "1 c2s request refused 5 - - - - - not-jsonrpc;2 s2c* error forwarded 5 - - 1 -32600 - -"},
    {{"C {'jsonrpc':'1.0','id':'x','method':'ping'}"},
     NULL,
     "<'x' -32600 not-jsonrpc>",
     "1 c2s request refused 'x' - - - - - not-jsonrpc;2 s2c* error forwarded 'x' - - 1 -32600 - -"},
    {{"C {'jsonrpc':'2.0','id':6,'method':7}"},
     NULL,
     "<6 -32600 not-jsonrpc>",
     "1 c2s request refused 6 - - - - - not-jsonrpc;2 s2c* error forwarded 6 - - 1 -32600 - -"},
    {{"C {'jsonrpc':'2.0','id':7,'method':'x','params':'text'}"},
     NULL,
     "<7 -32600 not-jsonrpc>",
     "1 c2s request refused 7 x - - - - not-jsonrpc;2 s2c* error forwarded 7 - - 1 -32600 - -"},
    {{"C {'jsonrpc':'2.0','id':true,'method':'x'}"},
     NULL,
     "<null -32600 not-jsonrpc>",
     "1 c2s noise refused true x - - - - not-jsonrpc;2 s2c* error forwarded null - - 1 -32600 - -"},
    {{"C {'jsonrpc':'2.0','id':[1],'method':'x'}"},
     NULL,
     "<null -32600 not-jsonrpc>",
     "1 c2s noise refused [1] x - - - - not-jsonrpc;2 s2c* error forwarded null - - 1 -32600 - -"},
    /* envelope keys twice, the hidden ones too; case counts */
    {{"C {'jsonrpc':'2.0','id':1,'method':'a','method':'b'}"},
     NULL,
     "<1 -32600 not-jsonrpc>",
     "1 c2s request refused 1 - - - - - duplicate-envelope-key,duplicate-key;"
     "2 s2c* error forwarded 1 - - 1 -32600 - -"},
    {{"C {'jsonrpc':'2.0','id':1,'m\\u0065thod':'a','method':'b'}"},
     NULL,
     "<1 -32600 not-jsonrpc>",
     "1 c2s request refused 1 - - - - - duplicate-envelope-key,duplicate-key;"
     "2 s2c* error forwarded 1 - - 1 -32600 - -"},
    {{"C {'jsonrpc':'2.0','id':1,'Method':'a','method':'b','ID':2}"},
     "{'jsonrpc':'2.0','id':1,'Method':'a','method':'b','ID':2}|",
     NULL,
     "1 c2s request forwarded 1 b - - - - -"},
    {{"C {'jsonrpc':'2.0','id':1,'m\\u0065thod':'a'}"},
     "{'jsonrpc':'2.0','id':1,'m\\u0065thod':'a'}|",
     NULL,
     "1 c2s request forwarded 1 a - - - - -"},
    {{"C {'jsonrpc':'2.0','id':1,'method':'a','params':{'x':{'y':1,'\\u0079':2}}}"},
     "{'jsonrpc':'2.0','id':1,'method':'a','params':{'x':{'y':1,'\\u0079':2}}}|",
     NULL,
     "1 c2s request forwarded 1 a - - - - duplicate-key"},
    /* odd, and forwarded */
    {{"C {'jsonrpc':'2.0','id':null,'method':'x'}"},
     "{'jsonrpc':'2.0','id':null,'method':'x'}|",
     NULL,
     "1 c2s notification forwarded null x - - - - null-id"},
    {{"C {'jsonrpc':'2.0','id':1.5,'method':'x','params':null}"},
     "{'jsonrpc':'2.0','id':1.5,'method':'x','params':null}|",
     NULL,
     "1 c2s request forwarded 1.5 x - - - - fractional-id,null-params"},
    {{"C {'jsonrpc':'2.0','id':1,'method':'x','params':[1]}"},
     "{'jsonrpc':'2.0','id':1,'method':'x','params':[1]}|",
     NULL,
     "1 c2s request forwarded 1 x - - - - array-params"},
    /* the client's answers: broken ones are refused and not answered as if they were requests */
    {{"S " PING("9"), "C {'jsonrpc':'2.0','id':9}"},
     NULL,
     PING("9") "|<null -32600 not-jsonrpc>",
     "1 s2c request forwarded 9 ping - - - - -;2 c2s noise refused 9 - - - - - malformed-answer;"
     "3 s2c* error forwarded null - - 2 -32600 - -"},
    {{"S " PING("9"), "C {'jsonrpc':'2.0','id':9,'result':{},'error':{'code':1,'message':''}}",
      "C " OK("9")},
     OK("9") "|",
     PING("9") "|<null -32600 not-jsonrpc>",
     "1 s2c request forwarded 9 ping - - - - -;2 c2s noise refused 9 - - - - - malformed-answer;"
     "3 s2c* error forwarded null - - 2 -32600 - -;4 c2s result forwarded 9 - - 1 - - -"},
    /* stray answers of the client are the server's to judge */
    {{"C " OK("4")}, OK("4") "|", NULL, "1 c2s result forwarded 4 - - - - - unknown-answer"},
    {{"S " PING("9"), "C " OK("'9'"), "C " OK("9")},
     OK("'9'") "|" OK("9") "|",
     PING("9") "|",
     "1 s2c request forwarded 9 ping - - - - -;2 c2s result forwarded '9' - - 1 - - "
     "id-type-changed;"
     "3 c2s result forwarded 9 - - - - - unknown-answer"},
};

static const struct conversation from_the_server[] = {
    /* no message: kept from the client */
    {{"S Server listening on stdio", "S {'level':'info'}", "S 12:00:01 [{'x':1}] done", "S 7"},
     NULL,
     NULL,
     "1 s2c noise refused - - - - - - not-json;2 s2c noise refused - - - - - - not-jsonrpc;"
     "3 s2c noise refused - - - - - - not-json;4 s2c noise refused - - - - - - not-jsonrpc"},
    {{"S {'jsonrpc':'2.0','id':1,'method':'p\xff'}", "S " NOTE NOTE, "S Content-Length: 40\r",
      "S [1][2]"},
     NULL,
     NULL,
     "1 s2c noise refused - - - - - - invalid-utf8;2 s2c noise refused - - - - - - several-values;"
     "3 s2c noise refused - - - - - - crlf,not-json,content-length;"
     "4 s2c noise refused - - - - - - several-values"},
    {{"S {'jsonrpc':'2.0','method':'a','method':'b'}",
      "S {'jsonrpc':'2.0','id':1,'method':'x','params':1}"},
     NULL,
     NULL,
     "1 s2c noise refused - - - - - - duplicate-envelope-key,duplicate-key;"
     "2 s2c noise refused - - - - - - not-jsonrpc"},
    /* log text in front of a whole message */
    {{"C " PING("1"), "S debug: done. " OK("1")},
     PING("1") "|",
     OK("1") "|",
     "1 c2s request forwarded 1 ping - - - - -;2 s2c noise refused - - - - - - not-json;"
     "3 s2c result forwarded 1 - - 1 - - glued-text"},
    {{"S \x1b[32mINFO\x1b[0m {x} " NOTE "\r"},
     NULL,
     NOTE "|",
     "1 s2c noise refused - - - - - - not-json;"
     "2 s2c notification forwarded - notifications/x - - - - crlf,glued-text"},
    {{"S 12" NOTE, "S 'text'" NOTE, "S [12:00] " NOTE},
     NULL,
     NOTE "|" NOTE "|" NOTE "|",
     "1 s2c noise refused - - - - - - not-json;2 s2c notification forwarded - notifications/x - - "
     "- - "
     "glued-text;3 s2c noise refused - - - - - - not-json;4 s2c notification forwarded - "
     "notifications/x "
     "- - - - glued-text;5 s2c noise refused - - - - - - not-json;6 s2c notification forwarded - "
     "notifications/x - - - - glued-text"},
    /* but not where two parsers could see two messages, nor text behind one, nor several */
    {{"S {'a':1" NOTE, "S {}" NOTE, "S [1]" NOTE, "S " NOTE " done", "S log " NOTE " done"},
     NULL,
     NULL,
     "1 s2c noise refused - - - - - - not-json;2 s2c noise refused - - - - - - several-values;"
     "3 s2c noise refused - - - - - - several-values;4 s2c noise refused - - - - - - not-json;"
     "5 s2c noise refused - - - - - - not-json"},
    /* nor what the server merely repeats */
    {{"C " PING("1"), "S received: " PING("1"), "S " OK("1")},
     PING("1") "|",
     OK("1") "|",
     "1 c2s request forwarded 1 ping - - - - -;2 s2c noise refused - - - - - - not-json;"
     "3 s2c result forwarded 1 - - 1 - - -"},
    {{"C " CALL("1", "a"), "S got {'jsonrpc':'2.0','id':1,'method':'tools/call','params':{}}",
      "S asking " PING("1")}, /* another method: a request of its own */
     CALL("1", "a") "|",
     PING("1") "|",
     "1 c2s request forwarded 1 tools/call a - - - -;2 s2c noise refused - - - - - - not-json;"
     "3 s2c noise refused - - - - - - not-json;4 s2c request forwarded 1 ping - - - - glued-text"},
    {{"S < {'jsonrpc':'2.0','method':'notifications/initialized'}",
      "S < {'jsonrpc':'2.0','method':'notifications/roots/list_changed'}",
      "S < {'jsonrpc':'2.0','method':'notifications/tools/list_changed'}"},
     NULL,
     "{'jsonrpc':'2.0','method':'notifications/tools/list_changed'}|",
     "1 s2c noise refused - - - - - - not-json;2 s2c noise refused - - - - - - not-json;"
     "3 s2c noise refused - - - - - - not-json;"
     "4 s2c notification forwarded - notifications/tools/list_changed - - - - glued-text"},
    /* answers that nobody waits for */
    {{"S " OK("1"), "S {'jsonrpc':'2.0','id':'x','error':{'code':1,'message':'no'}}"},
     NULL,
     NULL,
     "1 s2c result swallowed 1 - - - - - unknown-answer;2 s2c error swallowed 'x' - - - 1 - "
     "unknown-answer"},
    {{"C " PING("1"), "S " OK("1"), "S " OK("1")},
     PING("1") "|",
     OK("1") "|",
     "1 c2s request forwarded 1 ping - - - - -;2 s2c result forwarded 1 - - 1 - - -;"
     "3 s2c result swallowed 1 - - - - - unknown-answer"},
    {{"C " PING("1"), "S {'jsonrpc':'2.0','id':null,'error':{'code':-32700,'message':'?'}}",
      "S " OK("1")},
     PING("1") "|",
     OK("1") "|",
     "1 c2s request forwarded 1 ping - - - - -;2 s2c error swallowed null - - - -32700 - "
     "null-id,unknown-answer;"
     "3 s2c result forwarded 1 - - 1 - - -"},
    {{"S {'jsonrpc':'2.0','error':{'code':-32700,'message':'?'}}"}, /* the newer way, which clients know */
     NULL,
     "{'jsonrpc':'2.0','error':{'code':-32700,'message':'?'}}|",
     "1 s2c error forwarded - - - - -32700 - unknown-answer"},
    /* broken answers to open requests */
    {{"C " PING("1"), "S {'jsonrpc':'2.0','id':1}", "S " OK("1")},
     PING("1") "|",
     "<1 -32603 malformed-answer>",
     "1 c2s request forwarded 1 ping - - - - -;2 s2c noise refused 1 - - 1 - - malformed-answer;"
     "3 s2c* error forwarded 1 - - 1 -32603 - -;"
     "4 s2c result swallowed 1 - - - - - unknown-answer"},
    {{"C " CALL("'q'", "t"),
      "S {'jsonrpc':'2.0','id':'q','result':{},'error':{'code':1,'message':''}}"},
     CALL("'q'", "t") "|",
     "<'q' -32603 malformed-answer>",
     "1 c2s request forwarded 'q' tools/call t - - - -;2 s2c noise refused 'q' - - 1 - - "
     "malformed-answer;"
     "3 s2c* error forwarded 'q' - - 1 -32603 - -"},
    {{"C " PING("1"), "S {'jsonrpc':'2.0','id':1,'error':{'code':'1','message':''}}"},
     PING("1") "|",
     "<1 -32603 malformed-answer>",
     "1 c2s request forwarded 1 ping - - - - -;2 s2c noise refused 1 - - 1 - - malformed-answer;"
     "3 s2c* error forwarded 1 - - 1 -32603 - -"},
    {{"C " PING("1"), "S {'jsonrpc':'2.0','id':1,'error':'no'}"},
     PING("1") "|",
     "<1 -32603 malformed-answer>",
     "1 c2s request forwarded 1 ping - - - - -;2 s2c noise refused 1 - - 1 - - malformed-answer;"
     "3 s2c* error forwarded 1 - - 1 -32603 - -"},
    {{"C " PING("1"), "S {'id':1,'result':{}}"},
     PING("1") "|",
     "<1 -32603 malformed-answer>",
     "1 c2s request forwarded 1 ping - - - - -;"
     "2 s2c noise refused 1 - - 1 - - not-jsonrpc,malformed-answer;"
     "3 s2c* error forwarded 1 - - 1 -32603 - -"},
    {{"C " PING("1"), "S {'jsonrpc':'2.0','id':1,'id':1,'result':{}}"},
     PING("1") "|",
     "<1 -32603 malformed-answer>",
     "1 c2s request forwarded 1 ping - - - - -;"
     "2 s2c noise refused 1 - - 1 - - duplicate-envelope-key,duplicate-key,malformed-answer;"
     "3 s2c* error forwarded 1 - - 1 -32603 - -"},
    {{"S {'jsonrpc':'2.0','id':1}"}, /* to none */
     NULL,
     NULL,
     "1 s2c noise refused - - - - - - malformed-answer"},
    /* odd answers that go on */
    {{"C " PING("1"), "C " PING("2"), "S {'jsonrpc':'2.0','id':1,'result':{},'error':null}",
      "S {'jsonrpc':'2.0','id':2,'result':null,'error':{'code':1,'message':''}}"},
     PING("1") "|" PING("2") "|",
     "{'jsonrpc':'2.0','id':1,'result':{},'error':null}|"
     "{'jsonrpc':'2.0','id':2,'result':null,'error':{'code':1,'message':''}}|",
     "1 c2s request forwarded 1 ping - - - - -;2 c2s request forwarded 2 ping - - - - -;"
     "3 s2c result forwarded 1 - - 1 - - null-beside-answer;4 s2c error forwarded 2 - - 2 1 - "
     "null-beside-answer"},
    {{"C " PING("1"), "C " PING("2"), "S {'jsonrpc':'2.0','id':1,'result':null}",
      "S {'jsonrpc':'2.0','id':2,'result':[]}"},
     PING("1") "|" PING("2") "|",
     "{'jsonrpc':'2.0','id':1,'result':null}|{'jsonrpc':'2.0','id':2,'result':[]}|",
     "1 c2s request forwarded 1 ping - - - - -;2 c2s request forwarded 2 ping - - - - -;"
     "3 s2c result forwarded 1 - - 1 - - result-not-object;4 s2c result forwarded 2 - - 2 - - "
     "result-not-object"},
    {{"C " PING("7"), "S " OK("'7'"), "S " OK("7")},
     PING("7") "|",
     OK("'7'") "|",
     "1 c2s request forwarded 7 ping - - - - -;2 s2c result forwarded '7' - - 1 - - "
     "id-type-changed;"
     "3 s2c result swallowed 7 - - - - - unknown-answer"},
    {{"C " CALL("1", "a"), "S {'jsonrpc':'2.0','id':1,'result':{'isError':true,'content':[]}}"},
     CALL("1", "a") "|",
     "{'jsonrpc':'2.0','id':1,'result':{'isError':true,'content':[]}}|",
     "1 c2s request forwarded 1 tools/call a - - - -;2 s2c result forwarded 1 - - 1 - - "
     "tool-error"},
    {{"C " CALL("1", "a"), "S {'jsonrpc':'2.0','id':1,'result':{'isError':false}}"},
     CALL("1", "a") "|",
     "{'jsonrpc':'2.0','id':1,'result':{'isError':false}}|",
     "1 c2s request forwarded 1 tools/call a - - - -;2 s2c result forwarded 1 - - 1 - - -"},
    /* ids used twice: the oldest request gets the first answer */
    {{"C " CALL("1", "a"), "C " CALL("1", "b"), "S " OK("1"), "S " OK("1"), "C " PING("1")},
     CALL("1", "a") "|" CALL("1", "b") "|" PING("1") "|",
     OK("1") "|" OK("1") "|",
     "1 c2s request forwarded 1 tools/call a - - - -;2 c2s request forwarded 1 tools/call b - - - "
     "reused-id;"
     "3 s2c result forwarded 1 - - 1 - - -;4 s2c result forwarded 1 - - 2 - - -;"
     "5 c2s request forwarded 1 ping - - - - -"},
    {{"C " PING("1"), "C " PING("'1'"), "C " PING("1.0")},
     PING("1") "|" PING("'1'") "|" PING("1.0") "|",
     NULL,
     "1 c2s request forwarded 1 ping - - - - -;2 c2s request forwarded '1' ping - - - - -;"
     "3 c2s request forwarded 1.0 ping - - - - reused-id"},
    {{"S " PING("1"), "S " PING("1")},
     NULL,
     PING("1") "|" PING("1") "|",
     "1 s2c request forwarded 1 ping - - - - -;2 s2c request forwarded 1 ping - - - - reused-id"},
    {{"E a line", "E ", "E {'jsonrpc':'2.0'}", "E \xff\x1b[0m"},
     NULL,
     NULL,
     "1 s2c stderr forwarded - - - - - - -;2 s2c stderr forwarded - - - - - - -;"
     "3 s2c stderr forwarded - - - - - - -;4 s2c stderr forwarded - - - - - - -"},
};

static const struct conversation cancelled[] = {
    {{"C " CALL("1", "a"), "C " CANCEL("1"), "S " OK("1"), "S " OK("1")},
     CALL("1", "a") "|" CANCEL("1") "|",
     NULL,
     "1 c2s request forwarded 1 tools/call a - - - -;"
     "2 c2s notification forwarded - notifications/cancelled - 1 - - -;"
     "3 s2c result swallowed 1 - - 1 - - late-answer;4 s2c result swallowed 1 - - - - - "
     "unknown-answer"},
    {{"C " CALL("1", "a"), "C " CANCEL("1"),
      "S {'jsonrpc':'2.0','id':1,'error':{'code':0,'message':'c'}}"},
     CALL("1", "a") "|" CANCEL("1") "|",
     NULL,
     "1 c2s request forwarded 1 tools/call a - - - -;"
     "2 c2s notification forwarded - notifications/cancelled - 1 - - -;"
     "3 s2c error swallowed 1 - - 1 0 - late-answer"},
    /* a second time; an unknown one; one of another type; the other side's */
    {{"C " CALL("1", "a"), "C " CANCEL("1"), "C " CANCEL("1")},
     CALL("1", "a") "|" CANCEL("1") "|" CANCEL("1") "|",
     NULL,
     "1 c2s request forwarded 1 tools/call a - - - -;"
     "2 c2s notification forwarded - notifications/cancelled - 1 - - -;"
     "3 c2s notification forwarded - notifications/cancelled - - - - -"},
    {{"C " CANCEL("5"), "C " CALL("7", "a"), "C " CANCEL("'7'"), "S " CANCEL("7"), "S " OK("7")},
     CANCEL("5") "|" CALL("7", "a") "|" CANCEL("'7'") "|",
     CANCEL("7") "|" OK("7") "|",
     "1 c2s notification forwarded - notifications/cancelled - - - - -;"
     "2 c2s request forwarded 7 tools/call a - - - -;"
     "3 c2s notification forwarded - notifications/cancelled - - - - -;"
     "4 s2c notification forwarded - notifications/cancelled - - - - -;"
     "5 s2c result forwarded 7 - - 2 - - -"},
    /* initialize must not be cancelled, and its answer is waited for all the same */
    {{"C {'jsonrpc':'2.0','id':0,'method':'initialize'}", "C " CANCEL("0"), "S " OK("0")},
     "{'jsonrpc':'2.0','id':0,'method':'initialize'}|" CANCEL("0") "|",
     OK("0") "|",
     "1 c2s request forwarded 0 initialize - - - - -;"
     "2 c2s notification forwarded - notifications/cancelled - - - - cancelled-initialize;"
     "3 s2c result forwarded 0 - - 1 - - -"},
    /* the server cancels its own request; a late answer is the server's to judge */
    {{"S " PING("1"), "S " CANCEL("1"), "C " OK("1")},
     OK("1") "|",
     PING("1") "|" CANCEL("1") "|",
     "1 s2c request forwarded 1 ping - - - - -;"
     "2 s2c notification forwarded - notifications/cancelled - 1 - - -;"
     "3 c2s result forwarded 1 - - - - - late-answer"},
    /* the id is used anew while the cancelled one may still be answered */
    {{"C " CALL("1", "a"), "C " CANCEL("1"), "C " CALL("1", "b"), "S " OK("1"), "S " OK("1")},
     CALL("1", "a") "|" CANCEL("1") "|" CALL("1", "b") "|",
     OK("1") "|",
     "1 c2s request forwarded 1 tools/call a - - - -;"
     "2 c2s notification forwarded - notifications/cancelled - 1 - - -;"
     "3 c2s request forwarded 1 tools/call b - - - -;4 s2c result forwarded 1 - - 3 - - -;"
     "5 s2c result swallowed 1 - - 1 - - late-answer"},
    /* a broken answer to a cancelled one: nobody waits for an error either */
    {{"C " CALL("1", "a"), "C " CANCEL("1"), "S {'jsonrpc':'2.0','id':1}"},
     CALL("1", "a") "|" CANCEL("1") "|",
     NULL,
     "1 c2s request forwarded 1 tools/call a - - - -;"
     "2 c2s notification forwarded - notifications/cancelled - 1 - - -;"
     "3 s2c noise refused 1 - - 1 - - malformed-answer"},
};

/* --validate none: everything goes on as it came, and is noted. */
static const struct conversation unchecked[] = {
    {{"C " PING("1") "\r", "S \xef\xbb\xbf" OK("1"), "C ", "S  \t"},
     PING("1") "\r||",
     "\xef\xbb\xbf" OK("1") "| \t|",
     "1 c2s request forwarded 1 ping - - - - crlf;2 s2c result forwarded 1 - - 1 - - bom;"
     "3 c2s noise forwarded - - - - - - blank-line;4 s2c noise forwarded - - - - - - blank-line"},
    {{"C hello", "S Server listening", "S log: " NOTE, "C " NOTE NOTE, "S {'a':1}"},
     "hello|" NOTE NOTE "|",
     "Server listening|log: " NOTE "|{'a':1}|",
     "1 c2s noise forwarded - - - - - - not-json;2 s2c noise forwarded - - - - - - not-json;"
     "3 s2c noise forwarded - - - - - - not-json;4 c2s noise forwarded - - - - - - several-values;"
     "5 s2c noise forwarded - - - - - - not-jsonrpc"},
    {{"C {'jsonrpc':'2.0','id':1,'id':2,'method':'x'}", "C {'id':5,'method':'ping'}"},
     "{'jsonrpc':'2.0','id':1,'id':2,'method':'x'}|{'id':5,'method':'ping'}|",
     NULL,
     "1 c2s noise forwarded 2 - - - - - duplicate-envelope-key,duplicate-key;"
     "2 c2s noise forwarded 5 - - - - - not-jsonrpc"},
    {{"S " OK("1"), "S {'jsonrpc':'2.0','id':null,'error':{'code':1,'message':''}}"},
     NULL,
     OK("1") "|{'jsonrpc':'2.0','id':null,'error':{'code':1,'message':''}}|",
     "1 s2c result forwarded 1 - - - - - unknown-answer;2 s2c error forwarded null - - - 1 - "
     "null-id,unknown-answer"},
    {{"C " CALL("1", "a"), "C " CANCEL("1"), "S " OK("1")},
     CALL("1", "a") "|" CANCEL("1") "|",
     OK("1") "|",
     "1 c2s request forwarded 1 tools/call a - - - -;"
     "2 c2s notification forwarded - notifications/cancelled - 1 - - -;"
     "3 s2c result forwarded 1 - - - - - late-answer"},
    {{"C " PING("1"), "S {'jsonrpc':'2.0','id':1}", "S " OK("1")},
     PING("1") "|",
     "{'jsonrpc':'2.0','id':1}|" OK("1") "|",
     "1 c2s request forwarded 1 ping - - - - -;2 s2c noise forwarded 1 - - - - - malformed-answer;"
     "3 s2c result forwarded 1 - - 1 - - -"},
    {{"c half a li", "s {'jsonrpc':"},
     "half a li|",
     "{'jsonrpc':|",
     "1 c2s noise forwarded - - - - - - not-json,no-newline;"
     "2 s2c noise forwarded - - - - - - not-json,cut-json,no-newline"},
};

static void test_traffic_valid_messages_go_on_byte_for_byte(void **state)
{
    traffic_play(*state, good, MI_COUNT(good), VALIDATE_WIRE, MAX);
    traffic_play(*state, good, MI_COUNT(good), VALIDATE_NONE, MAX);
}

static void test_traffic_line_is_repaired_and_that_is_noted(void **state)
{
    traffic_play(*state, repaired, MI_COUNT(repaired), VALIDATE_WIRE, MAX);
}

static void test_traffic_clients_bad_line_is_refused_with_an_error(void **state)
{
    traffic_play(*state, from_the_client, MI_COUNT(from_the_client), VALIDATE_WIRE, MAX);
}

static void test_traffic_servers_bad_line_is_kept_from_the_client(void **state)
{
    traffic_play(*state, from_the_server, MI_COUNT(from_the_server), VALIDATE_WIRE, MAX);
}

static void test_traffic_cancelled_request_gets_no_answer(void **state)
{
    traffic_play(*state, cancelled, MI_COUNT(cancelled), VALIDATE_WIRE, MAX);
}

static void test_traffic_unchecked_lines_go_on_as_they_came(void **state)
{
    traffic_play(*state, unchecked, MI_COUNT(unchecked), VALIDATE_NONE, MAX);
}

static void test_traffic_body_is_the_line_and_size_what_was_received(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C \xef\xbb\xbf " NOTE " \r");
    traffic_say(f, "C bytes \xff\x01");
    traffic_say(f, "S log " NOTE);
    traffic_say(f, "E it's \x1b[31mred\xff");
    traffic_turn(f);
    assert_string_equal(
        ask(&f->t, "SELECT size, body FROM messages WHERE origin = 'peer' ORDER BY id"),
        "50| {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"} ;8|bytes \xef\xbf\xbd\x01;"
        "4|log ;48|{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"};"
        "14|it\"s \x1b[31mred\xef\xbf\xbd");
    traffic_end(f);
}

static void test_traffic_noise_is_shown_once_on_stderr_and_cannot_forge_a_line(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "S Server ready\x1b[2J\r");
    assert_int_equal(said_lines(), 1);
    assert_true(said_holds("kept from the client, no message: server=srv"));
    assert_true(said_holds("Server ready\\x1b[2J"));
    buf_clear(&said);
    char lots[1000];
    memset(lots, 'n', sizeof lots);
    traffic_feed(f, 'S', lots, sizeof lots);
    assert_int_equal(said_lines(), 1);
    assert_true(said.n < 500);
    traffic_say(f, "S Content-Length: 40");
    assert_true(said_holds("LSP"));
    buf_clear(&said);
    traffic_say(f, "E a line on stderr");
    traffic_say(f, "S " OK("1"));
    traffic_say(f, "C bad");
    assert_int_equal(said_lines(), 0);
    traffic_turn(f);
    traffic_end(f);
}

/* 513 levels: as many as our own check refuses. */
static void test_traffic_deep_message_is_refused_as_no_json(void **state)
{
    struct fixture *f = *state;
    struct buf deep = {0};
    for (int levels = 512; levels <= 513; levels++) {
        traffic_begin(f, VALIDATE_WIRE, MAX);
        buf_clear(&deep);
        buf_adds(&deep, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"a\":");
        for (int i = 2; i < levels; i++)
            buf_addc(&deep, '[');
        for (int i = 2; i < levels; i++)
            buf_addc(&deep, ']');
        buf_adds(&deep, "}}");
        traffic_feed(f, 'C', deep.p, deep.n);
        traffic_feed(f, 'S', deep.p, deep.n);
        traffic_turn(f);
        assert_string_equal(
            traffic_rows(f),
            levels == 512
                ? "1 c2s request forwarded 1 x - - - - -;2 s2c request forwarded 1 x - - - - -"
                : "1 c2s noise refused - - - - - - too-deep;"
                  "2 s2c* error forwarded null - - 1 -32700 - -;"
                  "3 s2c noise refused - - - - - - too-deep");
        traffic_end(f);
    }
    buf_close(&deep);
}

static void test_traffic_error_answer_says_what_is_wrong_and_where(void **state)
{
    struct fixture *f = *state;
    char want[600];
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C {'jsonrpc':'2.0' 'id':1}");
    traffic_turn(f);
    snprintf(
        want, sizeof want,
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error: "
        "%s, at byte"
        " 17 of the "
        "line\",\"data\":{\"source\":\"mcp-interposer\",\"cause\":\"not-json\",\"session\":\"%s\","
        "\"seq\":1}}}\n",
        json_fault_text(JSON_SYNTAX), recorder_uid(f->r));
    assert_string_equal(buf_str(&f->got[ROW_S2C]), want);
    snprintf(want, sizeof want, "%.*s", (int)f->got[ROW_S2C].n - 1, f->got[ROW_S2C].p);
    assert_string_equal(ask(&f->t, "SELECT body FROM messages WHERE seq = 2"), want);
    traffic_end(f);
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C {'id':3,'method':'tools/call','params':{'name':'t'}}");
    traffic_turn(f);
    assert_true(strstr(buf_str(&f->got[ROW_S2C]), "\"id\":3,") != NULL);
    assert_true(strstr(buf_str(&f->got[ROW_S2C]), "not a JSON-RPC 2.0 message") != NULL);
    traffic_end(f);
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C Content-Length: 10");
    traffic_turn(f);
    assert_true(strstr(buf_str(&f->got[ROW_S2C]), "one message a line") != NULL);
    traffic_end(f);
}

static void feed_long(struct fixture *f, char who, const char *head, size_t pad, const char *tail)
{
    struct buf b = {0};
    buf_adds(&b, head);
    for (size_t i = 0; i < pad; i++)
        buf_addc(&b, 'x');
    buf_adds(&b, tail);
    traffic_quotes(b.p, b.n);
    assert_false(b.failed);
    traffic_feed(f, who, b.p, b.n);
    buf_close(&b);
}

static void test_traffic_too_long_message_of_the_client_is_refused_with_its_id(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, 1000);
    feed_long(f, 'C', "{'jsonrpc':'2.0','id':'a','method':'tools/call','params':{'x':'", 10000,
              "'}}");
    feed_long(f, 'C', "{'method':'x','params':'", 10000, ""); /* its id is out of sight */
    feed_long(f, 'C', "", 5000, "");
    feed_long(f, 'C', "{'jsonrpc':'2.0','id':3,'result':{'x':'", 10000, "'}}");
    traffic_say(f, "C " PING("1"));
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_C2S), PING("1") "|");
    assert_string_equal(traffic_got(f, ROW_S2C), "<'a' -32600 too-long><null -32600 too-long>"
                                                 "<null -32600 too-long><null -32600 too-long>");
    assert_string_equal(
        traffic_rows(f),
        "1 c2s request refused 'a' tools/call - - - - too-long;"
        "2 s2c* error forwarded 'a' - - 1 -32600 - -;"
        "3 c2s noise refused - x - - - - too-long;4 s2c* error forwarded null - - 3 -32600 - -;"
        "5 c2s noise refused - - - - - - too-long;6 s2c* error forwarded null - - 5 -32600 - -;"
        "7 c2s noise refused 3 - - - - - too-long;8 s2c* error forwarded null - - 7 -32600 - -;"
        "9 c2s request forwarded 1 ping - - - - -");
    /* of what was too long its head is kept */
    assert_string_equal(ask(&f->t, "SELECT max(length(body)) FROM messages"), "4096");
    assert_true(
        said_holds("refused, too long: from=client server=srv bytes>1000; raise --max-message"));
    traffic_end(f);
}

static void test_traffic_too_long_answer_of_the_server_ends_its_request(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, 1000);
    traffic_say(f, "C " CALL("1", "a"));
    traffic_say(f, "C " CALL("2", "b"));
    feed_long(f, 'S', "{'jsonrpc':'2.0','id':1,'result':{'x':'", 10000, "'}}");
    feed_long(f, 'S', "{'jsonrpc':'2.0','result':{'x':'", 10000, ""); /* nobody can know whose */
    feed_long(f, 'S', "{'jsonrpc':'2.0','method':'n','params':{'x':'", 10000, "'}}");
    feed_long(f, 'S', "{'jsonrpc':'2.0','id':2,'method':'ping','params':{'x':'", 10000, "'}}");
    traffic_say(f, "S " OK("2"));
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C), "<1 -32603 malformed-answer>" OK("2") "|");
    assert_true(strstr(buf_str(&f->got[ROW_S2C]), "longer than --max-message") != NULL);
    assert_string_equal(
        traffic_rows(f),
        "1 c2s request forwarded 1 tools/call a - - - -;"
        "2 c2s request forwarded 2 tools/call b - - - -;"
        "3 s2c noise refused 1 - - 1 - - too-long;"
        "4 s2c* error forwarded 1 - - 1 -32603 - -;"
        "5 s2c noise refused - - - - - - too-long;6 s2c noise refused - n - - - - too-long;"
        "7 s2c noise refused 2 ping - - - - too-long;8 s2c result forwarded 2 - - 2 - - -");
    traffic_end(f);
}

static void test_traffic_message_over_ten_mebibytes_is_noted(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    feed_long(f, 'S', "{'jsonrpc':'2.0','method':'n','params':{'x':'", ((size_t)10 << 20) - 48,
              "'}}");
    feed_long(f, 'S', "{'jsonrpc':'2.0','method':'n','params':{'x':'", ((size_t)10 << 20) - 47,
              "'}}");
    traffic_turn(f);
    assert_non_null(
        strstr(buf_str(&said), "from=server server=srv bytes=10485761 id= message=\"n\""));
    traffic_say(f, "C " CALL("'a'", "shoot"));
    feed_long(f, 'S', "{'jsonrpc':'2.0','id':'a','result':{'content':'", (size_t)10 << 20, "'}}");
    traffic_turn(f);
    assert_non_null(strstr(buf_str(&said), "id=\"a\" message=\"tools/call shoot\""));
    assert_string_equal(
        traffic_no_rules(ask(&f->t, "SELECT size, body IS NULL, body_length, finding FROM messages"
                                    " WHERE method IS NOT NULL AND direction = 's2c'")),
        "10485760|1|10485760|-;10485761|1|10485761|large-message");
    traffic_end(f);
}

/* Told of at once, and once on stderr; the line itself has the finding when its end comes. */
static void test_traffic_unfinished_line_is_told_of_and_noted_when_it_ends(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, 100);
    for (int i = 0; i < 2; i++) {
        traffic_unfinished(&f->traffic, ROW_S2C, 7);
        traffic_say(f, "S {'jsonrpc':'2.0','method':'n'}");
        traffic_say(f, "S {'jsonrpc':'2.0','method':'n'}");
    }
    traffic_unfinished(&f->traffic, ROW_C2S, 3);
    traffic_say(f, "S {'jsonrpc':'2.0','method':'n'}");
    traffic_say(f, "c {'j");
    traffic_unfinished(&f->traffic, ROW_S2C, 9);
    traffic_say(
        f, "S {'jsonrpc':'2.0','method':'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
           "nnnnnnnnnnnnnnnnnnnnn'}");
    traffic_turn(f);
    assert_string_equal(ask(&f->t, "SELECT detail FROM events WHERE kind = 'unfinished-line'"),
                        "{\"from\":\"server\",\"bytes\":7};{\"from\":\"server\",\"bytes\":7};"
                        "{\"from\":\"client\",\"bytes\":3};{\"from\":\"server\",\"bytes\":9}");
    assert_string_equal(
        traffic_no_rules(ask(&f->t, "SELECT coalesce(finding, '-') FROM messages"
                                    " WHERE origin = 'peer' ORDER BY id")),
        "unfinished-line;-;unfinished-line;-;-;not-json,cut-json,no-newline,unfinished-line;"
        "too-long,unfinished-line");
    const char *first =
        strstr(buf_str(&said), "a line without its end: from=server server=srv bytes=7");
    assert_non_null(first);
    assert_null(strstr(first + 1, "a line without its end: from=server"));
    assert_non_null(strstr(first, "end: from=client server=srv bytes=3"));
    traffic_end(f);
}

static void test_traffic_too_many_open_requests_are_refused_until_one_ends(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    for (int i = 0; i < PENDING_MAX; i++) {
        char text[100];
        int n =
            snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}", i);
        traffic_feed(f, 'C', text, (size_t)n);
    }
    traffic_turn(f);
    buf_clear(&f->got[ROW_C2S]);
    f->base = f->seq;
    traffic_say(f, "C " CALL("'more'", "a"));
    traffic_say(f, "S " OK("7"));
    traffic_say(f, "C " CALL("'more'", "a"));
    traffic_say(f, "C " NOTE);
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_C2S), CALL("'more'", "a") "|" NOTE "|");
    assert_string_equal(traffic_got(f, ROW_S2C), "<'more' -32603 too-many-open>" OK("7") "|");
    assert_string_equal(
        traffic_no_rules(
            ask(&f->t, "SELECT kind, action, finding FROM messages WHERE rpc_id = '\"more\"'")),
        "request|refused|too-many-open;error|forwarded|-;request|forwarded|-");
    traffic_end(f);
}

/* Its answer could not be told from a stranger's, and would be waited for. */
static void test_traffic_batch_with_a_request_too_many_ends_the_connection(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    strcpy(f->traffic.version, "2025-03-26");
    for (int i = 0; i < PENDING_MAX; i++) {
        char text[100];
        int n =
            snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}", i);
        traffic_feed(f, 'C', text, (size_t)n);
    }
    traffic_turn(f);
    assert_false(f->traffic.out[ROW_S2C].broken);
    traffic_say(f, "C [" CALL("'more'", "a") "]");
    assert_true(f->traffic.out[ROW_S2C].broken);
    traffic_end(f);
}

static void test_traffic_id_too_long_to_keep_is_refused(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    feed_long(f, 'C', "{'jsonrpc':'2.0','method':'x','id':'", (size_t)64 << 10, "'}");
    feed_long(f, 'S', "{'jsonrpc':'2.0','method':'x','id':'", (size_t)64 << 10,
              "'}"); /* not ours to refuse */
    traffic_turn(f);
    assert_string_equal(
        ask(&f->t, "SELECT direction, origin, kind, action, error_code, rpc_id FROM messages"),
        "c2s|peer|request|refused|-|-;s2c|interposer|error|forwarded|-32600|-;"
        "s2c|peer|request|forwarded|-|-");
    assert_int_equal(f->got[ROW_C2S].n, 0);
    traffic_end(f);
}

static void test_traffic_server_gone_answers_every_open_request(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C " CALL("1", "a"));
    traffic_say(f, "C " PING("2"));
    traffic_say(f, "C " CANCEL("2"));
    traffic_say(f, "C {'jsonrpc':'2.0','id':'m','method':'tools/list','params':{'_meta':"
                   "{'io.modelcontextprotocol/protocolVersion':'2026-07-28'}}}");
    traffic_say(f, "S " PING("5"));
    traffic_turn(f);
    buf_clear(&f->got[ROW_S2C]);
    traffic_server_gone(&f->traffic, "server-exited", "the server srv exited with status 1", 0);
    traffic_server_gone(&f->traffic, "server-exited", "once is enough", 0);
    traffic_say(f, "S " OK("1"));
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C),
                        "<1 -32000 server-exited><'m' -31000 server-exited>");
    assert_true(strstr(buf_str(&f->got[ROW_S2C]), "the server srv exited with status 1") != NULL);
    assert_true(strstr(buf_str(&f->got[ROW_S2C]), "\"tool\":\"a\"") != NULL);
    assert_non_null(strstr(traffic_rows(f), ";6 s2c* error forwarded 1 - - 1 -32000 - server-gone;"
                                            "7 s2c* error forwarded 'm' - - 4 -31000 - server-gone;"
                                            "8 s2c result swallowed 1 - - - - - unknown-answer"));
    assert_string_equal(ask(&f->t, "SELECT request_seq, status FROM invocations ORDER BY 1"),
                        "1|server-gone;2|cancelled;4|server-gone");
    traffic_end(f);
}

#define LISTEN(id)                                                                                 \
    "{'jsonrpc':'2.0','id':" id ",'method':'subscriptions/listen','params':{'_meta':"              \
    "{'io.modelcontextprotocol/protocolVersion':'2026-07-28'}}}"

#define LISTENED(id)                                                                               \
    "{'jsonrpc':'2.0','id':" id ",'result':{'resultType':'complete','_meta':"                      \
    "{'io.modelcontextprotocol/subscriptionId':" id "}}}"

static void test_traffic_client_that_leaves_ends_its_listens_with_a_result(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C " LISTEN("1"));
    traffic_say(f, "C " CALL("2", "a"));
    traffic_say(f, "C " LISTEN("'s'"));
    traffic_say(f, "C " LISTEN("4"));
    traffic_say(f, "C " CANCEL("4"));
    traffic_turn(f);
    traffic_end_listens(&f->traffic);
    traffic_server_gone(&f->traffic, "server-exited", "the server srv exited with status 0", 0);
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C),
                        LISTENED("1") "|" LISTENED("'s'") "|<2 -32000 server-exited>");
    assert_string_equal(ask(&f->t, "SELECT request_seq, status FROM invocations ORDER BY 1"),
                        "1|ok;2|server-gone;3|ok;4|cancelled");
    assert_string_equal(
        ask(&f->t, "SELECT rpc_id, finding FROM messages WHERE origin = 'interposer'"),
        "1|-;\"s\"|-;2|server-gone");
    traffic_end(f);
}

static void test_traffic_server_that_takes_no_more_gets_no_more_requests(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C " PING("1"));
    traffic_turn(f);
    outbox_break(&f->traffic.out[ROW_C2S]);
    traffic_say(f, "C " CALL("2", "a"));
    traffic_say(f, "C " NOTE);
    traffic_say(f, "C {'jsonrpc':'2.0','id':3,'method':'tools/list','params':{'_meta':"
                   "{'io.modelcontextprotocol/protocolVersion':'2026-07-28'}}}");
    traffic_say(f, "S " OK("1")); /* it may still answer what it has got */
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C),
                        "<2 -32000 server-closed><3 -31000 server-closed>" OK("1") "|");
    assert_string_equal(
        traffic_no_rules(
            ask(&f->t, "SELECT rpc_id, action, finding FROM messages WHERE kind = 'request'")),
        "1|forwarded|-;2|refused|server-gone;3|refused|server-gone");
    traffic_end(f);
}

static void test_traffic_unrecorded_bytes_are_dropped_and_the_client_is_told(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C " PING("1"));
    traffic_say(f, "C " PING("2"));
    traffic_say(f, "C " PING("'x'"));
    traffic_say(f, "C " PING("4"));
    traffic_say(f, "S " OK("4"));
    traffic_turn(f);
    traffic_say(f, "S " OK("1"));
    traffic_say(f, "S " NOTE);
    traffic_say(f, "S " PING("9"));
    traffic_say(f, "S " OK("'x'"));
    traffic_say(f, "C {'id':7,'method':'ping'}"); /* which we have answered ourselves */
    traffic_say(f, "C bad");
    outbox_break(&f->traffic.out[ROW_C2S]);
    traffic_drop_unrecorded(&f->traffic, "record-error", "cannot record");
    assert_int_equal(f->traffic.out[ROW_S2C].released, f->traffic.out[ROW_S2C].staged);
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C),
                        OK("4") "|<1 -32000 record-error><'x' -32000 record-error>"
                                "<7 -32000 record-error><2 -32000 record-error>");
    traffic_end(f);
}

static void test_traffic_unrecorded_answers_in_a_batch_are_told_too(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    memcpy(f->traffic.version, "2025-03-26", 11);
    traffic_say(f, "C [" PING("1") "," PING("2") "," PING("3") "]");
    traffic_turn(f);
    traffic_say(f, "S [" OK("2") "," OK("1") "]");
    traffic_drop_unrecorded(&f->traffic, "record-error", "cannot record");
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C),
                        "<2 -32000 record-error><1 -32000 record-error><3 -32000 record-error>");
    traffic_end(f);
}

static void test_traffic_session_learns_who_speaks(void **state)
{
    struct fixture *f = *state;
    static const char columns[] = "SELECT client_name, client_version, server_name, server_version,"
                                  " protocol_version FROM sessions";
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(
        f,
        "C {'jsonrpc':'2.0','id':0,'method':'initialize','params':{'protocolVersion':'2025-11-25',"
        "'clientInfo':{'name':'in\\u0073pector','version':'1.2','title':'x'}}}");
    traffic_turn(f);
    assert_string_equal(ask(&f->t, columns), "inspector|1.2|-|-|-"); /* not agreed on yet */
    traffic_say(
        f, "S {'jsonrpc':'2.0','id':0,'result':{'protocolVersion':'2025-06-18','capabilities':{},"
           "'serverInfo':{'name':'fs','version':'0.5'}}}");
    traffic_turn(f);
    assert_string_equal(ask(&f->t, columns), "inspector|1.2|fs|0.5|2025-06-18");
    assert_string_equal(f->traffic.version, "2025-06-18");
    /* what is no initialize changes nothing */
    traffic_say(
        f, "C {'jsonrpc':'2.0','id':1,'method':'x','params':{'clientInfo':{'name':'forged'}}}");
    traffic_say(
        f,
        "S "
        "{'jsonrpc':'2.0','id':1,'result':{'serverInfo':{'name':'forged'},'protocolVersion':'1'}}");
    traffic_turn(f);
    assert_string_equal(ask(&f->t, columns), "inspector|1.2|fs|0.5|2025-06-18");
    traffic_end(f);
}

static void test_traffic_session_without_initialize_learns_from_meta(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C {'jsonrpc':'2.0','id':0,'method':'server/discover','params':{'_meta':{"
                   "'io.modelcontextprotocol/protocolVersion':'2026-07-28',"
                   "'io.modelcontextprotocol/clientInfo':{'name':'go','version':'2'}}}}");
    traffic_say(f, "S {'jsonrpc':'2.0','id':0,'result':{'_meta':{"
                   "'io.modelcontextprotocol/serverInfo':{'name':'fs','version':'9'}}}}");
    traffic_turn(f);
    assert_string_equal(ask(&f->t,
                            "SELECT client_name, client_version, server_name, server_version,"
                            " protocol_version FROM sessions"),
                        "go|2|fs|9|2026-07-28");
    traffic_end(f);
}

static void test_traffic_session_survives_odd_handshakes(void **state)
{
    struct fixture *f = *state;
    static const char *const odd[] = {
        "C {'jsonrpc':'2.0','id':1,'method':'initialize'}",
        "C {'jsonrpc':'2.0','id':1,'method':'initialize','params':null}",
        "C {'jsonrpc':'2.0','id':1,'method':'initialize','params':{'clientInfo':[1]}}",
        "C "
        "{'jsonrpc':'2.0','id':1,'method':'initialize','params':{'clientInfo':{'name':7,'version':"
        "null}}}",
        "S {'jsonrpc':'2.0','id':1,'result':{}}",
        "S {'jsonrpc':'2.0','id':1,'result':null}",
        "S {'jsonrpc':'2.0','id':1,'result':{'protocolVersion':{'x':1},'serverInfo':'s'}}",
        "S {'jsonrpc':'2.0','id':1,'error':{'code':1,'message':'no'}}",
    };
    traffic_begin(f, VALIDATE_WIRE, MAX);
    for (size_t i = 0; i < MI_COUNT(odd); i++)
        traffic_say(f, odd[i]);
    traffic_say(f, "C {'jsonrpc':'2.0','id':2,'method':'initialize'}");
    feed_long(f, 'S', "{'jsonrpc':'2.0','id':2,'result':{'protocolVersion':'", 5000, "'}}");
    traffic_turn(f);
    assert_string_equal(f->traffic.version, "");
    assert_string_equal(
        ask(&f->t, "SELECT client_name, server_name, protocol_version FROM sessions"), "-|-|-");
    traffic_end(f);
}

static void test_traffic_written_at_is_where_the_request_ends(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C " NOTE);
    traffic_say(f, "C " PING("1") "\r");
    const struct pending *p = f->traffic.open[ROW_C2S].open.newest;
    assert_int_equal(p->written_at, f->traffic.out[ROW_C2S].staged);
    assert_int_equal(p->written_at, strlen(NOTE) + 1 + strlen(PING("1")) + 1);
    assert_int_equal(p->size, strlen(PING("1")) + 1); /* as received */
    traffic_say(f, "C " NOTE);
    traffic_turn(f);
    assert_true(f->traffic.out[ROW_C2S].written > p->written_at);
    traffic_end(f);
}

static void test_traffic_client_that_reads_no_errors_must_wait(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    assert_false(traffic_must_wait(&f->traffic));
    int n = 0;
    while (!traffic_must_wait(&f->traffic)) {
        assert_true(++n < 100000);
        traffic_say(f, "C bad");
        traffic_say(f, "S " NOTE); /* what the server sends has its own brake */
    }
    assert_true(f->traffic.own_bytes >= (size_t)1 << 20);
    assert_true(f->traffic.own_bytes < (size_t)2 << 20);
    traffic_turn(f); /* it has read all of them */
    assert_false(traffic_must_wait(&f->traffic));
    traffic_end(f);
}

/* ---- the lines for the log directory ----------------------------------------------------------- */

/* A member of the newest line. */
static const char *logged(struct fixture *f, const char *name)
{
    static struct buf b;
    buf_close(&b);
    struct slice all = buf_slice(&f->traffic.actions.lines);
    assert_true(all.n > 0 && all.p[all.n - 1] == '\n');
    all.n--;
    const char *nl = memrchr(all.p, '\n', all.n);
    const char *p = nl != NULL ? nl + 1 : all.p;
    struct json_value line = {JSON_OBJECT, {p, (size_t)(all.p + all.n - p)}};
    struct json_scan scan;
    assert_int_equal(json_scan(line.text, NULL, NULL, &scan), 0);
    struct json_value v = json_get(line, name);
    if (v.type == JSON_STRING)
        json_unescape(&b, json_string_raw(v));
    else if (v.type == JSON_NONE)
        buf_adds(&b, "none");
    else
        buf_slice_add(&b, v.text);
    return buf_str(&b);
}

static size_t logged_lines(struct fixture *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->traffic.actions.lines.n; i++)
        n += f->traffic.actions.lines.p[i] == '\n';
    return n;
}

static void test_traffic_finished_invocation_is_logged_with_what_became_of_it(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(
        f,
        "C {'jsonrpc':'2.0','id':1,'method':'tools/call','params':{'name':'r\\u0065ad','arguments':"
        "{'path':'/x'}}}");
    assert_int_equal(logged_lines(f), 0);
    traffic_say(
        f, "S {'jsonrpc':'2.0','id':1,'result':{'content':[{'type':'text','text':'he\\u006clo'},"
           "{'type':'text','text':'more'}]}}");
    assert_int_equal(logged_lines(f), 1);
    assert_string_equal(logged(f, "session"), recorder_uid(f->r));
    assert_string_equal(logged(f, "server"), "srv");
    assert_string_equal(logged(f, "seq"), "1");
    assert_string_equal(logged(f, "method"), "tools/call");
    assert_string_equal(logged(f, "tool"), "read");
    assert_string_equal(logged(f, "arguments"), "{\"path\":\"/x\"}");
    assert_string_equal(logged(f, "status"), "ok");
    assert_string_equal(logged(f, "error"), "none");
    assert_string_equal(logged(f, "result"), "hello");
    assert_string_equal(logged(f, "request_bytes"), "102");
    assert_string_equal(logged(f, "response_bytes"), "113");
    traffic_say(f, "C " CALL("2", "a"));
    traffic_say(f, "S {'jsonrpc':'2.0','id':2,'result':{'content':[],'isError':true}}");
    assert_string_equal(logged(f, "status"), "tool-error");
    assert_string_equal(logged(f, "arguments"), "none");
    assert_string_equal(logged(f, "result"), "{\"content\":[],\"isError\":true}");
    traffic_say(f, "C " PING("3"));
    traffic_say(f, "S {'jsonrpc':'2.0','id':3,'error':{'code':-5,'message':'n\\u006f'}}");
    assert_string_equal(logged(f, "status"), "error");
    assert_string_equal(logged(f, "error"), "{\"code\":-5,\"message\":\"n\\u006f\"}");
    assert_string_equal(logged(f, "result"), "none");
    traffic_say(f, "C " PING("4"));
    traffic_say(f, "C " CANCEL("4"));
    assert_string_equal(logged(f, "status"), "cancelled");
    assert_string_equal(logged(f, "seq"), "7");
    traffic_say(f, "S " OK("4")); /* late: nothing more */
    assert_int_equal(logged_lines(f), 4);
    traffic_say(f, "C {'id':5,'method':'ping'}");
    assert_int_equal(logged_lines(f), 5);
    assert_string_equal(logged(f, "status"), "refused");
    traffic_say(f, "C " CALL("6", "b"));
    traffic_say(f, "S {'jsonrpc':'2.0','id':6}");
    assert_string_equal(logged(f, "status"), "error");
    assert_string_equal(logged(f, "tool"), "b");
    traffic_say(f, "C " CALL("7", "c"));
    traffic_server_gone(&f->traffic, "server-exited", "it \"exited\"", 0);
    assert_string_equal(logged(f, "status"), "server-gone");
    assert_string_equal(
        logged(f, "error"),
        "{\"code\":-32000,\"message\":\"it \\\"exited\\\"; this call did not reach it\"}");
    size_t n = logged_lines(f);
    traffic_say(f, "C " NOTE); /* no invocations */
    traffic_say(f, "C bad");
    traffic_say(f, "S " PING("1"));
    traffic_say(f, "C " OK("1"));
    assert_int_equal(logged_lines(f), n);
    traffic_end(f);
}

/* The first 50 characters of a text, however it is written, and a sign that there is more. */
static void
test_traffic_logged_result_is_cut_at_50_characters_however_they_are_written(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *raw, *text;
    } chars[] = {
        {"x", "x"},    {"\xc3\xa9", "\xc3\xa9"}, {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
        {"\\n", "\n"}, {"\\u00e9", "\xc3\xa9"},  {"\\ud83d\\ude00", "\xf0\x9f\x98\x80"},
    };
    for (size_t i = 0; i < MI_COUNT(chars); i++)
        for (size_t skip = 0; skip < 3; skip++)
            for (size_t n = 48; n <= 130; n += n < 52 ? 1 : 39) {
                struct buf line = {0}, want = {0};
                buf_adds(&line,
                         "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"text\":\"");
                for (size_t k = 0; k < n + skip; k++) {
                    buf_adds(&line, k < skip ? "_" : chars[i].raw);
                    if (k < 50)
                        buf_adds(&want, k < skip ? "_" : chars[i].text);
                }
                if (n + skip > 50)
                    buf_adds(&want, "\xe2\x80\xa6");
                buf_adds(&line, "\"}]}}");
                traffic_begin(f, VALIDATE_WIRE, MAX);
                traffic_say(f, "C " CALL("1", "a"));
                traffic_feed(f, 'S', line.p, line.n);
                if (strcmp(logged(f, "result"), buf_str(&want)) != 0)
                    fail_msg("%zu times %s: %s", n, chars[i].raw, logged(f, "result"));
                traffic_end(f);
                buf_close(&line);
                buf_close(&want);
            }
}

static void test_traffic_logged_result_of_odd_content_is_something_readable(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *result, *text;
    } rows[] = {
        {"{}", "{}"},
        {"null", "null"},
        {"[1,2]", "[1,2]"},
        {"{'content':{}}", "{\"content\":{}}"},
        {"{'content':['x']}", "{\"content\":[\"x\"]}"},
        {"{'content':[{}]}", "{\"content\":[{}]}"},
        {"{'content':[{'text':7}]}", "{\"content\":[{\"text\":7}]}"},
        {"{'content':[{'text':''}]}", ""},
        {"{'content':[{'type':'text','a':{'text':'no'},'t\\u0065xt':'yes'}]}", "yes"},
        {"{'content':[{'type':'image','data':'AAAA'}]}",
         "{\"content\":[{\"type\":\"image\",\"data\":\"AAAA\"}]}"},
        {"'a \\'quoted\\' string'", "\"a \\\"quoted\\\" string\""},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        char line[300];
        traffic_begin(f, VALIDATE_WIRE, MAX);
        traffic_say(f, "C " CALL("1", "a"));
        snprintf(line, sizeof line, "S {'jsonrpc':'2.0','id':1,'result':%s}", rows[i].result);
        traffic_say(f, line);
        assert_string_equal(logged(f, "result"), rows[i].text);
        traffic_end(f);
    }
}

static void test_traffic_logged_arguments_too_long_to_keep_are_a_head(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    feed_long(
        f, 'C',
        "{'jsonrpc':'2.0','id':1,'method':'tools/call','params':{'name':'a','arguments':{'x':'",
        5000, "'}}}");
    traffic_say(f, "S " OK("1"));
    assert_string_equal(
        logged(f, "arguments"),
        "{\"x\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\xe2\x80\xa6 [+4958 bytes]");
    traffic_end(f);
}

/* Random bytes, as lines of either side: nothing breaks, each line of the client is forwarded or
 * answered, everything is in the record, and what goes to the client is one whole message a line. */
static void test_traffic_any_bytes_are_recorded_and_nothing_broken_goes_on(void **state)
{
    struct fixture *f = *state;
    struct unit_random rnd = {31};
    static const char *const seeds[] = {
        PING("1"),      OK("1"),       NOTE,
        CALL("2", "a"), CANCEL("1"),   "{'jsonrpc':'2.0','id':1,'error':{'code':1,'message':'m'}}",
        ("[" NOTE "]"), ("log " NOTE),
    };
    traffic_begin(f, VALIDATE_WIRE, MAX);
    const size_t rounds = unit_slow() ? 2000 : 40000;
    for (size_t i = 0; i < rounds; i++) {
        char text[200];
        const char *seed = seeds[unit_random(&rnd, MI_COUNT(seeds))];
        size_t n = strlen(seed);
        memcpy(text, seed, n);
        traffic_quotes(text, n);
        for (size_t k = unit_random(&rnd, 4); k > 0; k--) {
            size_t at = unit_random(&rnd, n);
            switch (unit_random(&rnd, 3)) {
            case 0:
                text[at] = (char)unit_random(&rnd, 256);
                break;
            case 1:
                memmove(text + at, text + at + 1, n - at - 1);
                n--;
                break;
            default:
                text[at] = "{}[]\",:0\\"[unit_random(&rnd, 9)];
            }
        }
        for (size_t k = 0; k < n; k++)
            if (text[k] == '\n')
                text[k] = ' ';
        traffic_feed(f, i % 2 == 0 ? 'C' : 'S', text, n);
        if (i % 1000 == 999) {
            traffic_turn(f);
            buf_clear(&said);
        }
    }
    traffic_turn(f);
    for (int dir = 0; dir < 2; dir++) {
        struct slice all = buf_slice(&f->got[dir]);
        while (all.n > 0) {
            const char *nl = memchr(all.p, '\n', all.n);
            struct rpc m;
            assert_non_null(nl);
            struct slice line = {all.p, (size_t)(nl - all.p)};
            assert_int_equal(rpc_read(line, &m), 0);
            assert_int_not_equal(m.kind, RPC_INVALID);
            assert_int_not_equal(m.kind, RPC_BATCH);
            all.p = nl + 1;
            all.n -= line.n + 1;
        }
    }
    /* a row for each line, and one more for text glued in front of one */
    assert_string_equal(
        ask(&f->t, "SELECT count(*) - sum(finding IS NOT NULL AND finding LIKE '%glued-text%') - "
                   "(SELECT count(*) FROM messages WHERE batch_seq IS NOT NULL) FROM messages"
                   " WHERE origin = 'peer'"),
        unit_slow() ? "2000" : "40000");
    assert_string_equal(
        ask(&f->t,
            "SELECT count(*) FROM messages q WHERE direction = 'c2s' AND"
            " action = 'refused' AND batch_seq IS NULL AND NOT EXISTS (SELECT 1 FROM messages a"
            " WHERE a.id BETWEEN q.id AND q.id + 3 AND a.origin = 'interposer')"),
        "0");
    traffic_end(f);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, traffic_set_up, traffic_tear_down)
    const struct CMUnitTest tests[] = {
        T(test_traffic_valid_messages_go_on_byte_for_byte),
        T(test_traffic_line_is_repaired_and_that_is_noted),
        T(test_traffic_clients_bad_line_is_refused_with_an_error),
        T(test_traffic_servers_bad_line_is_kept_from_the_client),
        T(test_traffic_cancelled_request_gets_no_answer),
        T(test_traffic_unchecked_lines_go_on_as_they_came),
        T(test_traffic_body_is_the_line_and_size_what_was_received),
        T(test_traffic_noise_is_shown_once_on_stderr_and_cannot_forge_a_line),
        T(test_traffic_deep_message_is_refused_as_no_json),
        T(test_traffic_error_answer_says_what_is_wrong_and_where),
        T(test_traffic_too_long_message_of_the_client_is_refused_with_its_id),
        T(test_traffic_too_long_answer_of_the_server_ends_its_request),
        T(test_traffic_message_over_ten_mebibytes_is_noted),
        T(test_traffic_unfinished_line_is_told_of_and_noted_when_it_ends),
        T(test_traffic_too_many_open_requests_are_refused_until_one_ends),
        T(test_traffic_batch_with_a_request_too_many_ends_the_connection),
        T(test_traffic_id_too_long_to_keep_is_refused),
        T(test_traffic_server_gone_answers_every_open_request),
        T(test_traffic_client_that_leaves_ends_its_listens_with_a_result),
        T(test_traffic_server_that_takes_no_more_gets_no_more_requests),
        T(test_traffic_unrecorded_bytes_are_dropped_and_the_client_is_told),
        T(test_traffic_unrecorded_answers_in_a_batch_are_told_too),
        T(test_traffic_session_learns_who_speaks),
        T(test_traffic_session_without_initialize_learns_from_meta),
        T(test_traffic_session_survives_odd_handshakes),
        T(test_traffic_written_at_is_where_the_request_ends),
        T(test_traffic_client_that_reads_no_errors_must_wait),
        T(test_traffic_finished_invocation_is_logged_with_what_became_of_it),
        T(test_traffic_logged_result_is_cut_at_50_characters_however_they_are_written),
        T(test_traffic_logged_result_of_odd_content_is_something_readable),
        T(test_traffic_logged_arguments_too_long_to_keep_are_a_head),
        T(test_traffic_any_bytes_are_recorded_and_nothing_broken_goes_on),
    };
    return cmocka_run_group_tests_name("traffic", tests, NULL, NULL);
}
