/* Cassettes: reading returns what was written, the same session gives the same bytes, and errors name the line. */
#include "vault/cassette/cassette_file.h"

#include "tests/support/vault_unit.h"

#define HEAD "{\"format\":\"mcp-interposer-cassette\",\"version\":1,\"name\":\"x\"}\n"
#define ASK(id, name)                                                                              \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name    \
    "\"}}"
#define ANSWER(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{}}"
#define C2S(t, msg) "{\"t\":" t ",\"dir\":\"c2s\",\"msg\":" msg "}\n"
#define S2C(t, msg) "{\"t\":" t ",\"dir\":\"s2c\",\"msg\":" msg "}\n"
#define END(n) "{\"end\":true,\"messages\":" n "}\n"

/* The result of reading: the messages as text, and the cassette written from them. */
struct got {
    struct buf
        seen; /* "seq t dir origin kind action id method target re batch size finding body\n" */
    struct buf again; /* the cassette written from the messages */
    struct buf error;
    struct cassette_writer *w;
    int sessions, messages, stop_after;
};

static void add(struct buf *b, struct slice s)
{
    if (s.p == NULL)
        buf_addc(b, '-');
    else
        buf_slice_add(b, s);
    buf_addc(b, ' ');
}

static bool take(void *ctx, struct slice lines)
{
    struct got *g = ctx;
    buf_slice_add(&g->again, lines);
    return !g->again.failed;
}

static bool on_session(void *ctx, const struct query_session *s)
{
    struct got *g = ctx;
    g->sessions++;
    assert_int_equal(g->messages, 0);
    assert_int_equal(s->id, 0);
    assert_null(s->uid.p);
    assert_null(s->host.p);
    assert_int_equal(cassette_write_open(&g->w, take, g), 0);
    assert_int_equal(cassette_write_session(g->w, s), 0);
    return true;
}

static bool on_message(void *ctx, const struct query_message *m)
{
    struct got *g = ctx;
    struct buf *b = &g->seen;
    g->messages++;
    assert_false(m->is_large);
    buf_printf(b, "%lld %lld ", (long long)m->seq, (long long)m->t_us);
    add(b, slice_of(row_direction_name(m->direction)));
    add(b, slice_of(row_origin_name(m->origin)));
    add(b, slice_of(row_kind_name(m->kind)));
    add(b, slice_of(row_action_name(m->action)));
    add(b, m->rpc_id);
    add(b, m->method);
    add(b, m->target);
    buf_printf(b, "%lld %lld %lld ", (long long)m->request_seq, (long long)m->batch_seq,
               (long long)m->size);
    add(b, m->finding);
    if (m->has_error_code)
        buf_printf(b, "(%lld) ", (long long)m->error_code);
    if (m->has_request) {
        buf_printf(b, "[%lld ", (long long)m->request_t_us);
        add(b, m->request_method);
        add(b, m->request_target);
        add(b, slice_of(row_action_name(m->request_action)));
        buf_adds(b, "] ");
    }
    buf_addc(b, '\n');
    assert_int_equal(cassette_write_message(g->w, m), 0);
    return g->stop_after == 0 || g->messages < g->stop_after;
}

static void got_close(struct got *g)
{
    cassette_write_close(g->w);
    buf_close(&g->seen);
    buf_close(&g->again);
    buf_close(&g->error);
    *g = (struct got){0};
}

static int read_n(struct got *g, const char *text, size_t n)
{
    char *copy = unit_copy(text, n);
    *g = (struct got){.stop_after = g->stop_after};
    int st = cassette_read_text("c.jsonl", (struct slice){copy, n}, on_session, on_message, g,
                                &g->error);
    if (st == 0 && g->stop_after == 0)
        assert_int_equal(cassette_write_end(g->w), 0);
    free(copy);
    return st;
}

static int read_text(struct got *g, const char *text)
{
    return read_n(g, text, strlen(text));
}

static void test_cassette_omitted_members_are_derived_from_the_message(void **state)
{
    (void)state;
    struct got g = {0};
    assert_int_equal(read_text(&g, HEAD C2S("5", ASK("1", "a")) C2S("6", ASK("\"1\"", "b"))
                                       S2C("7", ANSWER("\"1\"")) S2C("9", ANSWER("1")) END("4")),
                     0);
    assert_string_equal(
        buf_str(&g.seen),
        "1 5 c2s peer request forwarded 1 tools/call a 0 0 68 - \n"
        "2 6 c2s peer request forwarded \"1\" tools/call b 0 0 70 - \n"
        "3 7 s2c peer result forwarded \"1\" - - 2 0 38 - [6 tools/call b forwarded ] \n"
        "4 9 s2c peer result forwarded 1 - - 1 0 36 - [5 tools/call a forwarded ] \n");
    got_close(&g);
}

