/* The sanitizer: what is replaced, kept and truncated; it is idempotent, and its work is linear. */
#include "redact/walk.h"

#include "base/text.h"
#include "redact/key.h"
#include "redact/read.h"
#include "redact/shape/find.h"
#include "tests/support/unit.h"
#include "vault/upkeep/scrub/scrub_run.h"
#include "wire/json/scan.h"

#define DOC "docs/sanitizer.md"

static int open_rules(void **state)
{
    struct buf error = {0};
    struct redact *r;
    if (redact_open(&r, &error) < 0)
        return -1;
    *state = r;
    return 0;
}

static int close_rules(void **state)
{
    redact_close(*state);
    return 0;
}

typedef int (*way_fn)(struct redact *r, struct slice in, struct buf *out, size_t *n);

static int secrets(struct redact *r, struct slice in, struct buf *out, size_t *n)
{
    return redact_message(r, in, REDACT_SECRETS, out, n);
}

static int standard(struct redact *r, struct slice in, struct buf *out, size_t *n)
{
    return redact_message(r, in, REDACT_CONTENT, out, n);
}

/* The text is at the end of its block: no byte after it is read. want NULL: it is unchanged. */
static void expect(struct redact *r, way_fn way, const char *text, const char *want)
{
    struct buf out = {0}, again = {0};
    size_t n = 0, more = 0;
    char *exact = unit_copy(text, strlen(text));
    struct json_scan scan;
    assert_int_equal(way(r, (struct slice){exact, strlen(text)}, &out, &n), 0);
    if (n == 0)
        buf_adds(&out, text);
    assert_string_equal(buf_str(&out), want != NULL ? want : text);
    assert_int_equal(n > 0, want != NULL);
    if (json_scan(slice_of(text), NULL, NULL, &scan) == 0)
        assert_int_equal(json_scan(buf_slice(&out), NULL, NULL, &scan), 0);
    assert_int_equal(way(r, buf_slice(&out), &again, &more), 0);
    assert_int_equal(more, 0);
    free(exact);
    buf_close(&out);
    buf_close(&again);
}

#define S1 "quietword"
#define M(rule) "[redacted:" rule "]"

static void test_redact_value_of_a_secret_key_is_replaced_completely(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"{\"password\":\"" S1 "\"}", "{\"password\":\"" M("password") "\"}"},
        {"{ \"Api-Key\" :\t\"" S1 "\" }", "{ \"Api-Key\" :\t\"" M("api-key") "\" }"},
        {"{\"pass\\u0077ord\":\"" S1 "\"}", "{\"pass\\u0077ord\":\"" M("password") "\"}"},
        {"{\"user[password]\":\"a\\\"b\"}", "{\"user[password]\":\"" M("password") "\"}"},
        {"{\"secret\":{\"a\":[1]},\"b\":2}", "{\"secret\":\"" M("secret") "\",\"b\":2}"},
        {"{\"tokens\":[\"a\"],\"token\":12}", "{\"tokens\":[\"a\"],\"token\":\"" M("token") "\"}"},
        {"{\"passwords\":[\"a\",\"b\"]}", "{\"passwords\":\"" M("password") "\"}"},
        {"{\"password\":\"a\",\"password\":\"b\"}",
         "{\"password\":\"" M("password") "\",\"password\":\"" M("password") "\"}"},
        {"{\"headers\":[\"Authorization: Bearer abc\"]}",
         "{\"headers\":[\"Authorization: " M("authorization") "\"]}"},
        {"[{\"name\":\"X-Api-Key\",\"value\":\"a\"}]",
         "[{\"name\":\"X-Api-Key\",\"value\":\"" M("api-key") "\"}]"},
        {"[{\"value\":{\"a\":1},\"name\":\"password\"}]",
         "[{\"value\":\"" M("password") "\",\"name\":\"password\"}]"},
        {"[\"--api-key\",\"a\",\"--password=b\",\"x\"]",
         "[\"--api-key\",\"" M("api-key") "\",\"--password=" M("password") "\",\"x\"]"},
        {"{\"env\":[\"DB_PASSWORD=" S1 "\"]}", "{\"env\":[\"DB_PASSWORD=" M("password") "\"]}"},
        {"{\"a\":\"{\\\"password\\\":\\\"" S1 "\\\"}\"}",
         "{\"a\":\"{\\\"password\\\":\\\"" M("password") "\\\"}\"}"},
        {"{\"cookie\":\"" S1 "\",\"connection_string\":\"" S1 "\"}",
         "{\"cookie\":\"" M("cookie") "\",\"connection_string\":\"" M("connection-string") "\"}"},
        {"{\"auth\":\"" S1 "\"}", "{\"auth\":\"" M("authorization") "\"}"},
        {"{\"properties\":{\"password\":{\"type\":\"string\",\"default\":\"" S1 "\"}}}",
         "{\"properties\":{\"password\":{\"type\":\"string\",\"default\":\"" M("password") "\"}}}"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        expect(*state, redact_value, rows[i].text, rows[i].want);
}

