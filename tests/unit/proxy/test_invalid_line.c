/* Odd lines of the server: each row of the table in docs/findings.md, at all levels of checking. */
#include "proxy/session/invalid_line.h"

#include "tests/support/traffic_words.h"

#define ANSWER(id, text) "{'jsonrpc':'2.0','id':" id ",'result':{'t':" text "}}"
#define ASKED(id) "1 c2s request forwarded " id " ping - - - - -;"
#define ERROR(id) "<" id " -32603 malformed-answer>"

static const struct conversation repaired[] = {
    /* invalid UTF-8, in values and keys */
    {{"C " PING("1"), "S " ANSWER("1", "'caf\xe9'")},
     PING("1") "|",
     ANSWER("1", "'caf\xef\xbf\xbd'") "|",
     ASKED("1") "2 s2c result forwarded 1 - - 1 - - invalid-utf8"},
    {{"C " PING("1"), "S {'jsonrpc':'2.0','id':1,'result':{'\xed\xa0\x80':1}}"},
     PING("1") "|",
     "{'jsonrpc':'2.0','id':1,'result':{'\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd':1}}|",
     ASKED("1") "2 s2c result forwarded 1 - - 1 - - invalid-utf8"},
    {{"S {'jsonrpc':'2.0','method':'notifications/x','params':{'a':'\xff'}}",
      "S {'jsonrpc':'2.0','id':1,'method':'ping','params':{'a':'\xff'}}"},
     NULL,
     "{'jsonrpc':'2.0','method':'notifications/x','params':{'a':'\xef\xbf\xbd'}}|"
     "{'jsonrpc':'2.0','id':1,'method':'ping','params':{'a':'\xef\xbf\xbd'}}|",
     "1 s2c notification forwarded - notifications/x - - - - invalid-utf8;"
     "2 s2c request forwarded 1 ping - - - - invalid-utf8"},
    /* control characters */
    {{"C " PING("1"), "S " ANSWER("1", "'a\tb\x01'")},
     PING("1") "|",
     ANSWER("1", "'a\\tb\\u0001'") "|",
     ASKED("1") "2 s2c result forwarded 1 - - 1 - - control-character"},
    /* numbers that JSON does not have */
    {{"C " PING("1"), "S " ANSWER("1", "[NaN,Infinity,-Infinity]")},
     PING("1") "|",
     ANSWER("1", "[null,null,null]") "|",
     ASKED("1") "2 s2c result forwarded 1 - - 1 - - not-a-number"},
    /* null members */
    {{"C " PING("1"), "S {'error': null , 'jsonrpc':'2.0','id':1,'result':{}}"},
     PING("1") "|",
     "{ 'jsonrpc':'2.0','id':1,'result':{}}|",
     ASKED("1") "2 s2c result forwarded 1 - - 1 - - null-beside-answer"},
    {{"C " PING("1"), "S {'jsonrpc':'2.0' , 'err\\u006fr' : null , 'id':'1','result':{}}"},
     PING("1") "|",
     "{'jsonrpc':'2.0'  , 'id':1,'result':{}}|",
     ASKED("1") "2 s2c result forwarded 1 - - 1 - - null-beside-answer,id-type-changed"},
    {{"C " PING("1"), "S {'jsonrpc':'2.0','id':1,'error':{'code':1,'message':'m'},'result':null}"},
     PING("1") "|",
     "{'jsonrpc':'2.0','id':1,'error':{'code':1,'message':'m'}}|",
     ASKED("1") "2 s2c error forwarded 1 - - 1 1 - null-beside-answer"},
    /* text behind a message, and around one */
    {{"C " PING("1"), "S " OK("1") " done"},
     PING("1") "|",
     OK("1") "|",
     ASKED("1") "2 s2c noise refused - - - - - - not-json;"
                "3 s2c result forwarded 1 - - 1 - - trailing-text"},
    {{"C " PING("1"), "S " OK("1") "}"},
     PING("1") "|",
     OK("1") "|",
     ASKED("1") "2 s2c noise refused - - - - - - not-json;"
                "3 s2c result forwarded 1 - - 1 - - trailing-text"},
    {{"C " PING("1"), "S log: " ANSWER("1", "'\xe9'") " done"},
     PING("1") "|",
     ANSWER("1", "'\xef\xbf\xbd'") "|",
     ASKED("1") "2 s2c noise refused - - - - - - not-json;3 s2c noise refused - - - - - - not-json;"
                "4 s2c result forwarded 1 - - 1 - - glued-text,invalid-utf8,trailing-text"},
    {{"C " PING("1"), "S log: " ANSWER("1", "'C:\\dir'"), "W"},
     PING("1") "|",
     ERROR("1"),
     ASKED("1") "2 s2c noise refused - - - - - - not-json;"
                "3 s2c noise refused 1 - - 1 - - glued-text,not-json,malformed-answer;"
                "4 s2c* error forwarded 1 - - 1 -32603 - -"},
    /* but a message of the client that is logged is not sent */
    {{"C " PING("1"), "S " PING("1") " received", "S " OK("1")},
     PING("1") "|",
     OK("1") "|",
     ASKED("1") "2 s2c noise refused - - - - - - not-json;"
                "3 s2c result forwarded 1 - - 1 - - -"},
    /* several flaws at once */
    {{"C " PING("'x'"),
      "S {'jsonrpc':'2.0','id':'x','result':{'a':NaN,'b':'\xe9\t'},'error':null};\r"},
     PING("'x'") "|",
     "{'jsonrpc':'2.0','id':'x','result':{'a':null,'b':'\xef\xbf\xbd\\t'}}|",
     ASKED("'x'") "2 s2c noise refused - - - - - - not-json;3 s2c result forwarded 'x' - - 1 - - "
                  "crlf,invalid-utf8,control-character,not-a-number,trailing-text,"
                  "null-beside-answer"},
    /* JSON that is not a message is noise, as it was received */
    {{"S {'level':'caf\xe9'}", "S {'level':NaN} "},
     NULL,
     NULL,
     "1 s2c noise refused - - - - - - invalid-utf8;2 s2c noise refused - - - - - - not-json"},
    /* the last line of the output */
    {{"C " PING("1"), "s " ANSWER("1", "'\xe9'")},
     PING("1") "|",
     ANSWER("1", "'\xef\xbf\xbd'") "|",
     ASKED("1") "2 s2c result forwarded 1 - - 1 - - invalid-utf8,no-newline"},
    {{"C " PING("1"), "s {'jsonrpc':'2.0','id':1,'result':{'a':tr"},
     PING("1") "|",
     NULL, /* the reason of the end follows */
     ASKED("1") "2 s2c noise refused - - - - - - not-json,cut-json,no-newline"},
};