static void test_cassette_given_members_override_the_message(void **state)
{
    (void)state;
    struct got g = {0};
    assert_int_equal(
        read_text(
            &g, HEAD C2S(
                    "0",
                    ASK("1",
                        "a")) "{\"t\":1,\"dir\":\"s2c\",\"kind\":\"noise\",\"action\":\"refused\","
                              "\"size\":9,"
                              "\"redactions\":2,\"re\":1,\"finding\":\"too-long\",\"id\":1,"
                              "\"text\":\"{\\\"id\"}\n"
                              "{\"t\":2,\"dir\":\"s2c\",\"origin\":\"interposer\",\"msg\":{"
                              "\"jsonrpc\":\"2.0\","
                              "\"id\":1,\"error\":{\"code\":-32603,\"message\":\"m\"}}}\n"
                              "{\"t\":3,\"dir\":\"s2c\",\"kind\":\"result\",\"re\":1,\"finding\":"
                              "\"body-lost\",\"id\":1}\n"
                              "{\"t\":4,\"dir\":\"s2c\",\"kind\":\"stderr\",\"text\":\"{}\"}\n" END(
                                  "5")),
        0);
    assert_string_equal(
        buf_str(&g.seen),
        "1 0 c2s peer request forwarded 1 tools/call a 0 0 68 - \n"
        "2 1 s2c peer noise refused 1 - - 1 0 9 too-long [0 tools/call a forwarded ] \n"
        "3 2 s2c interposer error forwarded 1 - - 1 0 62 - (-32603) [0 tools/call a forwarded ] \n"
        "4 3 s2c peer result forwarded 1 - - 1 0 0 body-lost [0 tools/call a forwarded ] \n"
        "5 4 s2c peer stderr forwarded - - - 0 0 2 - \n");
    got_close(&g);
}

static void test_cassette_messages_without_id_and_body_belong_to_nothing(void **state)
{
    (void)state;
    struct got g = {0};
    static const char text[] =
        "{\"format\":\"mcp-interposer-cassette\",\"version\":1,\"name\":\"x\",\"record_level\":"
        "\"full\"}\n{\"t\":0,\"dir\":\"c2s\",\"kind\":\"request\"}\n"
        "{\"t\":0,\"dir\":\"s2c\",\"kind\":\"result\"}\n"
        "{\"t\":0,\"dir\":\"c2s\",\"kind\":\"request\",\"id\":{}}\n" END("3");
    assert_int_equal(read_text(&g, text), 0);
    assert_string_equal(buf_str(&g.seen), "1 0 c2s peer request forwarded - - - 0 0 0 - \n"
                                          "2 0 s2c peer result forwarded - - - 0 0 0 - \n"
                                          "3 0 c2s peer request forwarded {} - - 0 0 0 - \n");
    assert_string_equal(buf_str(&g.again), text);
    got_close(&g);
}

/* The column of a vault may have any text. */
static void test_cassette_id_that_is_not_json_belongs_to_nothing(void **state)
{
    (void)state;
    struct got g = {0};
    struct query_session s = {.name = slice_of("x")};
    struct query_message m = {.seq = 1, .kind = KIND_REQUEST};
    static const char *const ids[] = {"\"", "", "-", "\"7"};
    assert_int_equal(cassette_write_open(&g.w, take, &g), 0);
    assert_int_equal(cassette_write_session(g.w, &s), 0);
    for (size_t i = 0; i < MI_COUNT(ids); i++, m.seq++) {
        char *id = unit_copy(ids[i], strlen(ids[i]));
        m.rpc_id = (struct slice){id, strlen(ids[i])};
        assert_int_equal(cassette_write_message(g.w, &m), 0);
        free(id);
    }
    assert_int_equal(cassette_write_end(g.w), 0);
    got_close(&g);
}

static void test_cassette_cancellation_and_late_answer_refer_to_their_request(void **state)
{
    (void)state;
    struct got g = {0};
    assert_int_equal(
        read_text(&g, HEAD C2S("0", ASK("1", "a"))
                          C2S("1", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                                   "\"params\":{\"requestId\":1}}") S2C("2", ANSWER("1"))
                              S2C("3", ANSWER("1")) END("4")),
        0);
    assert_non_null(strstr(buf_str(&g.seen), "2 1 c2s peer notification forwarded - "
                                             "notifications/cancelled - 1 0 "));
    assert_non_null(strstr(buf_str(&g.seen), "3 2 s2c peer result forwarded 1 - - 1 0 "));
    assert_non_null(strstr(buf_str(&g.seen), "4 3 s2c peer result forwarded 1 - - 0 0 "));
    got_close(&g);
}

static void test_cassette_members_belong_to_the_previous_batch(void **state)
{
    (void)state;
    struct got g = {0};
    assert_int_equal(
        read_text(&g,
                  HEAD C2S("0", "[" ASK("1", "a") "]") "{\"t\":0,\"dir\":\"c2s\",\"member\":true,"
                                                       "\"msg\":" ASK("1", "a") "}\n" END("2")),
        0);
    assert_string_equal(buf_str(&g.seen),
                        "1 0 c2s peer batch forwarded - - - 0 0 70 - \n"
                        "2 0 c2s peer request forwarded 1 tools/call a 0 1 68 - \n");
    got_close(&g);
}

