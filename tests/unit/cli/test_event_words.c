/* event_words_append_event: events as sentences, whatever their detail has. */
#include "cli/frame/event_words.h"

#include "tests/support/unit.h"

struct row {
    const char *kind, *detail, *want;
};

static void words_are(const struct row *r)
{
    struct buf b = {0};
    event_words_append_event(&b, slice_of(r->kind),
                       r->detail != NULL ? slice_of(r->detail) : (struct slice){0});
    assert_string_equal(buf_str(&b), r->want);
    buf_close(&b);
}

static void test_event_words_of_each_kind_are_a_sentence(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"spawn", "{\"pid\":12}", "the server was started, process 12"},
        {"exit", "{\"status\":3}", "the server exited with status 3"},
        {"exit", "{\"signal\":9}", "the server was ended by signal 9"},
        {"kill", "{\"signal\":15}", "the server was sent SIGTERM"},
        {"kill", "{\"signal\":9}", "the server was sent SIGKILL"},
        {"kill", "{\"signal\":1}", "the server was sent signal 1"},
        {"timeout",
         "{\"seq\":5,\"method\":\"tools/"
         "call\",\"target\":\"late\",\"waited_ms\":300,\"silent\":true}",
         "message 5, tools/call late, had no answer within 300ms; the server was silent"},
        {"timeout", "{\"seq\":5,\"method\":\"ping\",\"waited_ms\":12000,\"silent\":false}",
         "message 5, ping, had no answer within 12.0s"},
        {"asked", "{\"seq\":5,\"waited_ms\":300,\"question\":9,\"post_mortem\":{}}",
         "the server has been silent for 300ms since message 5: message 9 asks whether it is "
         "alive"},
        {"alive", "{\"seq\":5,\"waited_ms\":300,\"because\":\"at-work\"}",
         "the server is not killed: its child processes use the CPU"},
        {"alive", "{\"seq\":5,\"waited_ms\":300,\"because\":\"message\"}",
         "the server is not killed: it answered the question whether it is alive"},
        {"alive", "{\"seq\":5,\"waited_ms\":300,\"because\":\"starting\"}",
         "the server is not killed: it is starting"},
        {"hang", "{\"seq\":5,\"waited_ms\":300,\"post_mortem\":{\"a\":[1]}}",
         "the server hangs and is killed: it was silent for 300ms after message 5"},
        {"imported", "{\"digest\":\"ab\"}", "the recording was imported; its digest is ab"},
        {"escalation", "{\"cause\":\"hang\",\"path\":\"Escalations/x.md\"}",
         "a person is needed (hang): see Escalations/x.md in the vault"},
        {"restart", "{\"attempt\":2,\"delay_ms\":500}",
         "the server is restarted after 500ms, attempt 2"},
        {"resent", "{\"seq\":5}", "message 5 is sent again, to the new process"},
        {"repaired", "{\"seq\":5,\"finding\":\"nan\",\"offset\":7,\"count\":1,\"bytes\":\"00\"}",
         "message 5 was repaired: nan at byte 7"},
        {"restart-changed", NULL,
         "the new process answered initialize differently: the session ends"},
        {"sent", "{\"request\":\"new\"}",
         "`mcp-interposer send` started the server to send a new request"},
        {"sent", "{\"request\":\"01M:5\"}",
         "`mcp-interposer send` started the server to send the recorded request 01M:5"},
        {"repeat",
         "{\"seq\":9,\"tool\":\"send\",\"decision\":\"forwarded\",\"first\":5,\"age_ms\":7000,"
         "\"cause\":\"timeout\",\"late_answer\":\"none\"}",
         "message 9 was forwarded: it repeats the call send of message 5, which may have run"},
        {"repeat", "{\"seq\":9,\"tool\":\"send\",\"decision\":\"refused\",\"first\":5}",
         "message 9 was refused: it repeats the call send of message 5, which may have run"},
        {"repeat", "{\"seq\":9,\"tool\":\"send\",\"decision\":\"answered\",\"first\":5}",
         "message 9 was answered with the late answer to message 5: it repeats the call send of "
         "that message, which may have run"},
        {"repeat", "{\"seq\":9,\"tool\":\"send\",\"decision\":\"insisted\",\"first\":5}",
         "message 9 was forwarded, because an earlier repeat was refused: it repeats the call send "
         "of message 5, which may have run"},
        {"repeats-full", NULL,
         "too many calls may have run without an answer: repeats of the oldest ones are not noticed"},
        {"tool-changed",
         "{\"tools\":[{\"tool\":\"a\",\"change\":\"new\"},{\"tool\":\"b\",\"change\":\"gone\"}],"
         "\"before\":\"01M\"}",
         "the tools differ from those of session 01M: a new, b gone"},
        {"tool-changed", "{\"tools\":[]}", "the tools have changed: "},
        {"unfinished-line", "{\"from\":\"server\",\"bytes\":9}",
         "9 bytes of a line arrived from the server, and nothing more for 5 seconds"},
        {"gap", "{\"reason\":\"full\",\"lost\":3,\"first_seq\":4,\"last_seq\":6}",
         "3 rows are missing, between messages 4 and 6: full"},
        {"gap", "{\"reason\":\"vault removed\",\"lost\":0}",
         "rows are missing: earlier rows were in a vault that no longer exists"},
        {"gap", "{\"reason\":\"database damaged\",\"lost\":0}",
         "rows are missing: earlier rows were in a damaged database that was put aside"},
        {"gap", "{\"reason\":\"damaged\"}",
         "rows are missing: the journal was damaged, and its rows after the damage could not be read"},
        {"unrecordable", "{\"seq\":5,\"kills\":3}",
         "message 5 is stored without its body: the recorder died 3 times while storing the body"},
        {"unrecordable", "{\"kills\":3}",
         "a row is missing: the recorder died 3 times while storing the row"},
        {"finding-added", "{\"seq\":5,\"finding\":\"not-json\"}",
         "message 5 has another finding: not-json"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        words_are(&rows[i]);
}

static void test_event_words_without_a_sentence_are_the_members(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"later", "{\"a\":1,\"b\":\"x\",\"c\":{\"d\":[2]}}", "a=1 b=x c={\"d\":[2]}"},
        {"spawn", "{\"process\":12}", "process=12"},
        {"exit", "{}", ""},
        {"exit", NULL, ""},
        {"hang", "{\"seq\":5}", "seq=5"},
        {"hang", "not JSON", "not JSON"},
        {"hang", "[1]", "[1]"},
        {"hang", "{\"seq\":{},\"waited_ms\":-1}",
         "the server hangs and is killed: it was silent for -1 after message {}"},
        {"hang", "{\"seq\":1,\"waited_ms\":9223372036854775807}",
         "the server hangs and is killed: it was silent for 9223372036854775807 after message 1"},
        {"tool-changed", "{\"tools\":[1,\"x\",[2],{}]}", "the tools have changed: 1, x, [2], "},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        words_are(&rows[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_event_words_of_each_kind_are_a_sentence),
        cmocka_unit_test(test_event_words_without_a_sentence_are_the_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