static const struct conversation null_results[] = {
    {{"C {'jsonrpc':'2.0','id':1,'method':'logging/setLevel','params':{'level':'info'}}",
      "S {'jsonrpc':'2.0','id':1,'result': null }"},
     "{'jsonrpc':'2.0','id':1,'method':'logging/setLevel','params':{'level':'info'}}|",
     "{'jsonrpc':'2.0','id':1,'result': {} }|",
     "1 c2s request forwarded 1 logging/setLevel - - - - -;"
     "2 s2c result forwarded 1 - - 1 - - null-result"},
    {{"C " CALL("1", "a"), "S {'jsonrpc':'2.0','id':1,'result':null}"},
     CALL("1", "a") "|",
     ERROR("1"),
     "1 c2s request forwarded 1 tools/call a - - - -;"
     "2 s2c result refused 1 - - 1 - - null-result;3 s2c* error forwarded 1 - - 1 -32603 - -"},
    {{"C {'jsonrpc':'2.0','id':1,'method':'shutdown'}", "S {'jsonrpc':'2.0','id':1,'result':null}"},
     "{'jsonrpc':'2.0','id':1,'method':'shutdown'}|",
     "{'jsonrpc':'2.0','id':1,'result':null}|",
     "1 c2s request forwarded 1 shutdown - - - - -;"
     "2 s2c result forwarded 1 - - 1 - - result-not-object"},
};

#define NULL_ERROR "{'jsonrpc':'2.0','id':null,'error':{'code':1,'message':'m'}}"
#define ERROR_OF(id) "{'jsonrpc':'2.0','id':" id ",'error':{'code':1,'message':'m'}}"

static const struct conversation null_ids[] = {
    {{"C " PING("'q'"), "S " NULL_ERROR},
     PING("'q'") "|",
     ERROR_OF("'q'") "|",
     ASKED("'q'") "2 s2c error forwarded 'q' - - 1 1 - null-id"},
    /* two requests are pending */
    {{"C " PING("1"), "C " PING("2"), "S " NULL_ERROR},
     PING("1") "|" PING("2") "|",
     NULL,
     ASKED("1") "2 c2s request forwarded 2 ping - - - - -;"
                "3 s2c error swallowed null - - - 1 - null-id,unknown-answer"},
    /* a notification was sent: the error may be the answer to it */
    {{"C " NOTE, "C " PING("1"), "S " NULL_ERROR},
     NOTE "|" PING("1") "|",
     NULL,
     "1 c2s notification forwarded - notifications/x - - - - -;"
     "2 c2s request forwarded 1 ping - - - - -;"
     "3 s2c error swallowed null - - - 1 - null-id,unknown-answer"},
    /* but the server has answered a later request */
    {{"C " NOTE, "C " PING("1"), "S " OK("1"), "C " PING("2"), "S " NULL_ERROR},
     NOTE "|" PING("1") "|" PING("2") "|",
     OK("1") "|" ERROR_OF("2") "|",
     "1 c2s notification forwarded - notifications/x - - - - -;"
     "2 c2s request forwarded 1 ping - - - - -;3 s2c result forwarded 1 - - 2 - - -;"
     "4 c2s request forwarded 2 ping - - - - -;5 s2c error forwarded 2 - - 4 1 - null-id"},
    /* it has answered a request that was sent before: it may not have read the notification */
    {{"C " PING("1"), "C " NOTE, "S " OK("1"), "C " PING("2"), "S " NULL_ERROR},
     PING("1") "|" NOTE "|" PING("2") "|",
     OK("1") "|",
     "1 c2s request forwarded 1 ping - - - - -;2 c2s notification forwarded - notifications/x - - "
     "- - -;"
     "3 s2c result forwarded 1 - - 1 - - -;4 c2s request forwarded 2 ping - - - - -;"
     "5 s2c error swallowed null - - - 1 - null-id,unknown-answer"},
    /* results without an id, and errors of the client, are not guessed */
    {{"C " PING("1"), "S {'jsonrpc':'2.0','id':null,'result':{}}", "S " PING("7"), "C " NULL_ERROR},
     PING("1") "|" NULL_ERROR "|",
     PING("7") "|",
     ASKED("1") "2 s2c result swallowed null - - - - - null-id,unknown-answer;"
                "3 s2c request forwarded 7 ping - - - - -;"
                "4 c2s error forwarded null - - - 1 - null-id,unknown-answer"},
};