/* Every kind of line, with a reused id, an answer with an id of another JSON type, and control characters. */
static const char all_kinds[] =
    "{\"format\":\"mcp-interposer-cassette\",\"version\":1,\"name\":\"x\",\"client_name\":\"c\","
    "\"client_version\":\"1\",\"server_name\":\"s\",\"server_version\":\"2\","
    "\"protocol_version\":\"2025-03-26\",\"started_at_us\":1700000000000000,"
    "\"ended_at_us\":1700000000001000,\"end_reason\":\"server-exited\",\"exit_status\":1,"
    "\"record_level\":\"full\"}\n" C2S("0", ASK("1", "a")) S2C("1", ANSWER("1")) C2S(
        "2", ASK("1", "b")) S2C("3", ANSWER("\"1\""))
        C2S("4", "[" ASK("1", "a") "]") "{\"t\":4,\"dir\":\"c2s\",\"member\":true,\"msg\":" ASK(
            "1",
            "a") "}\n"
                 "{\"t\":5,\"dir\":\"s2c\",\"action\":\"refused\",\"size\":99,"
                 "\"redactions\":3,"
                 "\"re\":6,\"finding\":\"too-long\",\"id\":1,\"text\":\"a\\u001b[31m\\u202e\\n\"}\n"
                 "{\"t\":6,\"dir\":\"s2c\",\"origin\":\"interposer\",\"finding\":\"malformed-"
                 "answer\",\"msg\":"
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,\"message\":"
                 "\"no\\u202e\"}}}\n"
                 "{\"t\":7,\"dir\":\"s2c\",\"kind\":\"stderr\",\"text\":\"{}\"}\n"
                 "{\"t\":8,\"dir\":\"s2c\",\"action\":\"swallowed\",\"re\":1,\"finding\":\"late-"
                 "answer\",\"msg\":" ANSWER(
                     "1") "}\n"
                          "{\"t\":9,\"dir\":\"s2c\",\"kind\":\"error\",\"size\":70000,\"finding\":"
                          "\"body-lost\",\"id\":1,"
                          "\"code\":-1}\n" S2C("9", "5") END("12");

static void test_cassette_read_and_written_again_is_the_same_file(void **state)
{
    (void)state;
    struct got g = {0};
    assert_int_equal(read_text(&g, all_kinds), 0);
    assert_string_equal(buf_str(&g.again), all_kinds);
    got_close(&g);
}

static void test_cassette_truncated_anywhere_is_rejected_with_its_line(void **state)
{
    (void)state;
    size_t lines = 0;
    for (size_t n = 0; n < sizeof all_kinds - 2; n++) { /* the last newline may be missing */
        struct got g = {0};
        char where[32];
        int st = read_n(&g, all_kinds, n);
        if (n > 0 && all_kinds[n - 1] == '\n')
            lines++;
        snprintf(where, sizeof where,
                 "c.jsonl:%zu: ", lines == 0 || all_kinds[n - 1] != '\n' ? lines + 1 : lines);
        assert_int_equal(st, MI_EINVAL);
        if (strstr(buf_str(&g.error), where) != buf_str(&g.error))
            fail_msg("after %zu bytes: %s", n, buf_str(&g.error));
        got_close(&g);
    }
}

static void test_cassette_messages_are_renumbered_and_answers_too(void **state)
{
    (void)state;
    struct got g = {0};
    struct cassette_writer *w;
    struct query_session s = {.name = slice_of("x"), .record_level = slice_of("full")};
    struct query_message ask = {.seq = 5,
                                .direction = ROW_C2S,
                                .origin = ROW_PEER,
                                .kind = KIND_REQUEST,
                                .action = ROW_FORWARDED,
                                .rpc_id = slice_of("1"),
                                .method = slice_of("m"),
                                .body = slice_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}"),
                                .size = 38};
    struct query_message late = {.seq = 9,
                                 .direction = ROW_S2C,
                                 .origin = ROW_PEER,
                                 .kind = KIND_NOISE,
                                 .action = ROW_REFUSED,
                                 .body = slice_of("\xc3\xa4"),
                                 .size = 2,
                                 .request_seq = 5};
    assert_int_equal(cassette_write_open(&w, take, &g), 0);
    assert_int_equal(cassette_write_session(w, &s), 0);
    assert_int_equal(cassette_write_message(w, &ask), 0);
    assert_int_equal(cassette_write_message(w, &late), 0);
    late.seq = 10;
    late.request_seq = 7; /* which is missing */
    assert_int_equal(cassette_write_message(w, &late), 0);
    assert_int_equal(cassette_write_end(w), 0);
    cassette_write_close(w);
    assert_non_null(strstr(buf_str(&g.again), "\"action\":\"refused\",\"re\":1,\"text\":\"ä\"}\n"
                                              "{\"t\":0,\"dir\":\"s2c\",\"action\":\"refused\","
                                              "\"text\":\"ä\"}\n"));
    got_close(&g);
}

