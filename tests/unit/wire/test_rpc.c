/* The kind of a message, and the places of its parts. */
#include "wire/mcp/rule.h"
#include "wire/rpc.h"

#include "model/values.h"

#include "tests/support/unit.h"
#include "wire/json/text.h"

#define J "\"jsonrpc\":\"2.0\","
#define F(name) FINDING(FIND_##name)

/* A line read from memory that ends with it. Free `copy`. */
struct line_read {
    char *copy;
    size_t n;
    int st;
    struct rpc m;
};

static struct line_read read_n(const char *text, size_t n)
{
    struct line_read r = {.copy = unit_copy(text, n), .n = n};
    memset(&r.m, 0xA5, sizeof r.m); /* previous contents must not matter */
    r.st = rpc_read((struct slice){r.copy, n}, &r.m);
    return r;
}

static struct line_read read_line(const char *text)
{
    return read_n(text, strlen(text));
}

static void expect(const char *text, enum rpc_kind kind, findings found)
{
    struct line_read r = read_line(text);
    struct buf got = {0}, want = {0};
    finding_append_names(&got, r.m.findings, 0);
    finding_append_names(&want, found, 0);
    if (r.st != 0 || r.m.kind != kind || r.m.findings != found)
        fail_msg("%s\nis %s [%s], status %d, not %s [%s]", text,
                 row_kind_name(row_kind_of_rpc(r.m.kind)), buf_str(&got), r.st,
                 row_kind_name(row_kind_of_rpc(kind)), buf_str(&want));
    buf_close(&got);
    buf_close(&want);
    free(r.copy);
}