#define UNREADABLE(line, found)                                                                    \
    {                                                                                              \
        {"C " PING("1"), "S " line, "W"}, PING("1") "|", ERROR("1"),                               \
            ASKED("1") "2 s2c noise refused 1 - - 1 - - " found                                    \
                       ";3 s2c* error forwarded 1 - - 1 -32603 - -"                                \
    }

static const struct conversation unreadable[] = {
    UNREADABLE(ANSWER("1", "'C:\\dir'"), "not-json,malformed-answer"),
    UNREADABLE(ANSWER("1", "'C:\\dir\xe9'"), "not-json,malformed-answer"),
    UNREADABLE("{'result':{'t':'C:\\dir'},'id':1}", "not-json,malformed-answer"),
    UNREADABLE("{'result':{'t':'say 'hi''},'id':1}", "not-json,malformed-answer"),
    UNREADABLE(ANSWER("1", "[1,2,]"), "not-json,malformed-answer"),
    UNREADABLE("{'jsonrpc':'2.0','id':1,'result':{},'result':{}}",
               "duplicate-envelope-key,duplicate-key,malformed-answer"),
    UNREADABLE("{'jsonrpc':'2.0','id':1,'result':{},'id':2}",
               "duplicate-envelope-key,duplicate-key,malformed-answer"),
    UNREADABLE("{'jsonrpc':'1.0','id':1,'result':{}}", "not-jsonrpc,malformed-answer"),
    UNREADABLE("{'id':1,'result':{}}", "not-jsonrpc,malformed-answer"),
    UNREADABLE("{'jsonrpc':'2.0','id':1}", "malformed-answer"),
    UNREADABLE("{'jsonrpc':'2.0','id':1,'error':{'message':'m'}}", "malformed-answer"),
    UNREADABLE("{'jsonrpc':'2.0','id':1,'error':{'code':1}}", "malformed-answer"),
    UNREADABLE("{'jsonrpc':'2.0','id':1,'error':{'code':1.5,'message':'m'}}", "malformed-answer"),
    UNREADABLE("{'jsonrpc':'2.0','id':1,'error':{'code':null,'message':'m'}}", "malformed-answer"),
    UNREADABLE("{'jsonrpc':'2.0','id':1,'result':null,'error':null}",
               "null-beside-answer,malformed-answer"),
    /* flawed, and not an answer after the repair */
    UNREADABLE("{'jsonrpc':'2.0','id':1,'x':'\xe9'}", "invalid-utf8,malformed-answer"),
    /* two answers on one line */
    {{"C " PING("1"), "C " PING("2"), "S " OK("1") OK("2")},
     PING("1") "|" PING("2") "|",
     ERROR("1") ERROR("2"),
     ASKED("1") "2 c2s request forwarded 2 ping - - - - -;"
                "3 s2c noise refused 1 - - 1 - - several-values,malformed-answer;"
                "4 s2c* error forwarded 1 - - 1 -32603 - -;"
                "5 s2c* error forwarded 2 - - 2 -32603 - -"},
    /* JSON of a log, valid or not */
    {{"C " PING("1"), "S {'level':30,'id':1,'msg':'m'}", "S {'level':30,'id':1,'dir':'C:\\dir'}",
      "S {'level':30,'id':1,'msg':'\xe9'}", "S " OK("1")},
     PING("1") "|",
     OK("1") "|",
     ASKED(
         "1") "2 s2c noise refused - - - - - - not-jsonrpc;3 s2c noise refused - - - - - - "
              "not-json;4 s2c noise refused - - - - - - invalid-utf8;5 s2c result forwarded 1 - - "
              "1 - - -"},
    /* two answers, one after the other; then one that is printed before it is sent */
    {{"C " PING("1"), "C " PING("2"), "S {'id':1,'result':{},}", "S {'id':2,'result':{},}", "W"},
     PING("1") "|" PING("2") "|",
     ERROR("1") ERROR("2"),
     ASKED("1") "2 c2s request forwarded 2 ping - - - - -;"
                "3 s2c noise refused 1 - - 1 - - not-json,malformed-answer;"
                "4 s2c noise refused 2 - - 2 - - not-json,malformed-answer;"
                "5 s2c* error forwarded 1 - - 1 -32603 - -;"
                "6 s2c* error forwarded 2 - - 2 -32603 - -"},
    /* two that are printed before they are sent */
    {{"C " PING("1"), "C " PING("2"), "S {'id':1,'result':{},}", "S {'id':2,'result':{},}",
      "S " OK("1"), "S " OK("2"), "W"},
     PING("1") "|" PING("2") "|",
     OK("1") "|" OK("2") "|",
     ASKED("1") "2 c2s request forwarded 2 ping - - - - -;"
                "3 s2c noise refused 1 - - 1 - - not-json,malformed-answer;"
                "4 s2c noise refused 2 - - 2 - - not-json,malformed-answer;"
                "5 s2c result forwarded 1 - - 1 - - -;6 s2c result forwarded 2 - - 2 - - -"},
    {{"C " PING("1"), "S {id: 1, result: {}}", "S " OK("1"), "W"},
     PING("1") "|",
     OK("1") "|",
     ASKED("1") "2 s2c noise refused 1 - - 1 - - not-json,malformed-answer;"
                "3 s2c result forwarded 1 - - 1 - - -"},
    /* the ids of others: of an object inside, of a request, of no request */
    {{"C " PING("1"), "S {'result':{'id':1,},}", "S {'jsonrpc':'2.0','id':1,'method':'ping',}",
      "S {'jsonrpc':'2.0','id':2,'result':{},}", "S " OK("1")},
     PING("1") "|",
     OK("1") "|",
     ASKED("1") "2 s2c noise refused - - - - - - not-json;3 s2c noise refused - - - - - - not-json;"
                "4 s2c noise refused - - - - - - not-json;5 s2c result forwarded 1 - - 1 - - -"},
};

