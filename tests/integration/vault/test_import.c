/* Imports a session completely or not at all. */
#include "vault/cassette/import.h"

#include "vault/store/writer.h"

#include "tests/support/vault_unit.h"

static struct query_session session(void)
{
    return (struct query_session){.name = slice_of("files"),
                                  .command = slice_of("[]"),
                                  .record_level = slice_of("full"),
                                  .started_at_us = 1700000000000000};
}

static struct query_message message(int64_t seq, const char *dir, const char *kind,
                                    const char *method, struct slice body)
{
    return (struct query_message){
        .seq = seq,
        .t_us = seq * 10,
        .direction = value_find_by_word(&row_directions, slice_of(dir)),
        .origin = ROW_PEER,
        .kind = value_find_by_word(&row_kinds, slice_of(kind)),
        .action = ROW_FORWARDED,
        .rpc_id = slice_of("1"),
        .method = method != NULL ? slice_of(method) : (struct slice){0},
        .body = body,
        .size = (int64_t)body.n,
    };
}

static struct import *begin(struct temp *t, const char *name)
{
    struct import *d;
    struct buf error = {0};
    struct query_session s = session();
    assert_int_equal(import_open(&d, t->vault, &error), 0);
    assert_int_equal(import_session(d, &s, name), 0);
    buf_close(&error);
    return d;
}

static void test_import_session_has_ended_and_has_names_of_client_and_server(void **state)
{
    struct temp *t = *state;
    struct import *d = begin(t, NULL);
    struct query_message question =
        message(1, "c2s", "request", "initialize",
                slice_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":"
                         "{\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}"));
    struct query_message answer =
        message(2, "s2c", "result", NULL,
                slice_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"P\","
                         "\"serverInfo\":{\"name\":\"s\",\"version\":\"2\"}}}"));
    answer.request_seq = 1;
    answer.has_request = true;
    answer.request_method = slice_of("initialize");
    answer.finding = slice_of("tool-error,made-up,late-answer");
    answer.target = slice_of("a\\b\"\n");
    assert_int_equal(import_message(d, &question), 0);
    assert_int_equal(import_message(d, &answer), 0);
    assert_string_equal(
        ask_file(temp_path(t, "vault/interposer.db"), "SELECT count(*) FROM sessions"),
        "0"); /* nothing is there before the commit */
    assert_int_equal(import_commit(d), 0);
    assert_int_equal(import_get_session_id(d), 1);
    assert_int_equal(import_messages(d), 2);
    assert_int_equal(strlen(import_get_session_uid(d)), UID_LEN);
    import_close(d);
    assert_string_equal(
        sql_rows(t, "SELECT id, name, command, client_name, client_version, server_name,"
                    " server_version, protocol_version, started_at_us, ended_at_us,"
                    " end_reason, exit_status, pid, host FROM sessions"),
        "1|files|[]|c|1|s|2|P|1700000000000000|1700000000000020|-|-|0|");
    assert_string_equal(sql_rows(t,
                                 "SELECT seq, t_us, direction, kind, rpc_id, method, request_seq,"
                                 " finding FROM messages ORDER BY id"),
                        "1|10|c2s|request|1|initialize|-|-;"
                        "2|20|s2c|result|1|-|1|late-answer,tool-error");
    assert_string_equal(
        sql_rows(t, "SELECT target = 'a\\b\"' || char(10) FROM messages WHERE seq = 2"), "1");
}

static void test_import_name_can_be_chosen_and_header_overrides_messages(void **state)
{
    struct temp *t = *state;
    struct import *d;
    struct buf error = {0};
    struct query_session s = session();
    s.client_name = slice_of("told");
    s.server_name = slice_of("too");
    s.ended_at_us = 1700000000000500;
    s.end_reason = slice_of("signal");
    s.has_exit_status = true;
    s.exit_status = 3;
    assert_int_equal(import_open(&d, t->vault, &error), 0);
    assert_int_equal(import_session(d, &s, "other"), 0);
    struct query_message ask_it =
        message(1, "c2s", "request", "initialize",
                slice_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":"
                         "{\"clientInfo\":{\"name\":\"c\"}}}"));
    assert_int_equal(import_message(d, &ask_it), 0);
    assert_int_equal(import_commit(d), 0);
    import_close(d);
    assert_string_equal(sql_rows(t,
                                 "SELECT name, client_name, server_name, ended_at_us, end_reason,"
                                 " exit_status FROM sessions"),
                        "other|told|too|1700000000000500|signal|3");
    buf_close(&error);
}