static void test_rpc_line_of_each_shape_has_its_kind_and_findings(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum rpc_kind kind;
        findings found;
    } rows[] = {
        /* requests: jsonrpc, id, method, params? object */
        {"{" J "\"id\":1,\"method\":\"m\"}", RPC_REQUEST, 0},
        {"{" J "\"id\":1,\"method\":\"m\",\"params\":{}}", RPC_REQUEST, 0},
        {"{\"params\":{\"a\":1},\"method\":\"m\",\"id\":1,\"jsonrpc\":\"2.0\"}", RPC_REQUEST, 0},
        {" \t{ \"jsonrpc\" : \"2.0\" , \"id\" : 1 , \"method\" : \"m\" }\r ", RPC_REQUEST, 0},
        {"{" J "\"id\":1,\"method\":\"\"}", RPC_REQUEST, 0},
        {"{" J "\"id\":1,\"method\":\"no/such/method\",\"extra\":[1]}", RPC_REQUEST, 0},
        {"{" J "\"id\":1,\"method\":\"m\",\"params\":null}", RPC_REQUEST, F(NULL_PARAMS)},
        {"{" J "\"id\":1,\"method\":\"m\",\"params\":[]}", RPC_REQUEST, F(ARRAY_PARAMS)},
        {"{" J "\"id\":1,\"method\":\"m\",\"params\":\"x\"}", RPC_INVALID, F(NOT_JSONRPC)},
        {"{" J "\"id\":1,\"method\":\"m\",\"params\":1}", RPC_INVALID, F(NOT_JSONRPC)},
        {"{" J "\"id\":1,\"method\":\"m\",\"params\":true}", RPC_INVALID, F(NOT_JSONRPC)},
        {"{" J "\"id\":1,\"method\":\"m\",\"params\":false}", RPC_INVALID, F(NOT_JSONRPC)},
        {"{" J "\"id\":1,\"method\":null}", RPC_INVALID, F(NOT_JSONRPC)},
        {"{" J "\"id\":1,\"method\":7}", RPC_INVALID, F(NOT_JSONRPC)},
        {"{" J "\"id\":1,\"method\":[\"m\"]}", RPC_INVALID, F(NOT_JSONRPC)},
        {"{" J "\"id\":1,\"method\":{}}", RPC_INVALID, F(NOT_JSONRPC)},
        {"{" J "\"id\":1,\"method\":true}", RPC_INVALID, F(NOT_JSONRPC)},
        /* ids: any string or number */
        {"{" J "\"id\":0,\"method\":\"m\"}", RPC_REQUEST, 0},
        {"{" J "\"id\":-1,\"method\":\"m\"}", RPC_REQUEST, 0},
        {"{" J "\"id\":1.0,\"method\":\"m\"}", RPC_REQUEST, 0},
        {"{" J "\"id\":1e3,\"method\":\"m\"}", RPC_REQUEST, 0},
        {"{" J "\"id\":1e30,\"method\":\"m\"}", RPC_REQUEST, 0},
        {"{" J "\"id\":123456789012345678901234567890,\"method\":\"m\"}", RPC_REQUEST, 0},
        {"{" J "\"id\":1.5,\"method\":\"m\"}", RPC_REQUEST, F(FRACTIONAL_ID)},
        {"{" J "\"id\":1e-3,\"method\":\"m\"}", RPC_REQUEST, F(FRACTIONAL_ID)},
        {"{" J "\"id\":\"\",\"method\":\"m\"}", RPC_REQUEST, 0},
        {"{" J "\"id\":\"1\",\"method\":\"m\"}", RPC_REQUEST, 0},
        {"{" J "\"id\":\"1.5\",\"method\":\"m\"}", RPC_REQUEST, 0},
        {"{" J "\"id\":\"null\",\"method\":\"m\"}", RPC_REQUEST, 0},
        {"{" J "\"id\":\"\\u0000\\ud800\",\"method\":\"m\"}", RPC_REQUEST, 0},
        {"{" J "\"id\":true,\"method\":\"m\"}", RPC_INVALID, F(NOT_JSONRPC)},
        {"{" J "\"id\":false,\"method\":\"m\"}", RPC_INVALID, F(NOT_JSONRPC)},
        {"{" J "\"id\":[1],\"method\":\"m\"}", RPC_INVALID, F(NOT_JSONRPC)},
        {"{" J "\"id\":{},\"method\":\"m\"}", RPC_INVALID, F(NOT_JSONRPC)},
        /* notifications: no id, or the id null */
        {"{" J "\"method\":\"m\"}", RPC_NOTIFICATION, 0},
        {"{" J "\"method\":\"m\",\"params\":{}}", RPC_NOTIFICATION, 0},
        {"{" J "\"method\":\"m\",\"params\":null}", RPC_NOTIFICATION, F(NULL_PARAMS)},
        {"{" J "\"method\":\"m\",\"params\":[1]}", RPC_NOTIFICATION, F(ARRAY_PARAMS)},
        {"{" J "\"id\":null,\"method\":\"m\"}", RPC_NOTIFICATION, F(NULL_ID)},
        {"{" J "\"id\":null,\"method\":\"m\",\"params\":null}", RPC_NOTIFICATION,
         F(NULL_ID) | F(NULL_PARAMS)},
        {"{" J "\"method\":\"m\",\"params\":3}", RPC_INVALID, F(NOT_JSONRPC)},
        {"{" J "\"method\":1}", RPC_INVALID, F(NOT_JSONRPC)},
        /* a method beside a result or an error: two readers may see two messages */
        {"{" J "\"id\":1,\"method\":\"m\",\"result\":{}}", RPC_INVALID, F(CALL_AND_ANSWER)},
        {"{" J "\"id\":1,\"result\":0,\"m\\u0065thod\":\"m\"}", RPC_INVALID, F(CALL_AND_ANSWER)},
        {"{" J "\"id\":1,\"method\":\"m\",\"error\":{\"code\":1,\"message\":\"e\"}}", RPC_INVALID,
         F(CALL_AND_ANSWER)},
        {"{" J "\"id\":1,\"method\":7,\"\\u0065rror\":false}", RPC_INVALID, F(CALL_AND_ANSWER)},
        {"{" J "\"method\":\"m\",\"result\":{}}", RPC_INVALID, F(CALL_AND_ANSWER)},
        {"{" J "\"method\":null,\"result\":{}}", RPC_INVALID, F(CALL_AND_ANSWER)},
        {"{\"method\":\"m\",\"result\":{}}", RPC_INVALID, F(CALL_AND_ANSWER)},
        {"{" J "\"id\":1,\"method\":\"m\",\"result\":null,\"error\":null}", RPC_REQUEST,
         F(NULL_BESIDE_ANSWER)},
        {"{" J "\"method\":\"m\",\"error\":null}", RPC_NOTIFICATION, F(NULL_BESIDE_ANSWER)},
        {"{" J "\"id\":1,\"method\":\"m\",\"Result\":{}}", RPC_REQUEST, 0},
        /* results */
        {"{" J "\"id\":1,\"result\":{}}", RPC_RESULT, 0},
        {"{\"result\":{\"isError\":true},\"id\":\"a\",\"jsonrpc\":\"2.0\"}", RPC_RESULT, 0},
        {"{" J "\"id\":1.5,\"result\":{}}", RPC_RESULT, F(FRACTIONAL_ID)},
        {"{" J "\"id\":1,\"result\":null}", RPC_RESULT, F(RESULT_NOT_OBJECT)},
        {"{" J "\"id\":1,\"result\":[]}", RPC_RESULT, F(RESULT_NOT_OBJECT)},
        {"{" J "\"id\":1,\"result\":\"ok\"}", RPC_RESULT, F(RESULT_NOT_OBJECT)},
        {"{" J "\"id\":1,\"result\":0}", RPC_RESULT, F(RESULT_NOT_OBJECT)},
        {"{" J "\"id\":1,\"result\":false}", RPC_RESULT, F(RESULT_NOT_OBJECT)},
        {"{" J "\"id\":1,\"result\":{},\"params\":7}", RPC_RESULT, 0},
        {"{" J "\"id\":null,\"result\":{}}", RPC_RESULT, F(NULL_ID)},
        {"{" J "\"result\":{}}", RPC_INVALID, F(MALFORMED_ANSWER)},
        {"{" J "\"id\":true,\"result\":{}}", RPC_INVALID, F(MALFORMED_ANSWER)},
        {"{" J "\"id\":[1],\"result\":{}}", RPC_INVALID, F(MALFORMED_ANSWER)},
        {"{" J "\"id\":{},\"result\":{}}", RPC_INVALID, F(MALFORMED_ANSWER)},
        /* errors; their id may be left out or null where it could not be read */
        {"{" J "\"id\":1,\"error\":{\"code\":-32601,\"message\":\"no\"}}", RPC_ERROR, 0},
        {"{" J "\"id\":1,\"error\":{\"message\":\"\",\"code\":0,\"data\":[1]}}", RPC_ERROR, 0},
        {"{" J "\"error\":{\"code\":-32700,\"message\":\"no\"}}", RPC_ERROR, 0},
        {"{" J "\"id\":null,\"error\":{\"code\":-32700,\"message\":\"no\"}}", RPC_ERROR,
         F(NULL_ID)},
        {"{" J "\"id\":1,\"error\":null}", RPC_INVALID, F(MALFORMED_ANSWER)},
        {"{" J "\"id\":1,\"error\":\"no\"}", RPC_INVALID, F(MALFORMED_ANSWER)},
        {"{" J "\"id\":1,\"error\":[]}", RPC_INVALID, F(MALFORMED_ANSWER)},
        {"{" J "\"id\":1,\"error\":{}}", RPC_INVALID, F(MALFORMED_ANSWER)},
        {"{" J "\"id\":1,\"error\":{\"code\":1}}", RPC_INVALID, F(MALFORMED_ANSWER)},
        {"{" J "\"id\":1,\"error\":{\"message\":\"no\"}}", RPC_INVALID, F(MALFORMED_ANSWER)},
        {"{" J "\"id\":1,\"error\":{\"code\":\"1\",\"message\":\"no\"}}", RPC_INVALID,
         F(MALFORMED_ANSWER)},
        {"{" J "\"id\":1,\"error\":{\"code\":1,\"message\":null}}", RPC_INVALID,
         F(MALFORMED_ANSWER)},
        {"{" J "\"id\":1,\"error\":{\"code\":1,\"message\":{}}}", RPC_INVALID, F(MALFORMED_ANSWER)},
        {"{" J "\"id\":false,\"error\":{\"code\":1,\"message\":\"no\"}}", RPC_INVALID,
         F(MALFORMED_ANSWER)},
        /* exactly one of result and error; a null beside the other counts as absent */
        {"{" J "\"id\":1}", RPC_INVALID, F(MALFORMED_ANSWER)},
        {"{" J "\"id\":\"a\",\"params\":{}}", RPC_INVALID, F(MALFORMED_ANSWER)},
        {"{" J "\"id\":null}", RPC_INVALID, F(NULL_ID) | F(MALFORMED_ANSWER)},
        {"{" J "\"id\":1,\"result\":{},\"error\":{\"code\":1,\"message\":\"no\"}}", RPC_INVALID,
         F(MALFORMED_ANSWER)},
        {"{" J "\"id\":1,\"result\":{},\"error\":null}", RPC_RESULT, F(NULL_BESIDE_ANSWER)},
        {"{" J "\"id\":1,\"error\":null,\"result\":{}}", RPC_RESULT, F(NULL_BESIDE_ANSWER)},
        {"{" J "\"id\":1,\"result\":null,\"error\":{\"code\":1,\"message\":\"no\"}}", RPC_ERROR,
         F(NULL_BESIDE_ANSWER)},
        {"{" J "\"id\":1,\"result\":null,\"error\":{}}", RPC_INVALID,
         F(NULL_BESIDE_ANSWER) | F(MALFORMED_ANSWER)},
        {"{" J "\"id\":1,\"result\":null,\"error\":null}", RPC_INVALID,
         F(NULL_BESIDE_ANSWER) | F(MALFORMED_ANSWER)},
        {"{" J "\"id\":1,\"result\":7,\"error\":\"no\"}", RPC_INVALID, F(MALFORMED_ANSWER)},
        /* jsonrpc is the string 2.0 */
        {"{\"jsonrpc\":\"2\\u002e0\",\"id\":1,\"method\":\"m\"}", RPC_REQUEST, 0},
        {"{\"id\":1,\"method\":\"m\"}", RPC_INVALID, F(NOT_JSONRPC)},
        {"{\"method\":\"m\"}", RPC_INVALID, F(NOT_JSONRPC)},
        {"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"m\"}", RPC_INVALID, F(NOT_JSONRPC)},
        {"{\"jsonrpc\":\"2.00\",\"id\":1,\"method\":\"m\"}", RPC_INVALID, F(NOT_JSONRPC)},
        {"{\"jsonrpc\":\"2\",\"id\":1,\"method\":\"m\"}", RPC_INVALID, F(NOT_JSONRPC)},
        {"{\"jsonrpc\":\"\",\"id\":1,\"method\":\"m\"}", RPC_INVALID, F(NOT_JSONRPC)},
        {"{\"jsonrpc\":2.0,\"id\":1,\"method\":\"m\"}", RPC_INVALID, F(NOT_JSONRPC)},
        {"{\"jsonrpc\":null,\"id\":1,\"method\":\"m\"}", RPC_INVALID, F(NOT_JSONRPC)},
        {"{\"jsonrpc\":[\"2.0\"],\"id\":1,\"method\":\"m\"}", RPC_INVALID, F(NOT_JSONRPC)},
        {"{\"JSONRPC\":\"2.0\",\"id\":1,\"method\":\"m\"}", RPC_INVALID, F(NOT_JSONRPC)},
        {"{\"id\":1,\"result\":{}}", RPC_INVALID, F(NOT_JSONRPC) | F(MALFORMED_ANSWER)},
        {"{\"jsonrpc\":2,\"id\":1,\"error\":{\"code\":1,\"message\":\"no\"}}", RPC_INVALID,
         F(NOT_JSONRPC) | F(MALFORMED_ANSWER)},
        {"{\"result\":{}}", RPC_INVALID, F(NOT_JSONRPC)},
        /* JSON, but not JSON-RPC: output of log libraries */
        {"{}", RPC_INVALID, F(NOT_JSONRPC)},
        {"{\"jsonrpc\":\"2.0\"}", RPC_INVALID, F(NOT_JSONRPC)},
        {"{\"jsonrpc\":\"2.0\",\"params\":{}}", RPC_INVALID, F(NOT_JSONRPC)},
        {"{\"level\":30,\"time\":1700000000000,\"msg\":\"listening\"}", RPC_INVALID,
         F(NOT_JSONRPC)},
        {"\"listening\"", RPC_INVALID, F(NOT_JSONRPC)},
        {"0", RPC_INVALID, F(NOT_JSONRPC)},
        {"null", RPC_INVALID, F(NOT_JSONRPC)},
        {"true", RPC_INVALID, F(NOT_JSONRPC)},
        /* an array is a batch, whatever it contains */
        {"[]", RPC_BATCH, 0},
        {"[1]", RPC_BATCH, 0},
        {" [{" J "\"id\":1,\"method\":\"m\"}] ", RPC_BATCH, 0},
        {"[{\"id\":1,\"id\":2}]", RPC_BATCH, F(DUPLICATE_KEY)},
        /* envelope keys after unescaping; case counts */
        {"{\"\\u006asonrpc\":\"2.0\",\"i\\u0064\":1,\"m\\u0065thod\":\"m\"}", RPC_REQUEST, 0},
        {"{\"\\u006A\\u0073onrpc\":\"2.0\",\"\\u0069\\u0064\":1,\"r\\u0065sult\":{}}", RPC_RESULT,
         0},
        {"{" J "\"id\":1,\"\\u0065rror\":{\"\\u0063ode\":1,\"m\\u0065ssage\":\"no\"}}", RPC_ERROR,
         0},
        {"{" J "\"id\":1,\"method\":\"m\",\"para\\u006ds\":null}", RPC_REQUEST, F(NULL_PARAMS)},
        {"{" J "\"id\":1,\"Method\":\"m\"}", RPC_INVALID, F(MALFORMED_ANSWER)},
        {"{" J "\"ID\":1,\"method\":\"m\"}", RPC_NOTIFICATION, 0},
        {"{" J "\"id\":1,\"ID\":2,\"Id\":3,\"method\":\"m\",\"METHOD\":\"n\"}", RPC_REQUEST, 0},
        {"{" J "\"id \":1,\"method\":\"m\"}", RPC_NOTIFICATION, 0},
        {"{" J "\"id\\u0000\":1,\"method\":\"m\"}", RPC_NOTIFICATION, 0},
        {"{" J "\"\\\\u0069d\":1,\"method\":\"m\"}", RPC_NOTIFICATION, 0},
        /* a duplicate envelope key is rejected, even with equal values */
        {"{" J "\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}", RPC_INVALID,
         F(DUPLICATE_ENVELOPE_KEY) | F(DUPLICATE_KEY)},
        {"{" J "\"id\":1,\"id\":1,\"method\":\"m\"}", RPC_INVALID,
         F(DUPLICATE_ENVELOPE_KEY) | F(DUPLICATE_KEY)},
        {"{" J "\"id\":1,\"i\\u0064\":2,\"method\":\"m\"}", RPC_INVALID,
         F(DUPLICATE_ENVELOPE_KEY) | F(DUPLICATE_KEY)},
        {"{" J "\"id\":1,\"method\":\"a\",\"m\\u0065thod\":\"b\"}", RPC_INVALID,
         F(DUPLICATE_ENVELOPE_KEY) | F(DUPLICATE_KEY)},
        {"{" J "\"id\":1,\"method\":\"m\",\"params\":{},\"params\":{}}", RPC_INVALID,
         F(DUPLICATE_ENVELOPE_KEY) | F(DUPLICATE_KEY)},
        {"{" J "\"id\":1,\"result\":{},\"result\":{}}", RPC_INVALID,
         F(DUPLICATE_ENVELOPE_KEY) | F(DUPLICATE_KEY)},
        {"{" J "\"id\":1,\"error\":{\"code\":1,\"message\":\"a\"},\"error\":null}", RPC_INVALID,
         F(DUPLICATE_ENVELOPE_KEY) | F(DUPLICATE_KEY)},
        /* other duplicate keys are legal and noted */
        {"{" J "\"id\":1,\"method\":\"m\",\"x\":1,\"x\":2}", RPC_REQUEST, F(DUPLICATE_KEY)},
        {"{" J "\"id\":1,\"method\":\"m\",\"params\":{\"name\":\"a\",\"name\":\"b\"}}", RPC_REQUEST,
         F(DUPLICATE_KEY)},
        {"{" J "\"id\":1,\"result\":{\"a\":[{\"b\":1,\"\\u0062\":2}]}}", RPC_RESULT,
         F(DUPLICATE_KEY)},
        {"{" J "\"id\":1,\"method\":\"m\",\"params\":{\"id\":1,\"method\":\"m\",\"params\":{}}}",
         RPC_REQUEST, 0},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        expect(rows[i].text, rows[i].kind, rows[i].found);
}