/* A wait that no line ends is ended by the next message. */
static const struct conversation several_lines[] = {
    {{"C " PING("1"), "S {", "S   'jsonrpc': '2.0',\r", "S   'id': 1,", "S ",
      "S   'result': {'t':", "S   'a\t}"},
     PING("1") "|",
     NULL,
     "1 c2s request forwarded 1 ping - - - - -"},
    {{"C " PING("1"), "S {'jsonrpc':'2.0',", "S 'id':1,'result':{'t':'one", "S  two\xe9'",
      "S }} ok"},
     PING("1") "|",
     "{'jsonrpc':'2.0','id':1,'result':{'t':'one\\n two\xef\xbf\xbd'}}|",
     ASKED("1") "2 s2c noise refused - - - - - - not-json;"
                "3 s2c result forwarded 1 - - 1 - - invalid-utf8,trailing-text,several-lines"},
    /* a line that is a message, or does not continue the object */
    {{"C " PING("1"), "S {'jsonrpc':'2.0','id':1,'result':{'t':[", "S " NOTE, "S " OK("1")},
     PING("1") "|",
     NOTE "|" OK("1") "|",
     ASKED("1") "2 s2c noise refused 1 - - 1 - - not-json,cut-json,malformed-answer;"
                "3 s2c notification forwarded - notifications/x - - - - -;"
                "4 s2c result forwarded 1 - - 1 - - -"},
    {{"C " PING("1"), "S {'id':1,", "S  'result':{", "S INFO done", "S " NOTE, "W"},
     PING("1") "|",
     NOTE "|" ERROR("1"),
     ASKED("1") "2 s2c noise refused 1 - - 1 - - not-json,cut-json,malformed-answer;"
                "3 s2c noise refused - - - - - - not-json;"
                "4 s2c notification forwarded - notifications/x - - - - -;"
                "5 s2c* error forwarded 1 - - 1 -32603 - -"},
    /* an object that is not a message stays what it is: lines of output */
    {{"S {", "S   level: 'info'", "S }", "S {", "S 'level':[1,2],'a':", "S [3]", "S }"},
     NULL,
     NULL,
     "1 s2c noise refused - - - - - - not-json,cut-json;2 s2c noise refused - - - - - - not-json;"
     "3 s2c noise refused - - - - - - not-json;4 s2c noise refused - - - - - - not-json,cut-json;"
     "5 s2c noise refused - - - - - - not-json;6 s2c noise refused - - - - - - -;"
     "7 s2c noise refused - - - - - - not-json"},
};