static void test_redact_base64_of_text_is_searched_as_text(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"{\"uri\":\"file:///"
         ".env\",\"blob\":"
         "\"SE9NRT0vcm9vdApEQl9QQVNTV09SRD1xdWlldHdvcmQxClRPS0VOPWdscGF0LWFCM2RFNWZHN2hKOWtMMW1OM3B"
         "RCg==\"}",
         "{\"uri\":\"file:///"
         ".env\",\"blob\":"
         "\"SE9NRT0vcm9vdApEQl9QQVNTV09SRD1bcmVkYWN0ZWQ6YXNzaWdubWVudF0KVE9LRU49W3JlZGFjdGVkOmdpdGx"
         "hYi10b2tlbl0K\"}"},
        {"{\"blob\":"
         "\"SE9NRT0vcm9vdApEQl9QQVNTV09SRD1xdWlldHdvcmQxClRPS0VOPWdscGF0LWFCM2RFNWZHN2hKOWtMMW1OM3B"
         "RCg==\",\"mimeType\":\"application/octet-stream\"}",
         "{\"blob\":"
         "\"SE9NRT0vcm9vdApEQl9QQVNTV09SRD1bcmVkYWN0ZWQ6YXNzaWdubWVudF0KVE9LRU49W3JlZGFjdGVkOmdpdGx"
         "hYi10b2tlbl0K\",\"mimeType\":\"application/octet-stream\"}"},
        {"{\"mimeType\":\"image/"
         "png\",\"data\":"
         "\"SE9NRT0vcm9vdApEQl9QQVNTV09SRD1xdWlldHdvcmQxClRPS0VOPWdscGF0LWFCM2RFNWZHN2hKOWtMMW1OM3B"
         "RCg==\"}",
         "{\"mimeType\":\"image/"
         "png\",\"data\":"
         "\"SE9NRT0vcm9vdApEQl9QQVNTV09SRD1bcmVkYWN0ZWQ6YXNzaWdubWVudF0KVE9LRU49W3JlZGFjdGVkOmdpdGx"
         "hYi10b2tlbl0K\"}"},
        {"{\"blob\":\"eyJhIjoxLCJwYXNzd29yZCI6InF1aWV0d29yZCJ9\"}",
         "{\"blob\":\"eyJhIjoxLCJwYXNzd29yZCI6IltyZWRhY3RlZDpwYXNzd29yZF0ifQ==\"}"},
        {"{\"blob\":\"eyJhIjoxMiwicGFzc3dvcmQiOiJxdWlldHdvcmQifQ\"}",
         "{\"blob\":\"eyJhIjoxMiwicGFzc3dvcmQiOiJbcmVkYWN0ZWQ6cGFzc3dvcmRdIn0\"}"},
        {"{\"blob\":"
         "\"SE9NRT0vcm9vdApEQl9QQVNTV09SRD1xdWlldHdv\\ncmQxClRPS0VOPWdscGF0LWFCM2RFNWZHN2hKOWtMMW1O"
         "M3BRCg==\\r\\n\"}",
         "{\"blob\":"
         "\"SE9NRT0vcm9vdApEQl9QQVNTV09SRD1bcmVkYWN0ZWQ6YXNzaWdubWVudF0KVE9LRU49W3JlZGFjdGVkOmdpdGx"
         "hYi10b2tlbl0K\"}"},
        {"{\"blob\":\"eyJxIjoiPz8\\/Pj4+IiwicGFzc3dvcmQiOiJxdWlldHdvcmQifQ==\"}",
         "{\"blob\":\"eyJxIjoiPz8/Pj4+IiwicGFzc3dvcmQiOiJbcmVkYWN0ZWQ6cGFzc3dvcmRdIn0=\"}"},
        {"{\"blob\":\"eyJxIjoiPz8_Pj4-IiwicGFzc3dvcmQiOiJxdWlldHdvcmQifQ==\"}",
         "{\"blob\":\"eyJxIjoiPz8_Pj4-IiwicGFzc3dvcmQiOiJbcmVkYWN0ZWQ6cGFzc3dvcmRdIn0=\"}"},
        {"{\"a\":\"{\\\"blob\\\":"
         "\\\"SE9NRT0vcm9vdApEQl9QQVNTV09SRD1xdWlldHdvcmQxClRPS0VOPWdscGF0LWFCM2RFNWZHN2hKOWtMMW1OM"
         "3BRCg==\\\"}\"}",
         "{\"a\":\"{\\\"blob\\\":"
         "\\\"SE9NRT0vcm9vdApEQl9QQVNTV09SRD1bcmVkYWN0ZWQ6YXNzaWdubWVudF0KVE9LRU49W3JlZGFjdGVkOmdpd"
         "GxhYi10b2tlbl0K\\\"}\"}"},
        {"{\"blob\":\"glpat-aB3dE5fG7hJ9kL1mN3pQ\"}", "{\"blob\":\"[redacted:gitlab-token]\"}"},
        {"{\"data\":\"the password=quietword1\"}",
         "{\"data\":\"the password=[redacted:assignment]\"}"},
        {"{\"data\":\"{\\\"password\\\":12}\"}",
         "{\"data\":\"{\\\"password\\\":\\\"[redacted:password]\\\"}\"}"},
        {"{\"blob\":"
         "\"iVBORw0KGgoAAAANSE9NRT0vcm9vdApEQl9QQVNTV09SRD1xdWlldHdvcmQxClRPS0VOPWdscGF0LWFCM2RFNWZ"
         "HN2hKOWtMMW1OM3BRCg==\"}",
         NULL},
        {"{\"blob\":\"SE9NRT0vcm9vdApVU0VSPWJvYgo=\"}", NULL},
        {"{\"text\":"
         "\"SE9NRT0vcm9vdApEQl9QQVNTV09SRD1xdWlldHdvcmQxClRPS0VOPWdscGF0LWFCM2RFNWZHN2hKOWtMMW1OM3B"
         "RCg==\"}",
         NULL},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        expect(*state, redact_value, rows[i].text, rows[i].want);
}

static void test_redact_json_in_the_middle_of_a_text_is_read_as_json(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"{\"t\":\"log {\\\"secrets\\\":{\\\"a\\\":1},\\\"b\\\":2} end\"}",
         "{\"t\":\"log {\\\"secrets\\\":\\\"[redacted:secret]\\\",\\\"b\\\":2} end\"}"},
        {"{\"t\":\"log {\\\"a\\\":{ \\n \\\"password\\\": 12 }} end\"}",
         "{\"t\":\"log {\\\"a\\\":{ \\n \\\"password\\\": \\\"[redacted:password]\\\" }} end\"}"},
        {"{\"t\":\"a {b} {c} {\\\"d\\\":1} {\\\"pin\\\":1,\\\"passwords\\\":[\\\"x\\\"]}\"}",
         "{\"t\":\"a {b} {c} {\\\"d\\\":1} "
         "{\\\"pin\\\":1,\\\"passwords\\\":\\\"[redacted:password]\\\"}\"}"},
        {"{\"t\":\"it is {\\\"name\\\":\\\"password\\\",\\\"value\\\":\\\"quietword\\\"}\"}",
         "{\"t\":\"it is "
         "{\\\"name\\\":\\\"password\\\",\\\"value\\\":\\\"[redacted:password]\\\"}\"}"},
        {"{\"t\":\"run {\\\"argv\\\":[\\\"--api-key\\\",\\\"quietword\\\"]}\"}",
         "{\"t\":\"run {\\\"argv\\\":[\\\"--api-key\\\",\\\"[redacted:api-key]\\\"]}\"}"},
        {"{\"t\":\"run {\\\"env\\\":[\\\"MY_CREDS=quietword\\\"]}\"}",
         "{\"t\":\"run {\\\"env\\\":[\\\"MY_CREDS=[redacted:credentials]\\\"]}\"}"},
        {"{\"t\":\"x {\\\"api key\\\":12}\"}",
         "{\"t\":\"x {\\\"api key\\\":\\\"[redacted:api-key]\\\"}\"}"},
        {"{\"t\":\"x {\\\"a\\\":\\\"{\\\\\\\"password\\\\\\\":12}\\\"}\"}",
         "{\"t\":\"x "
         "{\\\"a\\\":\\\"{\\\\\\\"password\\\\\\\":\\\\\\\"[redacted:password]\\\\\\\"}\\\"}\"}"},
        {"{\"t\":\"{ { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { "
         " {\\\"password\\\":12}\"}",
         "{\"t\":\"{ { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { "
         " {\\\"password\\\":\\\"[redacted:password]\\\"}\"}"},
        {"{\"t\":\"if (x) { \\\"secret\\\" } {\\\"id\\\":7,\\\"max_tokens\\\":9}\"}", NULL},
        {"{\"t\":\"the {\\\"bypass\\\":1,\\\"passed\\\":2} and \\\"token\\\"\"}", NULL},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        expect(*state, redact_value, rows[i].text, rows[i].want);
        expect(*state, standard, rows[i].text, rows[i].want);
    }
}

