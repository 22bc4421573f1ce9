/* The result of each line: every row of the tables in docs/findings.md, both directions, at both levels of
 * checking; and what is remembered between lines. */
#include "proxy/session/traffic.h"

#include "proxy/session/invalid_line.h"
#include "tests/support/traffic_words.h"

static const struct conversation good[] = {
    /* valid messages are forwarded unchanged, in any spelling */
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
    /* requests of the server have ids of their own */
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
     "<1 -32700 not-json>",
     "1 c2s request refused 1 - - - - - not-json,no-newline;2 s2c* error forwarded 1 - - 1 -32700 "
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
     "<1 -32700 not-json>",
     "1 c2s request refused 1 - - - - - not-json,cut-json;2 s2c* error forwarded 1 - - 1 -32700 - "
     "-"},
    {{"C {'jsonrpc':'2.0','id':1,'method':'p\xff'}"},
     NULL,
     "<1 -32700 not-json>",
     "1 c2s request refused 1 - - - - - invalid-utf8;2 s2c* error forwarded 1 - - 1 -32700 - -"},
    {{"C " PING("1") PING("2")},
     NULL,
     "<1 -32700 not-json><2 -32700 not-json>",
     "1 c2s request refused 1 - - - - - several-values;2 s2c* error forwarded 1 - - 1 -32700 - -;"
     "3 s2c* error forwarded 2 - - 1 -32700 - -"},
    {{"C sending: " PING("1")}, /* glued text is repaired only from the server */
     NULL,
     "<1 -32700 not-json>",
     "1 c2s request refused 1 - - - - - not-json;2 s2c* error forwarded 1 - - 1 -32700 - -"},
    {{"C Content-Length: 40\r"},
     NULL,
     "<null -32700 not-json>",
     "1 c2s noise refused - - - - - - crlf,not-json,content-length;"
     "2 s2c* error forwarded null - - 1 -32700 - -"},
    {{"C POST /mcp HTTP/1.1\r", "C Content-Length: 40\r"},
     NULL,
     "<null -32700 not-json><null -32700 not-json>",
     "1 c2s noise refused - - - - - - crlf,not-json,http-over-stdio;"
     "2 s2c* error forwarded null - - 1 -32700 - -;"
     "3 c2s noise refused - - - - - - crlf,not-json;"
     "4 s2c* error forwarded null - - 3 -32700 - -"},
    /* JSON, but not a message; answered with its id if it has one, and is no answer */
    {{"C {'jsonrpc':'2.0','id':1,'params':{}}"},
     NULL,
     "<1 -32600 not-jsonrpc>",
     "1 c2s request refused 1 - - - - - malformed-answer;"
     "2 s2c* error forwarded 1 - - 1 -32600 - -"},
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
    {{"C {'jsonrpc':'2.0','id':null,'method':'x'}"},
     NULL,
     "<null -32600 not-jsonrpc>",
     "1 c2s noise refused null x - - - - null-id;2 s2c* error forwarded null - - 1 -32600 - -"},
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
    /* unusual, and forwarded */
    {{"C {'jsonrpc':'2.0','id':null,'method':'notifications/x'}"},
     "{'jsonrpc':'2.0','id':null,'method':'notifications/x'}|",
     NULL,
     "1 c2s notification forwarded null notifications/x - - - - null-id"},
    {{"C {'jsonrpc':'2.0','id':1.5,'method':'x','params':null}"},
     "{'jsonrpc':'2.0','id':1.5,'method':'x','params':null}|",
     NULL,
     "1 c2s request forwarded 1.5 x - - - - fractional-id,null-params"},
    {{"C {'jsonrpc':'2.0','id':1,'method':'x','params':[1]}"},
     "{'jsonrpc':'2.0','id':1,'method':'x','params':[1]}|",
     NULL,
     "1 c2s request forwarded 1 x - - - - array-params"},
    /* invalid answers of the client are rejected, and not answered like requests */
    {{"C {'jsonrpc':'2.0','id':9,'error':{}}"},
     NULL,
     "<null -32600 not-jsonrpc>",
     "1 c2s noise refused 9 - - - - - malformed-answer;"
     "2 s2c* error forwarded null - - 1 -32600 - -"},
    /* the server, which would wait for ever, gets an error, too; once */
    {{"S " PING("9"), "C {'jsonrpc':'2.0','id':9}"},
     "<9 -32603 malformed-answer>",
     PING("9") "|<null -32600 not-jsonrpc>",
     "1 s2c request forwarded 9 ping - - - - -;2 c2s noise refused 9 - - - - - malformed-answer;"
     "3 s2c* error forwarded null - - 2 -32600 - -;4 c2s* error forwarded 9 - - 1 -32603 - -"},
    {{"S " PING("9"), "C {'jsonrpc':'2.0','id':'9','result':{},'error':{'code':1,'message':''}}",
      "C " OK("9")},
     "<9 -32603 malformed-answer>" OK("9") "|",
     PING("9") "|<null -32600 not-jsonrpc>",
     "1 s2c request forwarded 9 ping - - - - -;2 c2s noise refused '9' - - - - - malformed-answer;"
     "3 s2c* error forwarded null - - 2 -32600 - -;4 c2s* error forwarded 9 - - 1 -32603 - -;"
     "5 c2s result forwarded 9 - - - - - unknown-answer"},
    /* a call and an answer in one object: both who may wait get an error */
    {{"S " PING("9"), "C {'jsonrpc':'2.0','id':9,'method':'x','result':{}}"},
     "<9 -32603 malformed-answer>",
     PING("9") "|<9 -32600 not-jsonrpc>",
     "1 s2c request forwarded 9 ping - - - - -;2 c2s request refused 9 - - - - - call-and-answer;"
     "3 s2c* error forwarded 9 - - 2 -32600 - -;4 c2s* error forwarded 9 - - 1 -32603 - -"},
    {{"C {'jsonrpc':'2.0','method':'x','error':{'code':1,'message':''}}"},
     NULL,
     "<null -32600 not-jsonrpc>",
     "1 c2s noise refused - - - - - - call-and-answer;2 s2c* error forwarded null - - 1 -32600 - "
     "-"},
    /* but an invalid call is no answer to the request of the server with this id */
    {{"S " PING("9"), "C {'jsonrpc':'2.0','id':9,'method':'a','method':'b'}",
      "C {'jsonrpc':'2.0','id':9,'method':7,'result':null}", "C " OK("9")},
     OK("9") "|",
     PING("9") "|<9 -32600 not-jsonrpc><9 -32600 not-jsonrpc>",
     "1 s2c request forwarded 9 ping - - - - -;"
     "2 c2s request refused 9 - - - - - duplicate-envelope-key,duplicate-key;"
     "3 s2c* error forwarded 9 - - 2 -32600 - -;4 c2s request refused 9 - - - - - not-jsonrpc;"
     "5 s2c* error forwarded 9 - - 4 -32600 - -;6 c2s result forwarded 9 - - 1 - - -"},
    /* unknown answers of the client are forwarded: the server can judge them */
    {{"C " OK("4")}, OK("4") "|", NULL, "1 c2s result forwarded 4 - - - - - unknown-answer"},
    {{"S " PING("9"), "C " OK("'9'"), "C " OK("9")},
     OK("9") "|" OK("9") "|",
     PING("9") "|",
     "1 s2c request forwarded 9 ping - - - - -;2 c2s result forwarded 9 - - 1 - - "
     "id-type-changed;"
     "3 c2s result forwarded 9 - - - - - unknown-answer"},
};