/* A call that waited for the list of tools has the time at which it arrived, and comes behind that list. */
static void test_cassette_time_that_is_less_than_that_before_is_raised(void **state)
{
    (void)state;
    struct got g = {0}, h = {0};
    struct cassette_writer *w;
    struct query_session s = {.name = slice_of("x"), .record_level = slice_of("full")};
    static const int64_t times[] = {5, 9, 7, 8, 10};
    assert_int_equal(cassette_write_open(&w, take, &g), 0);
    assert_int_equal(cassette_write_session(w, &s), 0);
    for (size_t i = 0; i < MI_COUNT(times); i++) {
        struct query_message m = {.seq = (int64_t)i + 1,
                                  .t_us = times[i],
                                  .direction = ROW_S2C,
                                  .kind = KIND_NOISE,
                                  .body = slice_of("x"),
                                  .size = 1};
        assert_int_equal(cassette_write_message(w, &m), 0);
    }
    assert_int_equal(cassette_write_end(w), 0);
    cassette_write_close(w);
    assert_int_equal(read_text(&h, buf_str(&g.again)), 0);
    assert_string_equal(buf_str(&h.seen), "1 5 s2c peer noise forwarded - - - 0 0 1 - \n"
                                          "2 9 s2c peer noise forwarded - - - 0 0 1 - \n"
                                          "3 9 s2c peer noise forwarded - - - 0 0 1 - \n"
                                          "4 9 s2c peer noise forwarded - - - 0 0 1 - \n"
                                          "5 10 s2c peer noise forwarded - - - 0 0 1 - \n");
    got_close(&g);
    got_close(&h);
}

/* A message of 512 levels is one level too deep for other parsers inside its line. */
static void test_cassette_deep_message_is_read_back(void **state)
{
    (void)state;
    struct got g = {0}, h = {0};
    struct buf deep = {0};
    struct cassette_writer *w;
    struct query_session s = {.name = slice_of("x"), .record_level = slice_of("full")};
    buf_adds(&deep, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":");
    for (int i = 0; i < 511; i++)
        buf_addc(&deep, '[');
    for (int i = 0; i < 511; i++)
        buf_addc(&deep, ']');
    buf_addc(&deep, '}');
    struct query_message m = {.seq = 1,
                              .direction = ROW_S2C,
                              .origin = ROW_PEER,
                              .kind = KIND_RESULT,
                              .action = ROW_FORWARDED,
                              .rpc_id = slice_of("1"),
                              .body = buf_slice(&deep),
                              .size = (int64_t)deep.n};
    assert_int_equal(cassette_write_open(&w, take, &g), 0);
    assert_int_equal(cassette_write_session(w, &s), 0);
    assert_int_equal(cassette_write_message(w, &m), 0);
    assert_int_equal(cassette_write_end(w), 0);
    cassette_write_close(w);
    assert_non_null(strstr(buf_str(&g.again), "\"dir\":\"s2c\",\"text\":\"{"));
    assert_int_equal(read_text(&h, buf_str(&g.again)), 0);
    assert_non_null(strstr(buf_str(&h.seen), "1 0 s2c peer result forwarded 1 "));
    assert_string_equal(buf_str(&h.again), buf_str(&g.again));
    got_close(&g);
    got_close(&h);
    buf_close(&deep);
}

static void test_cassette_callback_can_stop_reading(void **state)
{
    (void)state;
    struct got g = {.stop_after = 1};
    assert_int_equal(read_text(&g, HEAD C2S("0", ASK("1", "a")) "broken\n"), 0);
    assert_int_equal(g.messages, 1);
    got_close(&g);
}

#define LINE(revision) "{\"t\":0,\"dir\":\"c2s\"," revision "\"msg\":" ASK("1", "a") "}\n"
#define OF_2                                                                                       \
    "{\"format\":\"mcp-interposer-cassette\",\"version\":2,\"name\":\"x\",\"record_level\":"       \
    "\"full\""

static void test_cassette_members_of_version_2_are_read_and_written(void **state)
{
    (void)state;
    static const char *const files[] = {
        OF_2 ",\"tools_rule\":\"get_*\"}\n" LINE("\"revision\":\"2026-07-28\",") END("1"),
        OF_2 "}\n" LINE("\"revision\":\"2026-07-28\",") END("1"),
        OF_2 ",\"tools_rule\":\"get_*\"}\n" LINE("") END("1"),
    };
    for (size_t i = 0; i < MI_COUNT(files); i++) {
        struct got g = {0};
        assert_int_equal(read_text(&g, files[i]), 0);
        assert_string_equal(buf_str(&g.again), files[i]);
        got_close(&g);
    }
}