static void test_redact_lookalikes_are_kept(void **state)
{
    static const char *const rows[] = {
        "{\"password\":true,\"secret\":null,\"token\":\"\",\"api_key\":[],\"auth\":{}}",
        "{\"max_tokens\":100,\"token_count\":7,\"total_tokens\":3,\"token_type\":\"bearer\"}",
        "{\"nextPageToken\":\"CAUQAA\",\"continuationToken\":\"abc\",\"sync_token\":\"x\"}",
        "{\"bypass\":\"x\",\"compass\":\"n\",\"passed\":12,\"pass\":12,\"PWD\":\"/home/me\"}",
        "{\"auth\":\"oauth2\",\"credentials\":\"include\",\"cookie\":\"required\"}",
        "{\"api_key\":\"${API_KEY}\",\"token\":\"{{ token }}\",\"password\":\"<password>\"}",
        "{\"properties\":{\"password\":{\"type\":\"string\",\"description\":\"the password\"}}}",
        "{\"password\":{\"type\":\"string\",\"minLength\":8}}",
        "[\"--no-password\",\"x\"]",
        "{\"password\":\"[redacted:password]\",\"token\":\"[redacted:token]\"}",
        "{\"a\":1.50,\"b\":[1e3 , 2],\"\\u0063\":\"\\/\\u00e9\"}",
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        expect(*state, redact_value, rows[i], NULL);
}

/* Its name is the server's choice; what else has that name is a secret, and so is what is inside. */
static void test_redact_looks_inside_a_request_for_input(void **state)
{
#define FORM "{\"method\":\"elicitation/create\",\"params\":{\"message\":\"Who?\"}}"
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"{\"result\":{\"inputRequests\":{\"cred\":" FORM ",\"password\":" FORM "}}}", NULL},
        {"{\"params\":{\"inputRequests\":{\"secrets\":{\"params\":{},\"method\":\"roots/list\"}}}}",
         NULL},
        {"{\"result\":{\"inputRequests\":{\"cred\":{\"method\":\"elicitation/"
         "create\",\"params\":{\"password\":"
         "\"quietword\"}}}}}",
         "{\"result\":{\"inputRequests\":{\"cred\":{\"method\":\"elicitation/"
         "create\",\"params\":{\"password\":"
         "\"[redacted:password]\"}}}}}"},
        {"{\"result\":{\"inputRequests\":{\"cred\":{\"method\":\"x\",\"params\":{}},\"password\":"
         "\"quietword\"}}}",
         "{\"result\":{\"inputRequests\":{\"cred\":\"[redacted:credentials]\",\"password\":"
         "\"[redacted:password]\"}}}"},
        {"{\"result\":{\"inputRequests\":{\"cred\":{\"method\":\"roots/"
         "list\",\"key\":\"quietword\"}}}}",
         "{\"result\":{\"inputRequests\":{\"cred\":\"[redacted:credentials]\"}}}"},
        {"{\"result\":{\"structuredContent\":{\"inputRequests\":{\"cred\":" FORM "}}}}",
         "{\"result\":{\"structuredContent\":{\"inputRequests\":{\"cred\":\"[redacted:credentials]"
         "\"}}}}"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        expect(*state, standard, rows[i].text, rows[i].want);
#undef FORM
}

static void test_redact_headers_in_options_are_secrets_whatever_their_name(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"[\"npx\",\"--header\",\"X-My-Key: " S1 "\",\"x\"]",
         "[\"npx\",\"--header\",\"X-My-Key: " M("header") "\",\"x\"]"},
        {"[\"-H\",\"X-My-Key:" S1 " and more\",\"X-My-Key:y\"]",
         "[\"-H\",\"X-My-Key:" M("header") "\",\"X-My-Key:y\"]"},
        {"[\"--header=X-My-Key: " S1 "\",\"--extraHeaders\",\"x-me=" S1 "\"]",
         "[\"--header=X-My-Key: " M("header") "\",\"--extraHeaders\",\"x-me=" M("header") "\"]"},
        {"[\"--header\",\"Authorization: Bearer " S1 "\",\"-H\",\"Authorization: " S1 "\"]",
         "[\"--header\",\"Authorization: Bearer " M(
             "authorization") "\",\"-H\",\"Authorization: " M("authorization") "\"]"},
        {"[\"--header\",\"X-Api-Key: " S1 "\",\"--header\",\"Accept: */*\",\"--header\",\"x: y\"]",
         "[\"--header\",\"X-Api-Key: " M(
             "api-key") "\",\"--header\",\"Accept: */*\",\"--header\",\"x: " M("header") "\"]"},
        {"[\"--headers\",\"{\\\"X-My-Key\\\":\\\"" S1 "\\\"}\"]",
         "[\"--headers\",\"" M("header") "\"]"},
        {"{\"t\":\"run {\\\"argv\\\":[\\\"--header\\\",\\\"X-Me: " S1 "\\\"]}\"}",
         "{\"t\":\"run {\\\"argv\\\":[\\\"--header\\\",\\\"X-Me: " M("header") "\\\"]}\"}"},
        {"[\"--header\",\"X-My-Key: ${API_KEY}\",\"--header\",\"X-GitHub-Api-Version: "
         "2022-11-28\"]",
         NULL},
        {"[\"--header\",\"User-Agent: "
         "me\",\"-H\",\"tcp://10.0.0.1:2375\",\"-H\",\"localhost:8080\"]",
         NULL},
        {"[\"--show-headers\",\"x: y\",\"--header\",\"--x: y\",\"header\",\"x: y\"]", NULL},
        {"[\"--header-file\",\"x:y\",\"-h\",\"x: y\",\"--header\",\"file\",\"x: y\"]", NULL},
        {"{\"--header\":\"x: y\"}", NULL},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        expect(*state, redact_value, rows[i].text, rows[i].want);
        expect(*state, secrets, rows[i].text, rows[i].want);
    }
    struct buf error = {0};
    assert_int_equal(redact_add_rule(*state, "keep", "x-mine", &error), 0);
    buf_close(&error);
    expect(*state, redact_value, "[\"-H\",\"X-Mine: y\",\"-H\",\"X-My: y\"]",
           "[\"-H\",\"X-Mine: y\",\"-H\",\"X-My: " M("header") "\"]");
}