static const struct conversation from_the_server[] = {
    /* not a message: dropped */
    {{"S Server listening on stdio", "S {'level':'info'}", "S 12:00:01 [{'x':1}] done", "S 7"},
     NULL,
     NULL,
     "1 s2c noise refused - - - - - - not-json;2 s2c noise refused - - - - - - not-jsonrpc;"
     "3 s2c noise refused - - - - - - not-json;4 s2c noise refused - - - - - - not-jsonrpc"},
    {{"S {'level':'\xff'}", "S " NOTE NOTE, "S Content-Length: 40\r", "S [1][2]"},
     NULL,
     NULL,
     "1 s2c noise refused - - - - - - invalid-utf8;2 s2c noise refused - - - - - - several-values;"
     "3 s2c noise refused - - - - - - crlf,not-json,content-length;"
     "4 s2c noise refused - - - - - - several-values"},
    {{"S {'jsonrpc':'2.0','method':'a','method':'b'}",
      "S {'jsonrpc':'2.0','id':1,'method':'x','params':1}",
      "S {'jsonrpc':'2.0','id':1,'method':'x','result':{}}"},
     NULL,
     NULL,
     "1 s2c noise refused - - - - - - duplicate-envelope-key,duplicate-key;"
     "2 s2c noise refused - - - - - - not-jsonrpc;3 s2c noise refused - - - - - - call-and-answer"},
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
    /* but not if two parsers could see two messages, nor several */
    {{"S {'a':1" NOTE, "S {}" NOTE, "S [1]" NOTE},
     NULL,
     NULL,
     "1 s2c noise refused - - - - - - not-json;2 s2c noise refused - - - - - - several-values;"
     "3 s2c noise refused - - - - - - several-values"},
    /* nor messages that the server merely echoes */
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
    /* unknown answers */
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
     "{'jsonrpc':'2.0','id':1,'error':{'code':-32700,'message':'?'}}|",
     "1 c2s request forwarded 1 ping - - - - -;2 s2c error forwarded 1 - - 1 -32700 - null-id;"
     "3 s2c result swallowed 1 - - - - - unknown-answer"},
    {{"S {'jsonrpc':'2.0','error':{'code':-32700,'message':'?'}}"}, /* allowed in newer revisions */
     NULL,
     "{'jsonrpc':'2.0','error':{'code':-32700,'message':'?'}}|",
     "1 s2c error forwarded - - - - -32700 - unknown-answer"},
    /* invalid answers to pending requests */
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
    {{"C " PING("1"), "S {'jsonrpc':'2.0','id':'1','method':'x','error':{'code':1,'message':''}}"},
     PING("1") "|",
     "<1 -32603 malformed-answer>",
     "1 c2s request forwarded 1 ping - - - - -;"
     "2 s2c noise refused '1' - - 1 - - call-and-answer,malformed-answer;"
     "3 s2c* error forwarded 1 - - 1 -32603 - -"},
    {{"C " PING("1"), "S {'jsonrpc':'2.0','id':1,'method':'a','method':'b'}", "S " OK("1")},
     PING("1") "|", /* an invalid call is no answer */
     OK("1") "|",
     "1 c2s request forwarded 1 ping - - - - -;"
     "2 s2c noise refused - - - - - - duplicate-envelope-key,duplicate-key;"
     "3 s2c result forwarded 1 - - 1 - - -"},
    {{"S {'jsonrpc':'2.0','id':1}"}, /* to no request */
     NULL,
     NULL,
     "1 s2c noise refused - - - - - - malformed-answer"},
    /* unusual answers that are forwarded */
    {{"C " PING("1"), "C " PING("2"), "S {'jsonrpc':'2.0','id':1,'result':{},'error':null}",
      "S {'jsonrpc':'2.0','id':2,'result':null,'error':{'code':1,'message':''}}"},
     PING("1") "|" PING("2") "|",
     OK("1") "|{'jsonrpc':'2.0','id':2,'error':{'code':1,'message':''}}|",
     "1 c2s request forwarded 1 ping - - - - -;2 c2s request forwarded 2 ping - - - - -;"
     "3 s2c result forwarded 1 - - 1 - - null-beside-answer;4 s2c error forwarded 2 - - 2 1 - "
     "null-beside-answer"},
    {{"C " PING("1"), "C " PING("2"), "S {'jsonrpc':'2.0','id':1,'result':null}",
      "S {'jsonrpc':'2.0','id':2,'result':[]}"},
     PING("1") "|" PING("2") "|",
     OK("1") "|{'jsonrpc':'2.0','id':2,'result':[]}|",
     "1 c2s request forwarded 1 ping - - - - -;2 c2s request forwarded 2 ping - - - - -;"
     "3 s2c result forwarded 1 - - 1 - - null-result;4 s2c result forwarded 2 - - 2 - - "
     "result-not-object"},
    /* the id of an answer has another type: the client gets its own, as it wrote it */
    {{"C " PING("7"), "S " OK("'7'"), "S " OK("7")},
     PING("7") "|",
     OK("7") "|",
     "1 c2s request forwarded 7 ping - - - - -;2 s2c result forwarded 7 - - 1 - - "
     "id-type-changed;"
     "3 s2c result swallowed 7 - - - - - unknown-answer"},
    {{"C " PING("'\\u0031'"), "C " PING("20e0"),
      "S log:{'x':{'id':1},'id' : 1 ,'jsonrpc':'2.0','error':{'code':1,'message':'id'}} \r",
      "S {'jsonrpc':'2.0','id':'2\\u0030','result':{'id':'20'}}"},
     PING("'\\u0031'") "|" PING("20e0") "|",
     "{'x':{'id':1},'id' : '\\u0031' ,'jsonrpc':'2.0','error':{'code':1,'message':'id'}} |"
     "{'jsonrpc':'2.0','id':20e0,'result':{'id':'20'}}|",
     "1 c2s request forwarded '\\u0031' ping - - - - -;2 c2s request forwarded 20e0 ping - - - - -;"
     "3 s2c noise refused - - - - - - not-json;"
     "4 s2c error forwarded '\\u0031' - - 1 1 - crlf,glued-text,id-type-changed;"
     "5 s2c result forwarded 20e0 - - 2 - - id-type-changed"},
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
    /* a second time; an unknown id; an id of another type; an id of the other side */
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
    /* initialize must not be cancelled: its answer is still forwarded */
    {{"C {'jsonrpc':'2.0','id':0,'method':'initialize'}", "C " CANCEL("0"), "S " OK("0")},
     "{'jsonrpc':'2.0','id':0,'method':'initialize'}|" CANCEL("0") "|",
     OK("0") "|",
     "1 c2s request forwarded 0 initialize - - - - -;"
     "2 c2s notification forwarded - notifications/cancelled - - - - cancelled-initialize;"
     "3 s2c result forwarded 0 - - 1 - - -"},
    /* the server cancels its own request; the late answer is forwarded */
    {{"S " PING("1"), "S " CANCEL("1"), "C " OK("1")},
     OK("1") "|",
     PING("1") "|" CANCEL("1") "|",
     "1 s2c request forwarded 1 ping - - - - -;"
     "2 s2c notification forwarded - notifications/cancelled - 1 - - -;"
     "3 c2s result forwarded 1 - - - - - late-answer"},
    {{"C " CALL("1", "a"), "C " CANCEL("1"), "S " OK("'1'")},
     CALL("1", "a") "|" CANCEL("1") "|",
     NULL,
     "1 c2s request forwarded 1 tools/call a - - - -;"
     "2 c2s notification forwarded - notifications/cancelled - 1 - - -;"
     "3 s2c result swallowed 1 - - 1 - - id-type-changed,late-answer"},
    {{"S " PING("'1'"), "S " CANCEL("'1'"), "C " OK("1")},
     OK("'1'") "|",
     PING("'1'") "|" CANCEL("'1'") "|",
     "1 s2c request forwarded '1' ping - - - - -;"
     "2 s2c notification forwarded - notifications/cancelled - 1 - - -;"
     "3 c2s result forwarded '1' - - - - - id-type-changed,late-answer"},
    /* the id is reused while the cancelled request may still be answered */
    {{"C " CALL("1", "a"), "C " CANCEL("1"), "C " CALL("1", "b"), "S " OK("1"), "S " OK("1")},
     CALL("1", "a") "|" CANCEL("1") "|" CALL("1", "b") "|",
     OK("1") "|",
     "1 c2s request forwarded 1 tools/call a - - - -;"
     "2 c2s notification forwarded - notifications/cancelled - 1 - - -;"
     "3 c2s request forwarded 1 tools/call b - - - -;4 s2c result forwarded 1 - - 3 - - -;"
     "5 s2c result swallowed 1 - - 1 - - late-answer"},
    /* an invalid answer to a cancelled request gets no error */
    {{"C " CALL("1", "a"), "C " CANCEL("1"), "S {'jsonrpc':'2.0','id':1}"},
     CALL("1", "a") "|" CANCEL("1") "|",
     NULL,
     "1 c2s request forwarded 1 tools/call a - - - -;"
     "2 c2s notification forwarded - notifications/cancelled - 1 - - -;"
     "3 s2c noise refused 1 - - 1 - - malformed-answer"},
};