static void test_cassette_invalid_file_is_rejected_with_line_reason_and_remedy(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", "c.jsonl:1: the file is empty; "},
        {"{}\n", "c.jsonl:1: this is not the first line of a cassette"},
        {"\x89PNG\n", "c.jsonl:1: this is not the first line of a cassette"},
        {"{\"format\":\"mcp-interposer-cassette\",\"version\":3,\"name\":\"x\"}\n",
         "c.jsonl:1: unknown version of the format; use a newer mcp-interposer"},
        {"{\"format\":\"mcp-interposer-cassette\",\"version\":1,\"name\":\"x\",\"tools_rule\":"
         "\"a\"}\n",
         "c.jsonl:1: unknown member `tools_rule`"},
        {HEAD LINE("\"revision\":\"2026-07-28\",") END("1"),
         "c.jsonl:2: unknown member `revision`"},
        {"{\"format\":\"mcp-interposer-cassette\",\"version\":1}\n",
         "c.jsonl:1: `name` is missing; "},
        {"{\"format\":\"mcp-interposer-cassette\",\"version\":1,\"name\":\"x\",\"started_at_us\":-"
         "1}\n",
         "c.jsonl:1: `started_at_us` must be a whole number, 0 or more; "},
        {"{\"format\":\"mcp-interposer-cassette\",\"version\":1,\"name\":\"x\",\"started_at_us\":5,"
         "\"ended_at_us\":4}\n",
         "c.jsonl:1: `ended_at_us` is before `started_at_us`; "},
        {"{\"format\":\"mcp-interposer-cassette\",\"version\":1,\"name\":\"x\",\"started_at_us\":"
         "253402300800000000}\n",
         "c.jsonl:1: the session's time is after the year 9999; "},
        {"{\"format\":\"mcp-interposer-cassette\",\"version\":1,\"name\":\"x\",\"started_at_us\":"
         "253402300799999998}\n" C2S("2", "{}"),
         "c.jsonl:2: the message's time is after the year 9999; "},
        {HEAD C2S("9223372036854775807", "{}"),
         "c.jsonl:2: the message's time is after the year 9999; "},
        {HEAD, "c.jsonl:1: the end line is missing: the file is truncated; export the session "
               "again"},
        {HEAD "\n", "c.jsonl:2: nothing but white space (byte 1); repair the line"},
        {HEAD "[]\n", "c.jsonl:2: this is not a JSON object; "},
        {HEAD C2S("1", "{}}"), "c.jsonl:2: there is text after the end of the value (byte 29); "},
        {HEAD "{\"dir\":\"c2s\",\"msg\":{}}\n", "c.jsonl:2: `t` is missing; "},
        {HEAD C2S("1.5", "{}"), "c.jsonl:2: `t` must be a whole number, 0 or more; "},
        {HEAD C2S("\"1\"", "{}"), "c.jsonl:2: `t` must be a number; "},
        {HEAD "{\"t\":0,\"dir\":\"up\",\"msg\":{}}\n",
         "c.jsonl:2: `dir` must be one of: c2s, s2c; "},
        {HEAD "{\"t\":0,\"dir\":\"c2s\",\"kind\":\"call\",\"msg\":{}}\n",
         "c.jsonl:2: `kind` must be one of: request, "},
        {HEAD "{\"t\":0,\"dir\":\"c2s\"}\n", "c.jsonl:2: `msg` is missing; "},
        {HEAD "{\"t\":0,\"dir\":\"c2s\",\"msg\":{},\"text\":\"\"}\n",
         "c.jsonl:2: a line has either `msg` or `text`, not both; "},
        {HEAD "{\"t\":0,\"t\":0,\"dir\":\"c2s\",\"msg\":{}}\n",
         "c.jsonl:2: duplicate member `t`; "},
        {HEAD "{\"t\":0,\"dir\":\"c2s\",\"mgs\":{}}\n",
         "c.jsonl:2: unknown member `mgs` in this kind of line; "},
        {HEAD "{\"t\":0,\"dir\":\"c2s\",\"re\":1,\"msg\":{}}\n",
         "c.jsonl:2: `re` must be the number of an earlier message; "},
        {HEAD "{\"t\":0,\"dir\":\"c2s\",\"member\":true,\"msg\":{}}\n",
         "c.jsonl:2: `member` requires a batch in an earlier line; "},
        {HEAD "{\"t\":0,\"dir\":\"c2s\",\"kind\":\"noise\",\"text\":\"\\u0000\"}\n",
         "c.jsonl:2: `text` contains \\u0000; "},
        {HEAD C2S("2", "{}") C2S("1", "{}"), "c.jsonl:3: `t` is less than in the line before; "},
        {HEAD C2S("2", "{}") END("2"),
         "c.jsonl:3: the end line says 2 messages, but there are 1; if you added"},
        {HEAD END("0") "\n", "c.jsonl:3: unexpected line after the end line; "},
        {HEAD "{\"end\":true,\"messages\":0,\"x\":1}\n", "c.jsonl:2: unknown member `x`"},
    };
    for (size_t i = 0; i < MI_COUNT(cases); i++) {
        struct got g = {0};
        int st = read_text(&g, cases[i].text);
        if (st != MI_EINVAL || strstr(buf_str(&g.error), cases[i].error) != buf_str(&g.error))
            fail_msg("%s: %d, %s", cases[i].text, st, buf_str(&g.error));
        got_close(&g);
    }
}