static void test_rpc_line_that_is_not_json_has_its_fault_and_finding(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t n;
        enum json_fault_kind kind;
        size_t at;
        findings found;
    } rows[] = {
#define ROW(text, kind, at, found) {text, sizeof text - 1, kind, at, found}
        ROW("", JSON_EMPTY, 0, F(NOT_JSON)),
        ROW("  ", JSON_EMPTY, 2, F(NOT_JSON)),
        ROW("Server listening on stdio", JSON_SYNTAX, 0, F(NOT_JSON)),
        ROW("{\"jsonrpc\":\"2.0\",", JSON_CUT, 17, F(NOT_JSON) | F(CUT_JSON)),
        ROW(" [", JSON_CUT, 2, F(NOT_JSON) | F(CUT_JSON)),
        ROW("{\"a\":\"raw newline", JSON_CUT, 17, F(NOT_JSON) | F(CUT_JSON)),
        ROW("\"text", JSON_CUT, 5, F(NOT_JSON)),
        ROW("{" J "\"id\":1,\"method\":\"a\nb\"}", JSON_CONTROL, 35, F(NOT_JSON)),
        ROW("{" J "\"id\":1,\"method\":\"\xff\"}", JSON_UTF8, 34, F(INVALID_UTF8)),
        ROW("{}{}", JSON_TRAILING, 2, F(SEVERAL_VALUES)),
        ROW("{\"a\":1} [2]", JSON_TRAILING, 8, F(SEVERAL_VALUES)),
        ROW("[1][2]", JSON_TRAILING, 3, F(SEVERAL_VALUES)),
        /* one value with other text around it is a log line, not two messages */
        ROW("2026-01-31 12:00:00 INFO started", JSON_TRAILING, 4, F(NOT_JSON)),
        ROW("12:00 {}", JSON_TRAILING, 2, F(NOT_JSON)),
        ROW("[4711] listening", JSON_TRAILING, 7, F(NOT_JSON)),
        ROW("{\"a\":1} done", JSON_TRAILING, 8, F(NOT_JSON)),
        ROW("{\"a\":1},", JSON_TRAILING, 7, F(NOT_JSON)),
        ROW("\xef\xbb\xbf{}", JSON_SYNTAX, 0, F(NOT_JSON)),
        ROW("{" J "\"id\":1}\0", JSON_TRAILING, 24, F(NOT_JSON)),
        ROW("Content-Length: 52", JSON_SYNTAX, 0, F(NOT_JSON)),
#undef ROW
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct line_read r = read_n(rows[i].text, rows[i].n);
        assert_int_equal(r.st, MI_EPROTO);
        assert_int_equal(r.m.kind, RPC_INVALID);
        if (r.m.fault.kind != rows[i].kind || r.m.fault.at != rows[i].at ||
            r.m.findings != rows[i].found)
            fail_msg("%s: fault %d at %zu, findings %llx", rows[i].text, (int)r.m.fault.kind,
                     r.m.fault.at, (unsigned long long)r.m.findings);
        /* No member is reported. */
        assert_int_equal(r.m.id.type, JSON_NONE);
        assert_null(r.m.method.p);
        assert_null(r.m.text.p);
        assert_int_equal(r.m.params.type, JSON_NONE);
        free(r.copy);
    }
    char deep[JSON_MAX_DEPTH + 1];
    memset(deep, '[', sizeof deep);
    struct line_read r = read_n(deep, sizeof deep);
    assert_int_equal(r.st, MI_EPROTO);
    assert_true(r.m.findings == F(TOO_DEEP));
    free(r.copy);
}