/* In JSON that is not valid a value may be followed by a colon: then it is taken for a name. */
static void test_redact_value_in_front_of_a_colon_is_a_name(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"{\"password\":\"password\":\"hunter2Xy\"}",
         "{\"password\":\"" M("password") "\":\"" M("password") "\"}"},
        {"{\"a\":1,\"x\":\"p\\u0061ssword\" : \"hunter2Xy\",\"b\":\"c\":\"d\"}",
         "{\"a\":1,\"x\":\"p\\u0061ssword\" : \"" M("password") "\",\"b\":\"c\":\"d\"}"},
        {"{\"a\":\"token\":[\"hunter2Xy\"]}", "{\"a\":\"token\":\"" M("token") "\"}"},
        {"[\"password\":\"hunter2Xy\"]", "[\"password\":\"" M("password") "\"]"},
        {"\"password\":\"hunter2Xy\"", "\"password\":\"" M("password") "\""},
        {":\"hunter2Xy\"", NULL},
        {"{\"a\":::,\"password\":\"hunter2Xy\":", "{\"a\":::,\"password\":\"" M("password") "\":"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        expect(*state, redact_value, rows[i].text, rows[i].want);
        expect(*state, secrets, rows[i].text, rows[i].want);
    }
}

static void test_redact_protocol_fields_are_kept_unchanged(void **state)
{
    static const char token[] = "glpat-aB3dE5fG7hJ9kL1mN3pQ";
    static const char *const rows[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"ping\"}",
        "{\"method\":\"x\",\"params\":{\"cursor\":\"%s\",\"_meta\":{\"progressToken\":\"%s\"}}}",
        "{\"id\":1,\"result\":{\"nextCursor\":\"%s\",\"requestState\":\"%s\",\"tools\":[]}}",
        "{\"id\":1,\"result\":{\"task\":{\"taskId\":\"%s\"}}}",
        "{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"%s\"}}",
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct buf text = {0};
        for (const char *p = rows[i]; *p != '\0'; p++) {
            if (strncmp(p, "%s", 2) == 0) {
                buf_adds(&text, token);
                p++;
            } else {
                buf_addc(&text, *p);
            }
        }
        expect(*state, standard, buf_str(&text), NULL);
        buf_close(&text);
    }
    /* elsewhere they are treated as secrets */
    expect(*state, secrets, "{\"id\":1,\"result\":{\"x\":{\"id\":\"glpat-aB3dE5fG7hJ9kL1mN3pQ\"}}}",
           "{\"id\":1,\"result\":{\"x\":{\"id\":\"" M("gitlab-token") "\"}}}");
}

#define TEN "0123456789"
#define FIFTY TEN TEN TEN TEN TEN