static void test_cassette_end_line_without_a_count_or_newline_is_fine(void **state)
{
    (void)state;
    struct got g = {0};
    assert_int_equal(read_text(&g, HEAD C2S("0", ASK("1", "a")) "{\"end\":true}"), 0);
    assert_int_equal(g.messages, 1);
    got_close(&g);
}

/* ---- recordings of other programs ---- */

static void test_cassette_mcp_tape_recording_is_read(void **state)
{
    (void)state;
    struct got g = {0};
    assert_int_equal(
        read_text(
            &g,
            "{\"v\":1,\"type\":\"meta\",\"startedAt\":\"2026-05-12T23:00:00.000Z\",\"label\":"
            "\"fs\","
            "\"command\":[\"npx\"],\"mcpTapVersion\":\"0.1.0\"}\n"
            "{\"t\":\"2026-05-12T23:00:00.123Z\",\"dir\":\"in\",\"raw\":" ASK(
                "1",
                "a") "}\n"
                     "{\"t\":\"2026-05-12T23:00:00.100Z\",\"dir\":\"out\",\"raw\":\"Listening\"}\n"
                     "{\"t\":\"2026-05-12T23:00:01.245Z\",\"dir\":\"out\",\"raw\":" ANSWER(
                         "1") "}\n"
                              "{\"t\":\"2026-05-12T23:00:30.000Z\",\"type\":\"end\",\"exitCode\":0,"
                              "\"durationMs\":30000}\n"),
        0);
    assert_string_equal(buf_str(&g.seen),
                        "1 123000 c2s peer request forwarded 1 tools/call a 0 0 68 - \n"
                        "2 123000 s2c peer noise refused - - - 0 0 9 not-json \n"
                        "3 1245000 s2c peer result forwarded 1 - - 1 0 36 - [123000 tools/call a "
                        "forwarded ] \n");
    assert_non_null(
        strstr(buf_str(&g.again), "\"name\":\"fs\",\"started_at_us\":1778626800000000,"));
    got_close(&g);
}

static void test_cassette_mcp_rec_recording_is_read(void **state)
{
    (void)state;
    struct got g = {0};
    assert_int_equal(
        read_text(
            &g,
            "{\"ts\": 1750000001.25, \"dir\": \"client->server\", \"msg\": " ASK(
                "1", "a") "}\n"
                          "{\"ts\": 1750000001.5, \"dir\": \"server->client\", \"msg\": {\"_raw\": "
                          "\"hello\", "
                          "\"_unparsed\": true}}\n"
                          "{\"ts\": 1750000002.5, \"dir\": \"server->client\", \"msg\": " ANSWER(
                              "1") "}\n"),
        0);
    assert_string_equal(buf_str(&g.seen),
                        "1 0 c2s peer request forwarded 1 tools/call a 0 0 68 - \n"
                        "2 250000 s2c peer noise refused - - - 0 0 5 not-json \n"
                        "3 1250000 s2c peer result forwarded 1 - - 1 0 36 - [0 tools/call a "
                        "forwarded ] \n");
    assert_non_null(
        strstr(buf_str(&g.again), "\"name\":\"c\",\"started_at_us\":1750000001250000,"));
    got_close(&g);
}

static void test_cassette_mcp_cassette_recording_is_read(void **state)
{
    (void)state;
    struct got g = {0};
    assert_int_equal(
        read_text(
            &g,
            "{\"type\":\"header\",\"cassetteVersion\":2,\"recorder\":\"mcp-cassette@0.3.0\","
            "\"startedAt\":\"2026-08-15T09:00:00Z\",\"transport\":\"stdio\",\"command\":[\"npx\"],"
            "\"redaction\":{\"applied\":true},\"era\":\"legacy\"}\n"
            "{\"type\":\"frame\",\"t\":12,\"dir\":\"c2s\",\"frame\":" ASK(
                "7", "a") "}\n"
                          "{\"type\":\"raw\",\"t\":13,\"dir\":\"s2c\",\"data\":\"hello\"}\n"
                          "{\"type\":\"later\",\"x\":1}\n\n"
                          "{\"type\":\"chunks\",\"t\":14,\"dir\":\"s2c\",\"id\":7,\"chunks\":[{"
                          "\"t\":14,\"frame\":"
                          "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                          "message\"}},{\"t\":20,\"frame\":" ANSWER("7") "}]}\n"),
        0);
    assert_string_equal(
        buf_str(&g.seen),
        "1 12000 c2s peer request forwarded 7 tools/call a 0 0 68 - \n"
        "2 13000 s2c peer noise refused - - - 0 0 5 not-json \n"
        "3 14000 s2c peer notification forwarded - notifications/message - 0 0 50 - \n"
        "4 20000 s2c peer result forwarded 7 - - 1 0 36 - [12000 tools/call a "
        "forwarded ] \n");
    got_close(&g);
}