/* --validate none: bytes go on as they are, and an answer with a readable id ends its request. */
static const struct conversation unchecked[] = {
    {{"C " PING("1"), "S " ANSWER("1", "'\xe9'"), "S {'jsonrpc':'2.0',", "S 'id':2}"},
     PING("1") "|",
     ANSWER("1", "'\xe9'") "|{'jsonrpc':'2.0',|'id':2}|",
     ASKED("1") "2 s2c noise forwarded - - - 1 - - invalid-utf8;"
                "3 s2c noise forwarded - - - - - - not-json,cut-json;"
                "4 s2c noise forwarded - - - - - - not-json"},
    {{"C " PING("1"), "S {'error':null,'jsonrpc':'2.0','id':1,'result':{}}", "S " NULL_ERROR},
     PING("1") "|",
     "{'error':null,'jsonrpc':'2.0','id':1,'result':{}}|" NULL_ERROR "|",
     ASKED("1") "2 s2c result forwarded 1 - - 1 - - null-beside-answer;"
                "3 s2c error forwarded null - - - 1 - null-id,unknown-answer"},
};

/* --validate protocol: what would be repaired is refused. */
static const struct conversation refused[] = {
    {{"C " PING("1"), "S " ANSWER("1", "'\xe9'")},
     PING("1") "|",
     ERROR("1"),
     ASKED("1") "2 s2c noise refused 1 - - 1 - - invalid-utf8,malformed-answer;"
                "3 s2c* error forwarded 1 - - 1 -32603 - -"},
    {{"C " PING("1"), "S {", "S 'jsonrpc':'2.0','id':1,'result':{}}"},
     PING("1") "|",
     ERROR("1"),
     ASKED("1") "2 s2c noise refused 1 - - 1 - - several-lines,malformed-answer;"
                "3 s2c* error forwarded 1 - - 1 -32603 - -"},
    {{"C " PING("1"), "S {'error':null,'jsonrpc':'2.0','id':1,'result':{}}"},
     PING("1") "|",
     ERROR("1"),
     ASKED("1") "2 s2c result refused 1 - - 1 - - null-beside-answer;"
                "3 s2c* error forwarded 1 - - 1 -32603 - -"},
    {{"C " PING("1"), "S " NULL_ERROR},
     PING("1") "|",
     ERROR("1"),
     ASKED("1") "2 s2c error refused null - - 1 1 - null-id;"
                "3 s2c* error forwarded 1 - - 1 -32603 - -"},
    {{"S {'jsonrpc':'2.0','id':7,'method':'ping'} done"},
     "<7 -32600 trailing-text>",
     NULL,
     "1 s2c noise refused 7 ping - - - - not-json,trailing-text;"
     "2 c2s* error forwarded 7 - - 1 -32600 - -"},
};

static void play(struct fixture *f, const struct conversation *c, size_t n, enum validate v)
{
    traffic_play(f, c, n, v, MAX);
}

static void test_invalid_lines_with_one_reading_are_repaired(void **state)
{
    play(*state, repaired, MI_COUNT(repaired), VALIDATE_WIRE);
}

static void test_invalid_line_null_result_depends_on_the_method(void **state)
{
    play(*state, null_results, MI_COUNT(null_results), VALIDATE_WIRE);
}

static void test_invalid_line_error_without_id_answers_the_only_request(void **state)
{
    play(*state, null_ids, MI_COUNT(null_ids), VALIDATE_WIRE);
}

static void test_invalid_line_answer_that_nobody_can_read_is_an_error_at_once(void **state)
{
    play(*state, unreadable, MI_COUNT(unreadable), VALIDATE_WIRE);
}

static void test_invalid_line_message_over_several_lines_is_joined(void **state)
{
    play(*state, several_lines, MI_COUNT(several_lines), VALIDATE_WIRE);
}

static void test_invalid_lines_are_forwarded_unchanged_without_validation(void **state)
{
    play(*state, unchecked, MI_COUNT(unchecked), VALIDATE_NONE);
}

static void test_invalid_lines_are_refused_under_protocol(void **state)
{
    play(*state, refused, MI_COUNT(refused), VALIDATE_PROTOCOL);
}

static void wait_us(struct fixture *f, int64_t us)
{
    f->journal.now_us += us;
    expire_due_requests(&f->traffic);
    traffic_turn(f);
}