static bool inside(const struct line_read *r, struct slice s)
{
    return s.p == NULL || (s.p >= r->copy && s.p + s.n <= r->copy + r->n);
}

static void expect_text(const struct line_read *r, struct json_value v, const char *want)
{
    assert_true(inside(r, v.text));
    if (want == NULL) {
        assert_int_equal(v.type, JSON_NONE);
        return;
    }
    if (!slice_is(v.text, want))
        fail_msg("'%.*s' is not '%s'", (int)v.text.n, v.text.p, want);
    assert_int_equal(v.type, json_type_at(want[0]));
}

static void test_rpc_parts_point_into_the_line(void **state)
{
    (void)state;
    struct line_read r = read_line(
        "  {" J "\"id\" : \"a\\u0062\" ,\"method\":\"tools\\/call\",\"params\":{\"name\":\"n\\n\","
        "\"uri\":\"u:/\",\"ref\":{\"type\":\"ref/"
        "prompt\"},\"arguments\":{\"name\":\"inner\",\"code\":1},"
        "\"_meta\":{\"progressToken\":1},\"requestId\":12}}  ");
    assert_int_equal(r.m.kind, RPC_REQUEST);
    assert_ptr_equal(r.m.text.p, r.copy + 2);
    assert_int_equal(r.m.text.n, r.n - 4);
    expect_text(&r, r.m.id, "\"a\\u0062\"");
    assert_true(slice_is(r.m.method, "tools\\/call"));
    assert_true(inside(&r, r.m.method));
    assert_true(rpc_method_is(&r.m, "tools/call"));
    assert_false(rpc_method_is(&r.m, "tools\\/call"));
    expect_text(&r, r.m.name, "\"n\\n\"");
    expect_text(&r, r.m.uri, "\"u:/\"");
    expect_text(&r, r.m.ref, "{\"type\":\"ref/prompt\"}");
    expect_text(&r, r.m.arguments, "{\"name\":\"inner\",\"code\":1}");
    expect_text(&r, r.m.meta, "{\"progressToken\":1}");
    expect_text(&r, r.m.request_id, "12");
    expect_text(&r, r.m.result, NULL);
    expect_text(&r, r.m.error, NULL);
    expect_text(&r, r.m.error_code, NULL);
    free(r.copy);

    r = read_line("{" J "\"id\":7,\"result\":{\"content\":[{\"isError\":false}],\"isError\":true,"
                  "\"name\":1,\"code\":2,\"message\":\"m\"}}");
    assert_int_equal(r.m.kind, RPC_RESULT);
    expect_text(&r, r.m.id, "7");
    expect_text(&r, r.m.is_error, "true");
    expect_text(&r, r.m.name, NULL);
    expect_text(&r, r.m.error_code, NULL);
    expect_text(&r, r.m.error_message, NULL);
    assert_null(r.m.method.p);
    assert_false(rpc_method_is(&r.m, ""));
    free(r.copy);

    r = read_line("{" J "\"id\":7,\"error\":{\"code\":-32602,\"message\":\"say \\\"no\\\"\","
                  "\"isError\":true,\"data\":{\"code\":1}}}");
    assert_int_equal(r.m.kind, RPC_ERROR);
    expect_text(&r, r.m.error_code, "-32602");
    expect_text(&r, r.m.error_message, "\"say \\\"no\\\"\"");
    expect_text(&r, r.m.is_error, NULL);
    free(r.copy);
}