/* Programs that write NaN, bytes of another encoding, or indented JSON; and lines of the server as they were. ' stands
 * for ". */
static void test_cassette_foreign_lines_are_repaired_as_the_proxy_does(void **state)
{
    (void)state;
    char file[] =
        "{'ts':1,'dir':'client->server','msg':{'jsonrpc':'2.0','id':1,'method':'tools/call'}}\n"
        "{\n  'ts': 2,\n  'dir': 'server->client',\n"
        "  'msg': {'jsonrpc':'2.0','id':1,'result':{'a':NaN,'b':'\xE9'}}\n} done\n"
        "{'ts':3,'dir':'client->server','msg':{'jsonrpc':'2.0','id':2,'method':'ping'}}\n"
        "{'ts':4,'dir':'server->client','msg':{'jsonrpc':'2.0','id':'2','result':null}}\n"
        "{'ts':5,'dir':'client->server','msg':{'jsonrpc':'2.0','id':3,'method':'ping'}}\n"
        "{'ts':6,'dir':'server->client','msg':{'_raw':'log {\\'jsonrpc\\':\\'2.0\\',"
        "\\'id\\':3,\\'result\\':{\\'a\\':\\'\\t\\'}} ok'}}\n"
        "{'ts':7,'dir':'client->server','msg':{'jsonrpc':'2.0','id':4,'method':'ping'}}\n"
        "{'ts':7.5,'dir':'server->client','msg':{'_raw':'{\\'id\\':4,\\'result\\':{},}'}}\n"
        "{'ts':9,'dir':'server->client','msg':{'jsonrpc':'2.0','id':4,'result':{}}}\n"
        "{'ts':10,'dir':'client->server','msg':{'jsonrpc':'2.0','id':5,'method':'ping'}}\n"
        "{'ts':11,'dir':'server->client','msg':{'jsonrpc':'2.0','id':null,"
        "'error':{'code':1,'message':'m'}}}\n";
    struct got g = {0};
    for (char *c = file; *c != '\0'; c++)
        if (*c == '\'')
            *c = '"';
    assert_int_equal(read_text(&g, file), 0);
    assert_string_equal(
        buf_str(&g.seen),
        "1 0 c2s peer request forwarded 1 tools/call - 0 0 46 - \n"
        "2 1000000 s2c peer result forwarded 1 - - 1 0 54 invalid-utf8,not-a-number [0 tools/call "
        "- "
        "forwarded ] \n"
        "3 2000000 c2s peer request forwarded 2 ping - 0 0 40 - \n"
        "4 3000000 s2c peer result forwarded 2 - - 3 0 36 null-result,id-type-changed [2000000 "
        "ping "
        "- forwarded ] \n"
        "5 4000000 c2s peer request forwarded 3 ping - 0 0 40 - \n"
        "6 5000000 s2c peer noise refused - - - 0 0 4 not-json \n"
        "7 5000000 s2c peer noise refused - - - 0 0 2 not-json \n"
        "8 5000000 s2c peer result forwarded 3 - - 5 0 44 "
        "glued-text,control-character,trailing-text [4000000 ping - forwarded ] \n"
        "9 6000000 c2s peer request forwarded 4 ping - 0 0 40 - \n"
        "10 6500000 s2c peer noise refused 4 - - 9 0 21 not-json,malformed-answer [6000000 ping - "
        "forwarded ] \n"
        "11 8000000 s2c peer result swallowed 4 - - 0 0 36 unknown-answer \n"
        "12 9000000 c2s peer request forwarded 5 ping - 0 0 40 - \n"
        "13 10000000 s2c peer error forwarded 5 - - 12 0 57 null-id (1) [9000000 ping - forwarded "
        "] "
        "\n");
    got_close(&g);
}

static void test_cassette_foreign_reading_stops_within_a_line(void **state)
{
    (void)state;
    struct got g = {.stop_after = 1};
    assert_int_equal(read_text(&g, "{\"ts\":1,\"dir\":\"server->client\",\"msg\":{\"_raw\":"
                                   "\"log {\\\"jsonrpc\\\":\\\"2.0\\\",\\\"method\\\":"
                                   "\\\"notifications/x\\\"} done\"}}\n"),
                     0);
    assert_int_equal(g.messages, 1);
    got_close(&g);
}