/* --validate none: everything is forwarded unchanged, and noted. */
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
    {{"C {'jsonrpc':'2.0','id':1,'method':'x','result':{}}",
      "S {'jsonrpc':'2.0','method':'x','error':0}"},
     "{'jsonrpc':'2.0','id':1,'method':'x','result':{}}|",
     "{'jsonrpc':'2.0','method':'x','error':0}|",
     "1 c2s noise forwarded 1 - - - - - call-and-answer;"
     "2 s2c noise forwarded - - - - - - call-and-answer"},
    {{"C " PING("1"), "S " OK("'1'"), "S " PING("2"), "C " OK("'2'")},
     PING("1") "|" OK("'2'") "|",
     OK("'1'") "|" PING("2") "|",
     "1 c2s request forwarded 1 ping - - - - -;2 s2c result forwarded '1' - - 1 - - "
     "id-type-changed;"
     "3 s2c request forwarded 2 ping - - - - -;4 c2s result forwarded '2' - - 3 - - "
     "id-type-changed"},
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
     "1 c2s request forwarded 1 ping - - - - -;2 s2c noise forwarded 1 - - 1 - - malformed-answer;"
     "3 s2c result forwarded 1 - - - - - unknown-answer"},
    {{"c half a li", "s {'jsonrpc':"},
     "half a li|",
     "{'jsonrpc':|",
     "1 c2s noise forwarded - - - - - - not-json,no-newline;"
     "2 s2c noise forwarded - - - - - - not-json,cut-json,no-newline"},
};