/* Each watched member, its key escaped or not, is taken from its own object only. */
static void test_rpc_inner_members_of_other_objects_are_ignored(void **state)
{
    (void)state;
    static const struct {
        const char *outer, *key, *escaped;
        size_t place;
    } rows[] = {
        {"params", "name", "n\\u0061me", offsetof(struct rpc, name)},
        {"params", "uri", "\\u0075ri", offsetof(struct rpc, uri)},
        {"params", "ref", "re\\u0066", offsetof(struct rpc, ref)},
        {"params", "taskId", "task\\u0049d", offsetof(struct rpc, uri)},
        {"params", "arguments", "ar\\u0067uments", offsetof(struct rpc, arguments)},
        {"params", "_meta", "\\u005fmeta", offsetof(struct rpc, meta)},
        {"params", "requestId", "requestI\\u0064", offsetof(struct rpc, request_id)},
        {"result", "content", "con\\u0074ent", offsetof(struct rpc, content)},
        {"result", "isError", "is\\u0045rror", offsetof(struct rpc, is_error)},
        {"error", "code", "\\u0063ode", offsetof(struct rpc, error_code)},
        {"error", "message", "m\\u0065ssage", offsetof(struct rpc, error_message)},
    };
    static const char *const outers[][2] = {{"params", "p\\u0061rams"},
                                            {"result", "resul\\u0074"},
                                            {"error", "\\u0065\\u0072ror"},
                                            {"Params", "other"}};
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        for (size_t o = 0; o < MI_COUNT(outers); o++)
            for (int spelling = 0; spelling < 4; spelling++) {
                char text[256];
                snprintf(text, sizeof text, "{" J "\"id\":1,\"%s\":{\"%s\":\"here\"}}",
                         outers[o][spelling & 1], spelling & 2 ? rows[i].escaped : rows[i].key);
                struct line_read r = read_line(text);
                const struct json_value *v = (const void *)((const char *)&r.m + rows[i].place);
                bool own = strcmp(outers[o][0], rows[i].outer) == 0;
                assert_int_equal(v->type, own ? JSON_STRING : JSON_NONE);
                /* and is reported nowhere else */
                for (size_t k = 0; k < MI_COUNT(rows); k++)
                    if (rows[k].place != rows[i].place) {
                        v = (const void *)((const char *)&r.m + rows[k].place);
                        assert_int_equal(v->type, JSON_NONE);
                    }
                free(r.copy);
            }
    /* A key with the same beginning, a longer one, or one in another case is a different key. */
    static const char *const others[] = {
        "Name",      "names",     "nam",      "nome",    "urn",      "Uri",     "rEf",
        "reg",       "meta",      "_Meta",    "taskid",  "taskID",   "task",    "Arguments",
        "argumentz", "requestID", "isErrors", "Content", "contents", "iserror", "codes",
        "cod",       "Code",      "Message",  "massage", ""};
    for (size_t i = 0; i < MI_COUNT(others); i++)
        for (size_t o = 0; o < 3; o++) {
            char text[256];
            snprintf(text, sizeof text, "{" J "\"id\":1,\"%s\":{\"%s\":\"here\"}}", outers[o][0],
                     others[i]);
            struct line_read r = read_line(text);
            for (size_t k = 0; k < MI_COUNT(rows); k++) {
                const struct json_value *v = (const void *)((const char *)&r.m + rows[k].place);
                if (v->type != JSON_NONE)
                    fail_msg("%s is taken for %s", others[i], rows[k].key);
            }
            free(r.copy);
        }
    /* Members of arrays and of deeper objects are ignored. */
    static const char *const elsewhere[] = {
        "{" J "\"id\":1,\"method\":\"m\",\"params\":[{\"name\":1}]}",
        "{" J "\"id\":1,\"method\":\"m\",\"params\":{\"x\":{\"name\":1}}}",
        "{" J "\"id\":1,\"method\":\"m\",\"x\":{\"params\":{\"name\":1}}}",
        "[{\"params\":{\"name\":1}}]",
        "{" J "\"id\":1,\"method\":\"m\",\"params\":{},\"name\":1}",
    };
    for (size_t i = 0; i < MI_COUNT(elsewhere); i++) {
        struct line_read r = read_line(elsewhere[i]);
        assert_int_equal(r.m.name.type, JSON_NONE);
        free(r.copy);
    }
}