static void test_redact_only_content_of_arguments_is_truncated(void **state)
{
#define CALL(args)                                                                                 \
    "{\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"arguments\":{" args "}}}"
    static const struct {
        const char *text, *want;
    } rows[] = {
        {CALL("\"text\":\"" FIFTY "\""), NULL},
        {CALL("\"text\":\"" FIFTY "a\""), CALL("\"text\":\"" FIFTY "… [+1 chars]\"")},
        {CALL("\"query\":\"" FIFTY "a\""), NULL},
        {CALL("\"a\":[{\"body\":\"" FIFTY TEN "\"}]"),
         CALL("\"a\":[{\"body\":\"" FIFTY "… [+10 chars]\"}]")},
        {CALL("\"comment\":[\"" FIFTY "a\",\"b\"]"),
         CALL("\"comment\":[\"" FIFTY "… [+1 chars]\",\"b\"]")},
        /* counts characters, not bytes; splits no escape and no mark */
        {CALL("\"text\":\"ééééé" TEN TEN TEN TEN "é12345\""),
         CALL("\"text\":\"ééééé" TEN TEN TEN TEN "é1234… [+1 chars]\"")},
        {CALL("\"text\":\"" TEN TEN TEN TEN "012345678\\u00e9\\n\""),
         CALL("\"text\":\"" TEN TEN TEN TEN "012345678\\u00e9… [+1 chars]\"")},
        {CALL("\"text\":\"" TEN TEN TEN TEN "see glpat-aB3dE5fG7hJ9kL1mN3pQ and more\""),
         CALL("\"text\":\"" TEN TEN TEN TEN "see " M("gitlab-token") "… [+9 chars]\"")},
        /* the truncation exposes a secret */
        {CALL("\"text\":\"" TEN TEN "012345678 AKIAIOSFODNN7EXAMPL3ABCDEFGH\""),
         CALL("\"text\":\"" TEN TEN "012345678 " M("aws-access-key-id") "… [+8 chars]\"")},
        {"{\"method\":\"prompts/get\",\"params\":{\"arguments\":{\"text\":\"" FIFTY "a\"}}}", NULL},
        {"{\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"" FIFTY "a\"}]}}", NULL},
        {"{\"params\":{\"arguments\":{\"text\":\"" FIFTY "a\"}},\"method\":\"tools/call\"}",
         "{\"params\":{\"arguments\":{\"text\":\"" FIFTY
         "… [+1 chars]\"}},\"method\":\"tools/call\"}"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        expect(*state, standard, rows[i].text, rows[i].want);
        if (strstr(rows[i].text, "glpat") == NULL)
            expect(*state, secrets, rows[i].text, NULL);
    }
}

/* A call whose content is begin, part … part, middle, part … part, end; about `bytes` of it. */
static void long_call(struct buf *b, const char *begin, const char *part, const char *middle,
                      const char *end, size_t bytes)
{
    buf_clear(b);
    buf_adds(b, "{\"method\":\"tools/call\",\"params\":{\"arguments\":{\"text\":\"");
    buf_adds(b, begin);
    while (b->n < bytes / 2)
        buf_adds(b, part);
    buf_adds(b, middle);
    while (b->n < bytes)
        buf_adds(b, part);
    buf_adds(b, end);
    buf_adds(b, "\"}}}");
}

/* An escape for an ordinary letter makes the sanitizer search the whole string, which must not change the result. */
static void test_redact_long_content_truncated_by_its_head_gives_the_same_result(void **state)
{
    static const char *const begins[] = {
        "",
        TEN "",
        "key: -----BEGIN RSA PRIVATE KEY-----\\nMIIE",
        "glpat-aB3dE5fG7hJ9kL1mN3pQ and",
        TEN TEN TEN TEN "glpat-aB3dE5fG7hJ9kL1mN3pQ",
        TEN TEN "012345678 AKIAIOSFODNN7EXAMPL3ABCDEFGH",
        "{\\\"secrets\\\":{\\\"x\\\":\\\"" S1 "\\\"},\\\"a\\\":\\\"",
        "log {\\\"password\\\":\\\"" S1 "\\\",\\\"a\\\":\\\"",
        "{\\\"API Key\\\" : \\\"" S1 "\\\",\\\"a\\\":\\\"",
        "{\\\"user[password]\\\": \\\"" S1 "\\\",\\\"a\\\":\\\"",
        "{\\n  printf(\\\"hello\\\", name); [",
        "{\\\"password\\\":\\\"" S1 "\\\",\\\"a\\\":\\\"",
        "password=",
        "eyJhbGciOiJIUzI1NiJ9.eyJhbGciOiJIUzI1NiJ9.",
    };
    static const char *const parts[] = {"a", "é", "\\n", "\\\\", "Ab1", "€ \\\"", "words of it\\n"};
    static const char *const middles[] = {"", "-----END RSA PRIVATE KEY-----",
                                          " token=a1b2c3d4e5 "};
    struct buf b = {0}, one = {0}, all = {0};
    for (size_t i = 0; i < MI_COUNT(begins); i++)
        for (size_t k = 0; k < MI_COUNT(parts); k++)
            for (size_t m = 0; m < MI_COUNT(middles); m++)
                /* of what lies at the end of the head */
                for (size_t shift = (i + k + m) % unit_sample(4); shift < 4;
                     shift += unit_sample(4)) {
                    size_t n = 0, more = 0;
                    char begin[128];
                    size_t bytes = (m + shift) % 2 == 0 ? 4200 : 70000;
                    snprintf(begin, sizeof begin, "%s%s", begins[i], &"xyz"[3 - shift]);
                    long_call(&b, begin, parts[k], middles[m], "/\\\"}", bytes);
                    assert_int_equal(standard(*state, buf_slice(&b), &one, &n), 0);
                    assert_true(n > 0);
                    assert_int_equal(standard(*state, buf_slice(&one), &all, &more), 0);
                    assert_int_equal(more, 0);
                    long_call(&b, begin, parts[k], middles[m], "\\/\\\"}", bytes);
                    assert_int_equal(standard(*state, buf_slice(&b), &all, &n), 0);
                    char *slash = strstr((char *)(uintptr_t)buf_str(&all), "\\/");
                    if (slash != NULL) { /* of a text that all went, but for its end */
                        memmove(slash, slash + 1, strlen(slash));
                        all.n--;
                    }
                    assert_string_equal(buf_str(&one), buf_str(&all));
                }
    buf_close(&b);
    buf_close(&one);
    buf_close(&all);
}

/* Both are read in blocks if they have many escapes. */
static void test_redact_strings_with_many_escapes_are_read_like_others(void **state)
{
    (void)state;
    static const char letters[] = "aaa\\\\\\\"nnu/";
    struct unit_random random = {5};
    for (int i = 0; i < (unit_slow() ? 500 : 50000 / (int)unit_sample(3)); i++) {
        char text[400];
        size_t n = 1 + unit_random(&random, sizeof text - 1), end = 1, escapes = 0;
        size_t kinds = 4 + unit_random(&random, sizeof letters - 4);
        bool odd = false, want_odd = false;
        text[0] = '"';
        for (size_t k = 1; k < n; k++)
            text[k] = letters[unit_random(&random, kinds)];
        if (i % 2 == 0)
            for (size_t k = 1; k + 1 < n; k++) /* a longer string */
                text[k] = (char)(text[k] == '"' ? 'x' : text[k]);
        for (; end < n && text[end] != '"'; end++)
            if (text[end] == '\\') {
                escapes++;
                end++;
                want_odd |= end < n && (text[end] == 'u' || text[end] == '/');
            }
        end = end < n ? end + 1 : n;
        char *copy = unit_copy(text, n);
        assert_ptr_equal(read_string(copy, copy + n, &odd), copy + end);
        assert_int_equal(odd, want_odd);
        if (text[end - 1] == '"' || end == n) {
            struct slice raw = {copy + 1, end - 1 - (end < n)};
            assert_int_equal(read_escape_count(raw), escapes);
        }
        free(copy);
    }
}

static void test_redact_user_rules_are_applied(void **state)
{
    struct redact *r = *state;
    struct buf error = {0};
    assert_int_equal(redact_add_rule(r, "keys", "badge_no, room*, *_pin", &error), 0);
    assert_int_equal(redact_add_rule(r, "keep", "build_token", &error), 0);
    assert_int_equal(redact_add_rule(r, "content", "prompt", &error), 0);
    assert_int_equal(redact_add_rule(r, "pointer", "/arguments/q /result/rows/*/x", &error), 0);
    assert_int_equal(redact_add_rule(r, "pattern.ticket", "T-[0-9]{3}", &error), 0);
    expect(r, redact_value,
           "{\"badgeNo\":1,\"room_7\":\"a\",\"carPin\":\"b\",\"build_token\":\"c\"}",
           "{\"badgeNo\":\"" M("badgeno") "\",\"room_7\":\"" M("room") "\",\"carPin\":\"" M(
               "pin") "\",\"build_token\":\"c\"}");
    expect(r, standard, CALL("\"prompt\":\"" FIFTY "a\",\"q\":[1]"),
           CALL("\"prompt\":\"" FIFTY "… [+1 chars]\",\"q\":\"" M("pointer") "\""));
    expect(r, secrets, "{\"result\":{\"rows\":[{\"x\":1,\"y\":\"T-123\"},{\"x\":{}}]}}",
           "{\"result\":{\"rows\":[{\"x\":\"" M("pointer") "\",\"y\":\"" M(
               "ticket") "\"},{\"x\":\"" M("pointer") "\"}]}}");
    buf_close(&error);
}

static void test_redact_stored_rules_are_read_back(void **state)
{
    struct redact *r = *state, *again;
    struct buf error = {0}, stored = {0}, twice = {0};
    assert_int_equal(redact_add_rule(r, "keys", "badge_no", &error), 0);
    assert_int_equal(redact_add_rule(r, "pattern.ticket", "T-\"[0-9]{3}", &error), 0);
    redact_write_rules(r, &stored);
    assert_int_equal(redact_open_rules(&again, buf_slice(&stored), &error), 0);
    assert_int_equal(redact_add_rules(again, buf_slice(&stored), &error), 0);
    redact_write_rules(again, &twice);
    assert_string_equal(buf_str(&twice), buf_str(&stored));
    expect(again, redact_value, "{\"badge_no\":\"a\"}", "{\"badge_no\":\"" M("badgeno") "\"}");
    redact_close(again);
    assert_int_equal(redact_open_rules(&again, slice_of("[]"), &error), MI_EINVAL);
    buf_clear(&error);
    assert_int_equal(redact_open_rules(&again, slice_of("{\"rules\":[[\"kees\",\"a\"]]}"), &error),
                     MI_EINVAL);
    assert_int_equal(redact_open_rules(&again, slice_of("{\"rules\":[[\"keys\"]]}"), &error),
                     MI_EINVAL);
    buf_close(&error);
    buf_close(&stored);
    buf_close(&twice);
}

/* Feeds lines, and compares each result with `want`. */
static void test_redact_private_key_is_hidden_line_by_line(void **state)
{
    static const char body[] = "MIIEpAIBAAKCAQEA7bq2fUdJ3t9mX1cV5nZ8wQ4yR6uT0oP2sL7kH3gF1dA9jS5x";
    static const char key[] = M("private-key");
    static const struct {
        const char *line, *want; /* NULL: unchanged */
    } rows[] = {
        {"loading", NULL},
        {"-----BEGIN RSA PRIVATE KEY-----", NULL},
        {body, key},
        {"-----BEGIN RSA PRIVATE KEY-----", NULL}, /* the previous key has no end */
        {"Proc-Type: 4,ENCRYPTED", NULL},
        {"DEK-Info: AES-128-CBC,23AD9257684C8366E56B5506DB9EC7BD",
         "DEK-Info: AES-128-CBC," M("private-key")},
        {"", NULL},
        {body, key},
        {"abcd", key},
        {"-----END RSA PRIVATE KEY-----", NULL},
        {body, NULL},
        {"12:00 INFO -----BEGIN PRIVATE KEY-----", NULL},
        {"12:00 INFO MIIEpAIBAAKCAQEA7bq2fUdJ3t9mX1cV", "12:00 INFO " M("private-key")},
        {"loaded", NULL},
        {body, NULL},
        {"Private-Lines: 2", NULL},
        {body, key},
        {"-----END nothing", key},
    };
    struct redact_lines lines = {0};
    struct buf out = {0};
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        size_t n = 0;
        const char *want = rows[i].want != NULL ? rows[i].want : rows[i].line;
        assert_int_equal(redact_line(*state, &lines, slice_of(rows[i].line), &out, &n), 0);
        if (n == 0) {
            buf_clear(&out);
            buf_adds(&out, rows[i].line);
        }
        assert_string_equal(buf_str(&out), want);
    }
    buf_close(&out);
}