static void test_invalid_line_wait_for_the_next_line_is_bounded(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C " PING("1"));
    assert_int_equal(expire_start_timers_and_get_wait(&f->traffic), -1);
    traffic_say(f, "S {'jsonrpc':'2.0','id':1,");
    assert_int_equal(expire_start_timers_and_get_wait(&f->traffic), INVALID_LINE_WAIT_US);
    wait_us(f, INVALID_LINE_WAIT_US - 1);
    assert_string_equal(traffic_got(f, ROW_S2C), "");
    traffic_say(f, "S 'result':{"); /* waits again */
    assert_int_equal(expire_start_timers_and_get_wait(&f->traffic), INVALID_LINE_WAIT_US);
    wait_us(f, INVALID_LINE_WAIT_US - 1);
    assert_string_equal(traffic_got(f, ROW_S2C), "");
    wait_us(f, 1);
    assert_string_equal(traffic_got(f, ROW_S2C), ERROR("1"));
    assert_int_equal(expire_start_timers_and_get_wait(&f->traffic), -1);
    /* in time, whatever comes */
    traffic_say(f, "C " PING("2"));
    traffic_say(f, "S {'jsonrpc':'2.0','id':2,");
    for (int64_t us = 0; us <= SERVER_LINES_WAIT_MAX_US; us += INVALID_LINE_WAIT_US / 2) {
        wait_us(f, INVALID_LINE_WAIT_US / 2);
        if (f->traffic.invalid_lines.lines.waits)
            traffic_say(f, "S ");
    }
    assert_string_equal(traffic_got(f, ROW_S2C), ERROR("1") ERROR("2"));
    /* not while nothing is read: the next line may be there */
    traffic_say(f, "C " PING("3"));
    traffic_say(f, "S {'jsonrpc':'2.0','id':3,");
    assert_true(expire_set_server_not_reading(&f->traffic, true));
    wait_us(f, 10 * INVALID_LINE_WAIT_US);
    assert_true(f->traffic.invalid_lines.lines.waits);
    assert_true(expire_set_server_not_reading(&f->traffic, false));
    traffic_say(f, "S 'result':{}}");
    wait_us(f, 0);
    assert_string_equal(traffic_got(f, ROW_S2C), ERROR("1") ERROR("2") OK("3") "|");
    /* the end of the output: the request is answered with the reason of the end */
    traffic_say(f, "C " PING("4"));
    traffic_say(f, "S {'jsonrpc':'2.0','id':4,");
    invalid_line_on_output_ended(&f->traffic);
    wait_us(f, INVALID_LINE_WAIT_US);
    assert_string_equal(traffic_got(f, ROW_S2C), ERROR("1") ERROR("2") OK("3") "|");
    assert_int_equal(f->traffic.open[ROW_C2S].open.count, 1);
    traffic_end(f);
}

static void test_invalid_line_message_over_several_lines_has_the_limit_of_one(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, 100);
    traffic_say(f, "C " PING("1"));
    traffic_say(f, "S {'jsonrpc':'2.0','id':1,'result':{'t':[");
    for (int i = 0; i < 100 && f->traffic.invalid_lines.lines.waits; i++)
        traffic_say(f, "S 1,1,1,1,");
    assert_false(f->traffic.invalid_lines.lines.waits);
    wait_us(f, INVALID_LINE_WAIT_US);
    assert_string_equal(traffic_got(f, ROW_S2C), ERROR("1"));
    traffic_end(f);
}

static const char *events(struct fixture *f)
{
    static struct buf b;
    buf_clear(&b);
    for (size_t i = 0; i < f->journal.n; i++)
        if (f->journal.row[i].event != NULL) {
            buf_printf(&b, "%s ", f->journal.row[i].event);
            buf_slice_add(&b, f->journal.row[i].body);
            buf_addc(&b, ';');
        }
    return buf_str(&b);
}

static void test_invalid_line_repairs_are_events_with_the_replaced_bytes(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C " PING("1"));
    traffic_say(f, "S {'id':1,'jsonrpc':'2.0','error':null,'result':{'a':'\xe9\xe8',");
    traffic_say(f, "S 'b':'-\t-',");
    traffic_say(f, "S 'c':-Infinity}} ok");
    traffic_turn(f);
    assert_string_equal(
        events(f),
        "repaired {\"seq\":3,\"finding\":\"invalid-utf8\",\"offset\":52,\"count\":2,"
        "\"bytes\":\"e9e8\"};"
        "repaired {\"seq\":3,\"finding\":\"several-lines\",\"offset\":56,\"count\":2,"
        "\"bytes\":\"0a0a\"};"
        "repaired {\"seq\":3,\"finding\":\"control-character\",\"offset\":63,\"count\":1,"
        "\"bytes\":\"09\"};"
        "repaired {\"seq\":3,\"finding\":\"not-a-number\",\"offset\":72,\"count\":1,"
        "\"bytes\":\"2d496e66696e697479\"};"
        "repaired {\"seq\":3,\"finding\":\"trailing-text\",\"offset\":84,\"count\":1};"
        "repaired {\"seq\":3,\"finding\":\"null-beside-answer\",\"offset\":23,\"count\":1,"
        "\"bytes\":\"2c226572726f72223a6e756c6c\"};");
    traffic_end(f);
}

/* The message of the only error that the client got. */
static const char *error_message(struct fixture *f)
{
    static struct buf b;
    struct rpc m;
    struct slice all = buf_slice(&f->got[ROW_S2C]);
    assert_int_equal(rpc_read(all, &m), 0);
    assert_int_equal(m.kind, RPC_ERROR);
    buf_clear(&b);
    json_unescape(&b, json_string_raw(m.error_message));
    return buf_str(&b);
}

static void expect_error_message(struct fixture *f, const char *line, const char *want)
{
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C " PING("1"));
    traffic_say(f, line);
    wait_us(f, INVALID_LINE_WAIT_US);
    assert_string_equal(error_message(f), want);
    traffic_end(f);
}