/* Envelope keys of the right length and a wrong letter anywhere are not the envelope's. */
static void test_rpc_envelope_key_with_any_letter_changed_is_another_key(void **state)
{
    (void)state;
    static const char *const keys[] = {"jsonrpc", "id", "method", "params", "result", "error"};
    for (size_t k = 0; k < MI_COUNT(keys); k++)
        for (size_t i = 0; i < strlen(keys[k]); i++) {
            char key[16], text[128];
            snprintf(key, sizeof key, "%s", keys[k]);
            key[i] ^= 0x20; /* another case */
            snprintf(text, sizeof text, "{\"%s\":1,\"%s\":1}", keys[k], key);
            struct line_read r = read_line(text);
            assert_false(r.m.findings & F(DUPLICATE_ENVELOPE_KEY));
            free(r.copy);
            snprintf(text, sizeof text, "{\"%s\":1,\"%.*s\\u%04x%s\":1}", keys[k], (int)i, keys[k],
                     (unsigned)(unsigned char)keys[k][i], keys[k] + i + 1);
            r = read_line(text);
            assert_true(r.m.findings & F(DUPLICATE_ENVELOPE_KEY)); /* the same key with an escape */
            free(r.copy);
        }
}

static void test_rpc_id_of_an_invalid_message_is_returned_if_readable(void **state)
{
    (void)state;
    static const struct {
        const char *text, *id;
    } rows[] = {
        {"{" J "\"id\":7,\"method\":1}", "7"},
        {"{\"id\":\"x\",\"method\":\"m\"}", "\"x\""},
        {"{" J "\"id\":7,\"result\":{},\"error\":{\"code\":1,\"message\":\"no\"}}", "7"},
        {"{" J "\"id\":7}", "7"},
        {"{" J "\"method\":1}", NULL},
        {"{" J "\"id\":7,\"method\":\"m\",\"params\":1}", "7"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct line_read r = read_line(rows[i].text);
        assert_int_equal(r.m.kind, RPC_INVALID);
        expect_text(&r, r.m.id, rows[i].id);
        free(r.copy);
    }
}

static void test_rpc_head_of_a_truncated_message_has_id_and_method(void **state)
{
    (void)state;
    static const struct {
        const char *head, *id, *method; /* NULL: not known */
    } rows[] = {
        {"{" J "\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"x\",\"a\":\"aaaa", "7",
         "tools/call"},
        {"{" J "\"id\":\"a\\u0062\",\"result\":{\"content\":[{\"type\":\"te", "\"a\\u0062\"", NULL},
        {"{" J "\"result\":{\"content\":[{\"type\":\"te", NULL, NULL},
        {"{\"params\":{\"id\":7,\"method\":\"m\",\"x\":\"", NULL, NULL},
        {"{" J "\"method\":\"m\",\"id\":7,\"x\":", "7", "m"},
        {"{" J "\"method\":\"m\",\"id\":7", NULL, "m"}, /* perhaps 78: nothing follows it */
        {"{" J "\"id\":\"cut he", NULL, NULL},
        {"{" J "\"id\":null,\"method\":7,\"x\":\"", NULL, NULL},
        {"{" J "\"id\":[1],\"method\":\"m\",\"x\":\"", NULL, "m"},
        {"[{" J "\"id\":7,\"method\":\"m\"},{\"", NULL, NULL},
        {"{" J "\"id\":7,\"method\":\"m\"}", "7", "m"},
        {"plain text", NULL, NULL},
        {"", NULL, NULL},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct line_read r = {.n = strlen(rows[i].head)};
        r.copy = unit_copy(rows[i].head, r.n);
        memset(&r.m, 0xA5, sizeof r.m);
        rpc_read_truncated_line((struct slice){r.copy, r.n}, &r.m);
        assert_int_equal(r.m.kind, RPC_INVALID);
        expect_text(&r, r.m.id, rows[i].id);
        if (rows[i].method == NULL)
            assert_null(r.m.method.p);
        else
            assert_true(slice_is(r.m.method, rows[i].method));
        free(r.copy);
    }
}

static void test_rpc_target_of_each_request_is_found(void **state)
{
    (void)state;
    static const struct {
        const char *rest, *target; /* NULL: none */
    } rows[] = {
        {"\"method\":\"tools/call\",\"params\":{\"name\":\"build\",\"arguments\":{}}", "build"},
        {"\"method\":\"tools/"
         "call\",\"params\":{\"arguments\":{\"name\":\"x\"},\"name\":\"a\\\"b\"}",
         "a\\\"b"},
        {"\"method\":\"prompts/get\",\"params\":{\"name\":\"hello\"}", "hello"},
        {"\"method\":\"resources/read\",\"params\":{\"uri\":\"file:///x\"}", "file:///x"},
        {"\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"file:///y\"}", "file:///y"},
        {"\"method\":\"completion/complete\",\"params\":{\"ref\":{\"type\":\"ref/"
         "prompt\",\"name\":\"p\"},"
         "\"argument\":{\"name\":\"arg\",\"value\":\"v\"}}",
         "p"},
        {"\"method\":\"completion/complete\",\"params\":{\"argument\":{},\"ref\":{\"uri\":\"x://"
         "{a}\","
         "\"type\":\"ref/resource\"}}",
         "x://{a}"},
        {"\"method\":\"tasks/get\",\"params\":{\"taskId\":\"t-1\"}", "t-1"},
        {"\"method\":\"tools/call\",\"params\":{\"name\":\"\"}", ""},
        {"\"method\":\"tools/call\",\"params\":{\"name\":7}", NULL},
        {"\"method\":\"tools/call\",\"params\":{\"name\":null}", NULL},
        {"\"method\":\"resources/read\",\"params\":{\"name\":null,\"uri\":\"u\"}", "u"},
        {"\"method\":\"completion/complete\",\"params\":{\"ref\":{}}", NULL},
        {"\"method\":\"completion/complete\",\"params\":{\"ref\":{\"name\":1,\"uri\":2}}", NULL},
        {"\"method\":\"completion/complete\",\"params\":{\"ref\":\"p\",\"name\":\"n\"}", "n"},
        {"\"method\":\"tools/list\",\"params\":{}", NULL},
        {"\"method\":\"tools/list\"", NULL},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        for (int id = 0; id < 2; id++) { /* requests and notifications alike */
            char text[512];
            snprintf(text, sizeof text, "{" J "%s%s}", id ? "\"id\":1," : "", rows[i].rest);
            struct line_read r = read_line(text);
            struct slice t = rpc_target(&r.m);
            if (rows[i].target == NULL)
                assert_null(t.p);
            else if (t.p == NULL || !slice_is(t, rows[i].target))
                fail_msg("the target of %s is not %s", text, rows[i].target);
            assert_true(inside(&r, t));
            free(r.copy);
        }
    struct line_read r = read_line("{" J "\"id\":1,\"result\":{},\"params\":{\"name\":\"x\"}}");
    assert_null(rpc_target(&r.m).p);
    free(r.copy);
}

static void test_rpc_name_is_unescaped_and_replaces_the_previous_one(void **state)
{
    (void)state;
    static const struct {
        const char *text, *method, *target;
    } rows[] = {
        {"{" J "\"id\":1,\"method\":\"tools\\/call\",\"params\":{\"name\":\"\\u0061b\"}}",
         "tools/call", "ab"},
        {"{" J "\"id\":2,\"method\":\"ping\"}", "ping", ""},
        {"{" J "\"id\":3,\"result\":{}}", "", ""},
        {"12", "", ""},
    };
    struct buf b = {0};
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct line_read r = read_line(rows[i].text);
        struct rpc_name name = rpc_name(&r.m, &b);
        assert_true(slice_is(name.method, rows[i].method));
        assert_true(slice_is(name.target, rows[i].target));
        free(r.copy);
    }
    buf_close(&b);
}

static void test_rpc_modern_request_is_recognized_by_its_meta(void **state)
{
    (void)state;
    static const struct {
        const char *params;
        bool modern;
    } rows[] = {
        {"{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}", true},
        {"{\"_meta\":{\"a\":1,\"io.modelcontextprotocol\\/"
         "protocolVersion\":\"2030-01-01\",\"b\":2}}",
         true},
        {"{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":7}}", false},
        {"{\"_meta\":{\"io.modelcontextprotocol/clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}",
         false},
        {"{\"_meta\":{\"x\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}", false},
        {"{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}", false},
        {"{\"_meta\":[\"io.modelcontextprotocol/protocolVersion\"]}", false},
        {"{\"_meta\":{}}", false},
        {"{\"_meta\":null}", false},
        {"{}", false},
        {"[]", false},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        char text[256];
        snprintf(text, sizeof text, "{" J "\"id\":1,\"method\":\"m\",\"params\":%s}",
                 rows[i].params);
        struct line_read r = read_line(text);
        assert_int_equal(r.m.kind, RPC_REQUEST);
        if (rpc_is_modern(&r.m) != rows[i].modern)
            fail_msg("%s", text);
        free(r.copy);
    }
}

#define M                                                                                          \
    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                                  \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}"