static void test_redact_head_of_a_text_splits_no_mark(void **state)
{
    (void)state;
    assert_int_equal(redact_get_len_of_first_chars(slice_of("abcdef"), 3), 3);
    assert_int_equal(redact_get_len_of_first_chars(slice_of("é€x"), 2), 5);
    assert_int_equal(redact_get_len_of_first_chars(slice_of("ab[redacted:token]cd"), 3), 18);
    assert_int_equal(redact_get_len_of_first_chars(slice_of("ab[redacted:token"), 3), 3);
    assert_int_equal(redact_get_len_of_first_chars(slice_of("ab"), 50), 2);
    assert_int_equal(redact_get_len_of_first_chars(slice_of(""), 50), 0);
}

static void test_redact_new_marks_are_counted_by_rule(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after, *want;
    } rows[] = {
        {"a b", M("x") " b", "x"},
        {M("x") " b c", M("x") M("x") " " M("y") M("y"), "x, y 2"},
        {M("x"), M("x"), ""},
        {M("x") M("x"), M("y"), "y"},
        {"[redacted:", "[redacted:z", ""},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct buf b = {0};
        scrub_write_rules(&b, slice_of(rows[i].before), slice_of(rows[i].after));
        assert_string_equal(buf_str(&b), rows[i].want);
        buf_close(&b);
    }
}

#define WORK_MAX                                                                                   \
    160 /* steps per byte in all rounds and levels: at an anchor of 4 bytes 300 bytes are examined */

/* The number of steps to sanitize this text, repeated so many times. */
static uint64_t work_of(struct redact *r, way_fn way, const char *begin, const char *part,
                        const char *end, size_t times)
{
    struct buf text = {0}, out = {0};
    size_t n;
    buf_adds(&text, begin);
    for (size_t i = 0; i < times; i++)
        buf_adds(&text, part);
    buf_adds(&text, end);
    uint64_t before = shapes_count_examined_bytes();
    assert_int_equal(way(r, buf_slice(&text), &out, &n), 0);
    uint64_t work = shapes_count_examined_bytes() - before;
    buf_close(&text);
    buf_close(&out);
    return work;
}