static void test_invalid_line_response_of_http_is_the_answer_unless_one_comes(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C " PING("1"));
    traffic_say(f, "S HTTP/1.1 400 Bad Request\r");
    traffic_say(f, "S Content-Length: 0\r");
    traffic_say(f, "S \r");
    wait_us(f, INVALID_LINE_HTTP_WAIT_US - 1);
    assert_string_equal(traffic_got(f, ROW_S2C), "");
    wait_us(f, 1);
    assert_string_equal(error_message(f),
                        "the server answers with HTTP on its stdout, MCP over stdio expects one "
                        "JSON message per line: start the server with its stdio transport, or use "
                        "its URL in the client: HTTP/1.1 400 Bad Request");
    traffic_end(f);
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C " PING("1"));
    traffic_say(f, "S HTTP/1.1 400 Bad Request");
    invalid_line_on_output_ended(&f->traffic);
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C), ERROR("1"));
    traffic_end(f);
    /* a log of HTTP */
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C " PING("1"));
    traffic_say(f, "S HTTP/1.1 200 OK");
    traffic_say(f, "S POST /mcp HTTP/1.1");
    traffic_say(f, "S " OK("1"));
    traffic_say(f, "C " PING("2"));
    traffic_say(f, "S HTTP/1.1 200 OK");
    wait_us(f, INVALID_LINE_HTTP_WAIT_US);
    assert_string_equal(traffic_got(f, ROW_S2C), OK("1") "|");
    assert_int_equal(expire_start_timers_and_get_wait(&f->traffic), -1);
    traffic_end(f);
    /* a log before a slow answer */
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C " PING("1"));
    traffic_say(f, "S HTTP/1.1 200 OK");
    traffic_say(f, "S ready");
    traffic_say(f, "S ");
    wait_us(f, 2 * INVALID_LINE_HTTP_WAIT_US);
    traffic_say(f, "S " OK("1"));
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C), OK("1") "|");
    traffic_end(f);
    /* a log of a response, while another request is answered */
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C " PING("1"));
    traffic_say(f, "C " PING("2"));
    traffic_say(f, "S HTTP/1.1 200 OK");
    traffic_say(f, "S ");
    traffic_say(f, "S " OK("2"));
    wait_us(f, INVALID_LINE_HTTP_WAIT_US);
    traffic_say(f, "S " OK("1"));
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C), OK("2") "|" OK("1") "|");
    traffic_end(f);
}

#define SECRET "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
#define PAD "0123456789012345678901234567890123456789012345678901234567890123456789"

static void test_invalid_line_error_says_what_is_wrong_and_where_without_secrets(void **state)
{
    expect_error_message(*state, "S {'id':1,'result':{'t':'C:\\dir'}}",
                         "the server's answer is not valid JSON: invalid escape '\\d' at "
                         "byte 26 of the line: {\"id\":1,\"result\":{\"t\":\"C:\\dir\"}}");
    expect_error_message(*state, "S {'id':1,'result':{'" SECRET "':'C:\\dir'}}",
                         "the server's answer is not valid JSON: invalid escape '\\d' at "
                         "byte 65 of the line");
    expect_error_message(*state, "S {'id':1,'token':'" SECRET "','result':{'" PAD "':'C:\\dir'}}",
                         "the server's answer is not valid JSON: invalid escape '\\d' at "
                         "byte 146 of the line: …45678901234567890123456789\":\"C:\\dir\"}}");
    expect_error_message(*state, "S {'id':1,'result':{\x1b[31m}}",
                         "the server's answer is not valid JSON: unexpected '\\x1b' at "
                         "byte 18 of the line: {\"id\":1,\"result\":{\\x1b[31m}}");
    expect_error_message(*state, "S {'jsonrpc':'2.0','id':1,'result':{},'result':{}}",
                         "the server's answer is invalid: the member jsonrpc, id, method, params, "
                         "result or error occurs twice");
    static const struct {
        const char *line, *why;
    } rows[] = {
        {"S {'jsonrpc':'2.0','id':1}", "the answer has neither a result nor an error"},
        {"S {'jsonrpc':'2.0','id':1,'error':null}", "the answer has neither a result nor an error"},
        {"S {'jsonrpc':'2.0','id':1,'result':{},'error':{}}",
         "the answer has both a result and an error"},
        {"S {'jsonrpc':'2.0','id':1,'error':'no'}", "the answer's error is not an object"},
        {"S {'jsonrpc':'2.0','id':1,'error':{'message':'m'}}",
         "the answer's error has no integer `code`"},
        {"S {'jsonrpc':'2.0','id':1,'error':{'code':1,'message':2}}",
         "the answer's error has no string `message`"},
        {"S {'id':1,'error':{'code':1,'message':'m'}}", "not a JSON-RPC 2.0 message"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct buf want = {0};
        buf_printf(&want, "the server's answer is invalid: %s", rows[i].why);
        expect_error_message(*state, rows[i].line, buf_str(&want));
        buf_close(&want);
    }
}

static enum liveness never_silent(void *owner, const struct pending *p, int64_t waited_us,
                                  struct buf *why)
{
    (void)owner, (void)p, (void)waited_us, (void)why;
    fail_msg("the server was taken for silent");
    return LIVENESS_SLOW;
}

/* Something was sent that was meant as a message: the server is slow, and the error at the deadline quotes it. */
static void test_invalid_line_server_that_sends_invalid_lines_is_not_silent(void **state)
{
    static const struct {
        const char *line, *quote;
    } rows[] = {
        {"S {'jsonrpc':'2.0','id':9,'result':{'t':'C:\\dir'}}",
         "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{\"t\":\"C:\\dir\"}}"},
        {"S {'jsonrpc':'2.0','id':true,'result':{}}",
         "{\"jsonrpc\":\"2.0\",\"id\":true,\"result\":{}}"},
        {"S {'jsonrpc':'2.0','result':{'password':'" SECRET "'},'x':'\xe9'}",
         "{\"jsonrpc\":\"2.0\",\"result\":{\"password\":\"[redacted:password]\"},\"x\"…"},
        {"S " OK("7"), "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}"},
        {"S " NULL_ERROR,
         "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"m\"}}"},
    };
    struct fixture *f = *state;
    struct deadlines rules;
    struct buf error = {0};
    deadlines_open(&rules);
    assert_int_equal(deadlines_add(&rules, "10s", &error), 0);
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct buf want = {0};
        traffic_begin(f, VALIDATE_WIRE, MAX);
        traffic_set_deadlines(&f->traffic, &rules, 0);
        f->traffic.on_silent = never_silent;
        traffic_say(f, "C " NOTE);
        traffic_say(f, "C " PING("1"));
        traffic_turn(f);
        wait_us(f, 1000000);
        traffic_say(f, rows[i].line);
        wait_us(f, 20000000);
        buf_printf(&want, " (the server sent a line that answers no request: %s)", rows[i].quote);
        if (strstr(error_message(f), buf_str(&want)) == NULL)
            fail_msg("row %zu: %s", i, error_message(f));
        buf_close(&want);
        traffic_end(f);
    }
    deadlines_close(&rules);
}