static void test_traffic_valid_messages_are_forwarded_byte_for_byte(void **state)
{
    traffic_play(*state, good, MI_COUNT(good), VALIDATE_WIRE, MAX);
    traffic_play(*state, good, MI_COUNT(good), VALIDATE_NONE, MAX);
}

static void test_traffic_repaired_line_has_a_finding(void **state)
{
    traffic_play(*state, repaired, MI_COUNT(repaired), VALIDATE_WIRE, MAX);
}

static void test_traffic_invalid_line_of_the_client_gets_an_error(void **state)
{
    traffic_play(*state, from_the_client, MI_COUNT(from_the_client), VALIDATE_WIRE, MAX);
}

static void test_traffic_invalid_line_of_the_server_is_dropped(void **state)
{
    traffic_play(*state, from_the_server, MI_COUNT(from_the_server), VALIDATE_WIRE, MAX);
}

static void test_traffic_cancelled_request_gets_no_answer(void **state)
{
    traffic_play(*state, cancelled, MI_COUNT(cancelled), VALIDATE_WIRE, MAX);
}

static void test_traffic_unchecked_lines_are_forwarded_unchanged(void **state)
{
    traffic_play(*state, unchecked, MI_COUNT(unchecked), VALIDATE_NONE, MAX);
}

/* Random bytes from either side: each line of the client is forwarded or answered, everything is recorded, and the
 * client gets one whole message per line. */