static void test_redact_work_is_linear_for_any_text(void **state)
{
    static const struct {
        way_fn way;
        const char *begin, *part, *end;
    } rows[] = {
        {redact_value, "[", "\"password=\",", "1]"},
        {redact_value, "{\"a\":\"", "{\\\"password\\\":", "\"}"},
        {redact_value, "{\"a\":\"", "\\\\\\\"", "\"}"},
        {redact_value, "{\"a\":\"", "eyJhbGciOiJIUzI1NiJ9.", "\"}"},
        {redact_value, "{\"a\":\"", "-----BEGIN RSA PRIVATE KEY-----", "\"}"},
        {redact_value, "{\"a\":\"", "[redacted:", "\"}"},
        {redact_value, "{\"a\":\"", "://a:b", "\"}"},
        {redact_value, "{", "\"value\":\"password=a1b2c3d4\",", "\"name\":\"password\"}"},
        {redact_text, "", "{\"password\":", ""},
        {redact_text, "", "password=a1b2c3d4e5 ", ""},
        {redact_text, "", "Authorization: ", ""},
        {redact_text, "", "curl -u ", ""},
        {redact_text, "", "ghp_", ""},
        {redact_text, "", "sk-or-1_", ""},
        {redact_text, "", "Authorization:", ""},
        {redact_text, "", "token=", ""},
        {secrets, "{\"params\":{\"arguments\":", "{\"a\":", "1"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        uint64_t one = work_of(*state, rows[i].way, rows[i].begin, rows[i].part, rows[i].end, 2000);
        uint64_t four =
            work_of(*state, rows[i].way, rows[i].begin, rows[i].part, rows[i].end, 8000);
        if (four > 5 * one + 4096)
            fail_msg("'%s': %llu becomes %llu", rows[i].part, (unsigned long long)one,
                     (unsigned long long)four);
        if (four > 8000 * strlen(rows[i].part) * WORK_MAX)
            fail_msg("'%s': %llu for each byte", rows[i].part,
                     (unsigned long long)four / (8000 * strlen(rows[i].part)));
    }
}

/* Escapes for letters, and surrogate pairs, are counted as characters. */
static void test_redact_long_content_of_escaped_letters_is_counted(void **state)
{
    static const char *const parts[] = {"\\u00e9", "\\ud83d\\ude00"};
    struct buf b = {0}, out = {0}, want = {0};
    for (size_t k = 0; k < MI_COUNT(parts); k++) {
        size_t n, part = strlen(parts[k]);
        long_call(&b, "", parts[k], "", "", 90000);
        size_t chars =
            (b.n -
             strlen("{\"method\":\"tools/call\",\"params\":{\"arguments\":{\"text\":\"\"}}}")) /
            part;
        buf_clear(&want);
        for (size_t i = 0; i < REDACT_CONTENT_HEAD; i++)
            buf_adds(&want, parts[k]);
        buf_printf(&want, "… [+%zu chars]\"}}}", chars - REDACT_CONTENT_HEAD);
        assert_int_equal(standard(*state, buf_slice(&b), &out, &n), 0);
        assert_non_null(strstr(buf_str(&out), buf_str(&want)));
    }
    buf_close(&b);
    buf_close(&out);
    buf_close(&want);
}

/* Text far beyond the truncation is not searched. */
static void test_redact_long_content_costs_no_more_than_its_head(void **state)
{
    struct buf b = {0}, out = {0};
    uint64_t work[2];
    for (int i = 0; i < 2; i++) {
        size_t n;
        uint64_t before = shapes_count_examined_bytes();
        long_call(&b, "words", "ghp_ token=", "", "", (size_t)1 << (17 + 3 * i));
        assert_int_equal(standard(*state, buf_slice(&b), &out, &n), 0);
        work[i] = shapes_count_examined_bytes() - before;
    }
    assert_true(work[0] > 0 && work[1] == work[0]);
    buf_close(&b);
    buf_close(&out);
}

/* Most keys of messages are told from names of secrets by their last letters and their length. */
static void test_redact_shorter_name_than_any_rule_with_its_end_is_no_secret(void **state)
{
    (void)state;
    static const char *const shorter[] = {"text", "content", "data", "value", "code", "key", "id"};
    struct keys k;
    keys_open(&k);
    for (const struct key_rule *r = key_secrets; r->end != NULL; r++)
        assert_true(key_name_may_match_rule(&k, r->end, r->end + strlen(r->end)));
    for (size_t i = 0; i < MI_COUNT(shorter); i++)
        if (key_name_may_match_rule(&k, shorter[i], shorter[i] + strlen(shorter[i])))
            fail_msg("%s", shorter[i]);
    assert_int_equal(keys_add_user_rule(&k, KEYS_SECRET, slice_of("text")), 0);
    assert_true(key_name_may_match_rule(&k, shorter[0], shorter[0] + 4));
    assert_false(key_name_may_match_rule(&k, shorter[0] + 1, shorter[0] + 4));
    keys_close(&k);
}

static void test_redact_every_key_is_in_the_document(void **state)
{
    (void)state;
    static char text[64 << 10];
    const struct key_rule *const lists[] = {key_secrets, key_asked, key_kept, key_contents,
                                            key_plain_headers};
    FILE *f = fopen(DOC, "r");
    if (f == NULL)
        fail_msg("cannot open %s; run this test in the top folder", DOC);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    assert_true(feof(f));
    assert_int_equal(fclose(f), 0);
    for (size_t i = 0; i < MI_COUNT(lists); i++)
        for (const struct key_rule *k = lists[i]; k->end != NULL; k++) {
            struct buf want = {0};
            buf_printf(&want, "`%s`", k->end);
            if (strstr(text, buf_str(&want)) == NULL)
                fail_msg("%s does not name %s", DOC, k->end);
            buf_close(&want);
        }
}

/* ---- the quick test (redact/quick_accept.c) against the walk ---------------------------------------- */

#define DOCUMENTS 50000

static uint64_t state_of_random = 88172645463325252u;

static unsigned any(unsigned n)
{
    state_of_random ^= state_of_random << 13;
    state_of_random ^= state_of_random >> 7;
    state_of_random ^= state_of_random << 17;
    return (unsigned)(state_of_random >> 33) % n;
}

/* `frob` is a name of the user: only the walk finds its secrets, not the search for shapes. */
static const char *const some_keys[] = {
    "name",    "value", "headers",    "httpHeaders",   "data",      "blob",    "mimeType",
    "api key", "frob",  "fr\\u006fb", "f rob",         "fr\\/ob",   "db_frob", "password",
    "params",  "text",  "query",      "progressToken", "arguments",
};
static const char *const some_strings[] = {
    "frob",
    "--frob",
    "-frob",
    "--header",
    " [\\\"-H\\\",\\\"x: y\\\"]",
    "FROB=abc",
    "frob: abc",
    "a=b",
    "xyz",
    "text/plain",
    "glpat-aB3dE5fG7hJ9kL1mN3pQ",
    "https://bob:secret1@example.org/x",
    "https://example.org/?a=b",
    "{\\\"frob\\\":\\\"xyz\\\"}",
    " [\\\"--frob\\\",\\\"xyz\\\"]",
    "it is \\\"so\\\"",
    "end\\\\",
    "fr\\u006fb",
    "a\\/b",
    "eyJmcm9iIjoieHl6MSJ9",
    "",
    "line\\nline",
    "a text that is longer than fifty characters, so that it is truncated in arguments",
};

/* What a document may contain besides harmless keys and strings: few things, because one is enough to need the walk. */
struct theme {
    const char *key[3], *string[3];
};

static struct theme any_theme(void)
{
    struct theme t;
    for (size_t i = 0; i < 3; i++) {
        t.key[i] = some_keys[any(MI_COUNT(some_keys))];
        t.string[i] = some_strings[any(MI_COUNT(some_strings))];
    }
    return t;
}

static void add_string(struct buf *b, const char *s)
{
    buf_addc(b, '"');
    buf_adds(b, s);
    buf_addc(b, '"');
}

static void add_value(struct buf *b, const struct theme *t, int depth)
{
    unsigned what = any(depth > 3 ? 6 : 12), n = any(4);
    if (what < 5 && depth > 0) {
        add_string(b, any(2) == 0 ? t->string[any(3)] : "some words");
    } else if (what == 5 && depth > 0) {
        buf_adds(b, any(2) == 0 ? "12" : "null");
    } else {
        bool object = what < 9;
        buf_addc(b, object ? '{' : '[');
        for (unsigned i = 0; i < n; i++) {
            if (i > 0)
                buf_adds(b, any(20) == 0 ? " , " : ",");
            if (object) {
                add_string(b, any(2) == 0 ? t->key[any(3)] : "item");
                buf_adds(b, any(20) == 0 ? " : " : ":");
            }
            add_value(b, t, depth + 1);
        }
        buf_addc(b, object ? '}' : ']');
    }
}

/* Cuts or damages some of the documents. */
static struct slice damaged(struct buf *b)
{
    if (any(16) == 0)
        b->n = any((unsigned)b->n) + 1;
    if (any(16) == 0)
        b->p[any((unsigned)b->n)] = "\",:{}[]\\ x"[any(10)];
    return buf_slice(b);
}

/* Pairs that random documents seldom contain. */
static const char *const pairs[] = {
    "{\"item\":{\"name\":\"frob\",\"value\":\"xyz\"}}",
    "{\"item\":{\"val\":\"xyz\",\"key\":\"frob\"}}",
    "{\"item\":{\"mimeType\":\"text/plain\",\"blob\":\"eyJmcm9iIjoieHl6MSJ9\"}}",
    "{\"item\":{\"data\":\"eyJmcm9iIjoieHl6MSJ9\",\"mimeType\":\"text/plain\"}}",
    "{\"item\":{\"name\":\"fr\\u006fb\",\"value\":\"xyz\"}}",
    "{\"item\" \"frob\" \"xyz\"}",
};

/* Returns whether the quick test passes. */
static bool compare_with_walk(struct redact *r, struct slice in, enum redact_how how)
{
    struct buf quick = {0}, slow = {0};
    size_t n = 0, slow_n = 0;
    r->thorough = true;
    assert_int_equal(redact_message(r, in, how, &slow, &slow_n), 0);
    r->thorough = false;
    assert_int_equal(redact_message(r, in, how, &quick, &n), 0);
    if (n != slow_n || !slice_eq(buf_slice(&quick), buf_slice(&slow)))
        fail_msg("%.*s: %.*s, not %.*s", (int)in.n, in.p, (int)quick.n, quick.p, (int)slow.n,
                 slow.p);
    buf_close(&quick);
    buf_close(&slow);
    r->in = in;
    r->place = r->searched = 0;
    return json_needs_no_redaction(r, in);
}

/* The document as a string, among other text in some of them. */
static void put_into_text(struct buf *b, struct slice doc)
{
    buf_adds(b, "{\"text\":\"");
    buf_adds(b, any(2) == 0 ? "log: " : "");
    for (size_t i = 0; i < doc.n; i++) {
        if (doc.p[i] == '"' || doc.p[i] == '\\')
            buf_addc(b, '\\');
        buf_addc(b, doc.p[i]);
    }
    buf_adds(b, any(2) == 0 ? " \\n\"}" : "\"}");
}

static void test_redact_quick_test_changes_no_result(void **state)
{
    struct buf doc = {0}, text = {0}, error = {0};
    struct redact *r;
    int nothing = 0;
    (void)state;
    assert_int_equal(redact_open(&r, &error), 0);
    assert_int_equal(redact_add_rule(r, "keys", "frob", &error), 0);
    for (size_t i = 0; i < MI_COUNT(pairs); i++)
        assert_false(compare_with_walk(r, slice_of(pairs[i]), REDACT_CONTENT));
    for (int i = 0; i < DOCUMENTS; i++) {
        struct theme theme = any_theme();
        buf_clear(&doc);
        if (any(3) == 0)
            buf_adds(&doc, "{\"method\":\"tools/call\",\"params\":{\"arguments\":");
        add_value(&doc, &theme, 0);
        struct slice in = damaged(&doc);
        nothing += compare_with_walk(r, in, any(2) == 0 ? REDACT_CONTENT : REDACT_SECRETS);
        buf_clear(&text);
        put_into_text(&text, in);
        compare_with_walk(r, buf_slice(&text), REDACT_SECRETS);
    }
    assert_true(nothing > DOCUMENTS / 20);
    redact_close(r);
    buf_close(&doc);
    buf_close(&text);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, open_rules, close_rules)
    const struct CMUnitTest tests[] = {
        EACH(test_redact_value_of_a_secret_key_is_replaced_completely),
        EACH(test_redact_base64_of_text_is_searched_as_text),
        EACH(test_redact_json_in_the_middle_of_a_text_is_read_as_json),
        EACH(test_redact_lookalikes_are_kept),
        EACH(test_redact_looks_inside_a_request_for_input),
        EACH(test_redact_headers_in_options_are_secrets_whatever_their_name),
        EACH(test_redact_protocol_fields_are_kept_unchanged),
        EACH(test_redact_value_in_front_of_a_colon_is_a_name),
        EACH(test_redact_only_content_of_arguments_is_truncated),
        EACH(test_redact_long_content_truncated_by_its_head_gives_the_same_result),
        EACH(test_redact_long_content_of_escaped_letters_is_counted),
        EACH(test_redact_long_content_costs_no_more_than_its_head),
        cmocka_unit_test(test_redact_shorter_name_than_any_rule_with_its_end_is_no_secret),
        EACH(test_redact_strings_with_many_escapes_are_read_like_others),
        EACH(test_redact_user_rules_are_applied),
        EACH(test_redact_stored_rules_are_read_back),
        EACH(test_redact_private_key_is_hidden_line_by_line),
        EACH(test_redact_head_of_a_text_splits_no_mark),
        EACH(test_redact_new_marks_are_counted_by_rule),
        EACH(test_redact_quick_test_changes_no_result),
        EACH(test_redact_work_is_linear_for_any_text),
        EACH(test_redact_every_key_is_in_the_document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