static void import_form(struct temp *t, const char *rules)
{
    struct import *d;
    struct buf error = {0};
    struct query_session s = session();
    s.started_at_us += rules != NULL; /* another session */
    s.redact_rules = rules != NULL ? slice_of(rules) : (struct slice){0};
    struct query_message asks = message(
        1, "s2c", "request", "elicitation/create",
        slice_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\",\"params\":"
                 "{\"requestedSchema\":{\"properties\":{\"a\":{\"title\":\"PIN\"},\"b\":{}}}}}"));
    struct query_message answer = message(
        2, "c2s", "result", NULL,
        slice_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"action\":\"accept\",\"content\":"
                 "{\"a\":\"7\",\"b\":\"x\"}}}"));
    assert_int_equal(import_open(&d, t->vault, &error), 0);
    assert_int_equal(import_session(d, &s, NULL), 0);
    assert_int_equal(import_message(d, &asks), 0);
    assert_int_equal(import_message(d, &answer), 0);
    assert_int_equal(import_commit(d), 0);
    import_close(d);
    buf_close(&error);
}

static void test_import_answer_to_a_form_loses_its_secrets(void **state)
{
    struct temp *t = *state;
    import_form(t, NULL);
    import_form(t, "built-in"); /* an interposer has recorded it, and found no secret */
    assert_string_equal(sql_rows(t,
                                 "SELECT json_extract(body, '$.result.content'), redactions FROM "
                                 "messages WHERE seq = 2"),
                        "{\"a\":\"[redacted:form]\",\"b\":\"x\"}|1;{\"a\":\"7\",\"b\":\"x\"}|0");
}

/* Closed without a commit: neither rows nor the file of large bodies are left. */
static void test_import_without_commit_leaves_nothing(void **state)
{
    struct temp *t = *state;
    struct import *d = begin(t, NULL);
    struct buf big = {0};
    char path[64];
    buf_adds(&big, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"");
    for (size_t i = 0; i <= WRITER_BODY_MAX; i++)
        buf_addc(&big, 'x');
    buf_adds(&big, "\"}");
    struct query_message m = message(1, "s2c", "result", NULL, buf_slice(&big));
    assert_int_equal(import_message(d, &m), 0);
    snprintf(path, sizeof path, "vault/Bodies/%s", import_get_session_uid(d));
    assert_true(exists(temp_path(t, path)));
    import_close(d);
    assert_false(exists(temp_path(t, path)));
    assert_string_equal(
        sql_rows(t, "SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM messages)"),
        "0|0");
    buf_close(&big);
}

static void test_import_vault_that_cannot_be_made_is_reported(void **state)
{
    struct temp *t = *state;
    struct import *d;
    struct buf error = {0};
    int fd = open(temp_path(t, "file"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_true(import_open(&d, temp_path(t, "file/vault"), &error) < 0);
    assert_non_null(strstr(buf_str(&error), "cannot make vault"));
    buf_close(&error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_import_session_has_ended_and_has_names_of_client_and_server, temp_set_up,
            temp_tear_down),
        cmocka_unit_test_setup_teardown(
            test_import_name_can_be_chosen_and_header_overrides_messages, temp_set_up,
            temp_tear_down),
        cmocka_unit_test_setup_teardown(test_import_answer_to_a_form_loses_its_secrets, temp_set_up,
                                        temp_tear_down),
        cmocka_unit_test_setup_teardown(test_import_without_commit_leaves_nothing, temp_set_up,
                                        temp_tear_down),
        cmocka_unit_test_setup_teardown(test_import_vault_that_cannot_be_made_is_reported,
                                        temp_set_up, temp_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