static void test_traffic_random_bytes_are_recorded_and_nothing_invalid_is_forwarded(void **state)
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
    invalid_line_on_output_ended(&f->traffic);
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
    /* a row for each line, and one more for text in front of a message or behind one; one for all lines of a message */
    size_t lines = 0;
    for (size_t i = 0; i < f->journal.n; i++) {
        const struct row *r = &f->journal.row[i];
        if (r->event != NULL) {
            struct json_value detail = {JSON_OBJECT, r->body};
            int64_t joined;
            assert_string_equal(r->event, "repaired");
            if (slice_is(json_get(detail, "finding").text, "\"several-lines\"") &&
                json_int(json_get(detail, "count"), &joined))
                lines += (size_t)joined;
            continue;
        }
        if (r->batch_seq != 0 || r->origin != ROW_PEER)
            continue;
        lines++;
        for (size_t k = 0; k < r->body.n; k++)
            lines += r->body.p[k] == '\n';
        lines -= (r->findings & FINDING(FIND_GLUED_TEXT)) != 0;
        lines -= (r->findings & FINDING(FIND_TRAILING_TEXT)) != 0 && r->kind != KIND_NOISE;
        if (r->direction != ROW_C2S || r->action != ROW_REFUSED)
            continue;
        bool answered = false;
        for (size_t k = i; k < f->journal.n && k <= i + 3; k++)
            answered |= f->journal.row[k].origin == ROW_INTERPOSER;
        assert_true(answered);
    }
    assert_int_equal(lines, rounds);
    traffic_end(f);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, traffic_set_up, traffic_tear_down)
    const struct CMUnitTest tests[] = {
        T(test_traffic_valid_messages_are_forwarded_byte_for_byte),
        T(test_traffic_repaired_line_has_a_finding),
        T(test_traffic_invalid_line_of_the_client_gets_an_error),
        T(test_traffic_invalid_line_of_the_server_is_dropped),
        T(test_traffic_cancelled_request_gets_no_answer),
        T(test_traffic_unchecked_lines_are_forwarded_unchanged),
        T(test_traffic_random_bytes_are_recorded_and_nothing_invalid_is_forwarded),
    };
    return cmocka_run_group_tests_name("traffic", tests, NULL, NULL);
}