/* A legacy and a modern conversation. */
static const struct {
    const char *text;
    enum rpc_kind kind;
} samples[] = {
    {"{" J "\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\","
     "\"capabilities\":{\"elicitation\":{}},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}",
     RPC_REQUEST},
    {"{" J "\"id\":0,\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":"
     "{\"listChanged\":true}},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}",
     RPC_RESULT},
    {"{" J "\"method\":\"notifications/initialized\"}", RPC_NOTIFICATION},
    {"{" J
     "\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"b\xc3\xbcild\",\"arguments\":{},"
     "\"_meta\":{\"progressToken\":1}}}",
     RPC_REQUEST},
    {"{" J "\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":0.5,"
     "\"total\":1}}",
     RPC_NOTIFICATION},
    {"{" J "\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"ok \\u00e9 "
     "\xe4\xbd\xa0\"}]}}",
     RPC_RESULT},
    {"{" J
     "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2,\"reason\":\"user\"}}",
     RPC_NOTIFICATION},
    {"{" J "\"id\":0,\"method\":\"elicitation/create\",\"params\":{\"message\":\"Name?\","
     "\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"string\"}}}}}",
     RPC_REQUEST},
    {"{" J "\"id\":\"d1\",\"method\":\"server/discover\",\"params\":{\"_meta\":{" M "}}}",
     RPC_REQUEST},
    {"{" J "\"id\":2,\"method\":\"tools/call\",\"params\":{\"_meta\":{" M "},\"name\":\"ask\"}}",
     RPC_REQUEST},
    {"{" J
     "\"id\":9,\"error\":{\"code\":-32022,\"message\":\"Unsupported protocol version\",\"data\":"
     "{\"supported\":[\"2026-07-28\"],\"requested\":\"2030-01-01\"}}}",
     RPC_ERROR},
    {"[{" J "\"id\":1,\"method\":\"ping\"},{" J "\"method\":\"notifications/initialized\"}]",
     RPC_BATCH},
};