static void test_cassette_foreign_errors_are_reported_with_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"{\"v\":2,\"type\":\"meta\",\"startedAt\":\"2026-05-12T23:00:00.000Z\"}\n",
         "c.jsonl:1: unknown version of mcp-tape's format; only version 1"},
        {"{\"v\":1,\"type\":\"meta\",\"startedAt\":\"2026-05-12T23:00:00.000Z\"}\n{\"t\":\"x\","
         "\"dir\":\"in\","
         "\"raw\":{}}\n",
         "c.jsonl:2: `t` must be a time"},
        {"{\"v\":1,\"type\":\"meta\",\"startedAt\":\"2026-05-12T23:00:00.000Z\"}\n"
         "{\"t\":\"2026-05-12T23:00:00.000Z\",\"dir\":\"up\",\"raw\":{}}\n",
         "c.jsonl:2: `dir` must be in or out; repair the line, or remove it"},
        {"{\"ts\":1,\"dir\":\"client->server\",\"msg\":{}}\n{\"ts\":1,\"dir\":\"c\",\"msg\":{}}\n",
         "c.jsonl:2: `dir` must be client->server or server->client"},
        {"{\"type\":\"header\",\"cassetteVersion\":3}\n",
         "c.jsonl:1: unknown version of mcp-cassette's format; only versions 1 and 2"},
        {"{\"type\":\"header\",\"cassetteVersion\":1}\n{\"type\":\"frame\",\"t\":1,\"dir\":\"c2s\"}"
         "\n",
         "c.jsonl:2: the line lacks the member that its `type` requires"},
        {"{\"type\":\"header\",\"cassetteVersion\":1}\n{\"type\":\"chunks\",\"t\":1,\"dir\":"
         "\"c2s\","
         "\"chunks\":[1]}\n",
         "c.jsonl:2: a chunk must have `t` and `frame`"},
        {"{\"type\":\"header\",\"cassetteVersion\":1}\n{\"type\":\"fra",
         "c.jsonl:2: the text ends inside"},
    };
    for (size_t i = 0; i < MI_COUNT(cases); i++) {
        struct got g = {0};
        int st = read_text(&g, cases[i].text);
        if (st != MI_EINVAL || strstr(buf_str(&g.error), cases[i].error) != buf_str(&g.error))
            fail_msg("%s: %d, %s", cases[i].text, st, buf_str(&g.error));
        got_close(&g);
    }
}

/* ---- files ---- */

static void test_cassette_missing_file_is_reported(void **state)
{
    (void)state;
    struct temp t;
    struct buf error = {0};
    temp_make(&t);
    const char *path = temp_path(&t, "a.jsonl");
    assert_int_equal(cassette_read(path, NULL, NULL, NULL, &error), MI_EIO);
    assert_non_null(strstr(buf_str(&error), "a.jsonl: No such file"));
    assert_int_equal(cassette_read(t.root, NULL, NULL, NULL, &error), MI_EIO);
    assert_non_null(strstr(buf_str(&error), "it is not a regular file"));
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs(all_kinds, f);
    fclose(f);
    assert_int_equal(cassette_read(path, NULL, NULL, NULL, &error), 0);
    buf_close(&error);
    temp_remove(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cassette_omitted_members_are_derived_from_the_message),
        cmocka_unit_test(test_cassette_given_members_override_the_message),
        cmocka_unit_test(test_cassette_messages_without_id_and_body_belong_to_nothing),
        cmocka_unit_test(test_cassette_id_that_is_not_json_belongs_to_nothing),
        cmocka_unit_test(test_cassette_cancellation_and_late_answer_refer_to_their_request),
        cmocka_unit_test(test_cassette_members_belong_to_the_previous_batch),
        cmocka_unit_test(test_cassette_read_and_written_again_is_the_same_file),
        cmocka_unit_test(test_cassette_truncated_anywhere_is_rejected_with_its_line),
        cmocka_unit_test(test_cassette_messages_are_renumbered_and_answers_too),
        cmocka_unit_test(test_cassette_time_that_is_less_than_that_before_is_raised),
        cmocka_unit_test(test_cassette_deep_message_is_read_back),
        cmocka_unit_test(test_cassette_callback_can_stop_reading),
        cmocka_unit_test(test_cassette_members_of_version_2_are_read_and_written),
        cmocka_unit_test(test_cassette_invalid_file_is_rejected_with_line_reason_and_remedy),
        cmocka_unit_test(test_cassette_end_line_without_a_count_or_newline_is_fine),
        cmocka_unit_test(test_cassette_mcp_tape_recording_is_read),
        cmocka_unit_test(test_cassette_mcp_rec_recording_is_read),
        cmocka_unit_test(test_cassette_mcp_cassette_recording_is_read),
        cmocka_unit_test(test_cassette_foreign_lines_are_repaired_as_the_proxy_does),
        cmocka_unit_test(test_cassette_foreign_reading_stops_within_a_line),
        cmocka_unit_test(test_cassette_foreign_errors_are_reported_with_their_line),
        cmocka_unit_test(test_cassette_missing_file_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