/* The same for answers that nobody can read, to other requests. */
static void test_invalid_line_server_that_sends_an_invalid_answer_is_not_silent(void **state)
{
    static const char *const lines[] = {
        "S {'jsonrpc':'2.0','id':1,'result':{'t':'C:\\dir'}}",
        "S {'jsonrpc':'2.0','id':1}",
        "S " OK("1") OK("1"),
    };
    struct fixture *f = *state;
    struct deadlines rules;
    struct buf error = {0};
    deadlines_open(&rules);
    assert_int_equal(deadlines_add(&rules, "10s", &error), 0);
    for (size_t i = 0; i <= MI_COUNT(lines); i++) {
        traffic_begin(f, VALIDATE_WIRE, 100);
        traffic_set_deadlines(&f->traffic, &rules, 0);
        f->traffic.on_silent = never_silent;
        traffic_say(f, "C " PING("1"));
        traffic_say(f, "C " PING("2"));
        traffic_turn(f);
        wait_us(f, 1000000);
        if (i < MI_COUNT(lines))
            traffic_say(f, lines[i]);
        else
            traffic_feed_long(f, 'S', "{'jsonrpc':'2.0','id':1,'result':'", 100, "'}");
        wait_us(f, 20000000);
        if (strstr(traffic_got(f, ROW_S2C), ERROR("1") "<2 -32001 timeout>") == NULL)
            fail_msg("row %zu: %s", i, traffic_got(f, ROW_S2C));
        traffic_end(f);
    }
    deadlines_close(&rules);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, traffic_set_up, traffic_tear_down)
    const struct CMUnitTest tests[] = {
        T(test_invalid_lines_with_one_reading_are_repaired),
        T(test_invalid_line_null_result_depends_on_the_method),
        T(test_invalid_line_error_without_id_answers_the_only_request),
        T(test_invalid_line_answer_that_nobody_can_read_is_an_error_at_once),
        T(test_invalid_line_message_over_several_lines_is_joined),
        T(test_invalid_lines_are_forwarded_unchanged_without_validation),
        T(test_invalid_lines_are_refused_under_protocol),
        T(test_invalid_line_wait_for_the_next_line_is_bounded),
        T(test_invalid_line_message_over_several_lines_has_the_limit_of_one),
        T(test_invalid_line_repairs_are_events_with_the_replaced_bytes),
        T(test_invalid_line_response_of_http_is_the_answer_unless_one_comes),
        T(test_invalid_line_error_says_what_is_wrong_and_where_without_secrets),
        T(test_invalid_line_server_that_sends_invalid_lines_is_not_silent),
        T(test_invalid_line_server_that_sends_an_invalid_answer_is_not_silent),
    };
    return cmocka_run_group_tests_name("odd", tests, NULL, NULL);
}