static void test_rpc_message_truncated_at_any_byte_is_invalid(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(samples); i++) {
        expect(samples[i].text, samples[i].kind, 0);
        for (size_t cut = 0; cut < strlen(samples[i].text); cut++) {
            struct line_read r = read_n(samples[i].text, cut);
            if (r.st != MI_EPROTO || r.m.kind != RPC_INVALID || r.m.findings == 0)
                fail_msg("cut at %zu: %s", cut, samples[i].text);
            free(r.copy);
        }
    }
}

/* Bytes changed, lost or doubled: in every case the parts point into the line. */
static void test_rpc_parts_of_a_damaged_message_point_into_the_line(void **state)
{
    (void)state;
    struct unit_random rnd = {99};
    int rounds = unit_slow() ? 2000 : 100000;
    for (int i = 0; i < rounds; i++) {
        char text[512];
        const char *from = samples[unit_random(&rnd, MI_COUNT(samples))].text;
        size_t n = strlen(from);
        memcpy(text, from, n);
        for (size_t k = 1 + unit_random(&rnd, 3); k > 0; k--) {
            size_t at = unit_random(&rnd, n);
            size_t to = unit_random(&rnd, n);
            if (unit_random(&rnd, 2) == 0)
                text[at] = "{}[]\",:\\0ab\n\xff "[unit_random(&rnd, 14)];
            else
                memmove(text + at, text + to,
                        size_min(unit_random(&rnd, 12), n - (at > to ? at : to)));
        }
        struct line_read r = read_n(text, n);
        assert_true(r.st == 0 || r.m.kind == RPC_INVALID);
        assert_true(r.m.kind != RPC_INVALID || r.m.findings != 0);
        const struct json_value *const parts[] = {
            &r.m.id,       &r.m.params,     &r.m.result,        &r.m.error,   &r.m.name,
            &r.m.uri,      &r.m.ref,        &r.m.arguments,     &r.m.meta,    &r.m.request_id,
            &r.m.is_error, &r.m.error_code, &r.m.error_message, &r.m.content,
        };
        for (size_t k = 0; k < MI_COUNT(parts); k++)
            assert_true(inside(&r, parts[k]->text));
        assert_true(inside(&r, r.m.text) && inside(&r, r.m.method) && inside(&r, rpc_target(&r.m)));
        (void)rpc_is_modern(&r.m);
        free(r.copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rpc_line_of_each_shape_has_its_kind_and_findings),
        cmocka_unit_test(test_rpc_line_that_is_not_json_has_its_fault_and_finding),
        cmocka_unit_test(test_rpc_parts_point_into_the_line),
        cmocka_unit_test(test_rpc_inner_members_of_other_objects_are_ignored),
        cmocka_unit_test(test_rpc_envelope_key_with_any_letter_changed_is_another_key),
        cmocka_unit_test(test_rpc_id_of_an_invalid_message_is_returned_if_readable),
        cmocka_unit_test(test_rpc_head_of_a_truncated_message_has_id_and_method),
        cmocka_unit_test(test_rpc_target_of_each_request_is_found),
        cmocka_unit_test(test_rpc_name_is_unescaped_and_replaces_the_previous_one),
        cmocka_unit_test(test_rpc_modern_request_is_recognized_by_its_meta),
        cmocka_unit_test(test_rpc_message_truncated_at_any_byte_is_invalid),
        cmocka_unit_test(test_rpc_parts_of_a_damaged_message_point_into_the_line),
    };
    return cmocka_run_group_tests_name("rpc", tests, NULL, NULL);
}
