/* The sanitizer: what goes, what stays, what is cut; twice is once; work grows with the text and no faster. */
#include "vault/redact.h"

#include "base/text.h"
#include "tests/unit/unit.h"
#include "vault/redact_key.h"
#include "vault/scrub.h"
#include "vault/shape.h"
#include "wire/json.h"

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

/* The text lies at the end of its block: nothing behind it is read. want NULL: it stays. */
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

static void test_redact_value_of_a_secret_key_goes_whole(void **state)
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

static void test_redact_what_only_looks_like_a_secret_stays(void **state)
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

static void test_redact_fields_of_the_protocol_stay_whatever_they_hold(void **state)
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
    /* elsewhere they are what they look like */
    expect(*state, secrets, "{\"id\":1,\"result\":{\"x\":{\"id\":\"glpat-aB3dE5fG7hJ9kL1mN3pQ\"}}}",
           "{\"id\":1,\"result\":{\"x\":{\"id\":\"" M("gitlab-token") "\"}}}");
}

#define TEN "0123456789"
#define FIFTY TEN TEN TEN TEN TEN

static void test_redact_content_of_arguments_is_cut_and_nothing_else(void **state)
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
        /* characters, not bytes; no half of an escape, and no half of a mark */
        {CALL("\"text\":\"ééééé" TEN TEN TEN TEN "é12345\""),
         CALL("\"text\":\"ééééé" TEN TEN TEN TEN "é1234… [+1 chars]\"")},
        {CALL("\"text\":\"" TEN TEN TEN TEN "012345678\\u00e9\\n\""),
         CALL("\"text\":\"" TEN TEN TEN TEN "012345678\\u00e9… [+1 chars]\"")},
        {CALL("\"text\":\"" TEN TEN TEN TEN "see glpat-aB3dE5fG7hJ9kL1mN3pQ and more\""),
         CALL("\"text\":\"" TEN TEN TEN TEN "see " M("gitlab-token") "… [+9 chars]\"")},
        /* the cut lays bare what was none before */
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

/* An escape that stands for a letter makes the sanitizer look at all of it, which must not change the result. */
static void test_redact_long_content_is_cut_by_its_head_as_by_all_of_it(void **state)
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
                for (size_t shift = 0; shift < 4;
                     shift++) { /* of what lies at the end of the head */
                    size_t n = 0, more = 0;
                    char begin[128];
                    snprintf(begin, sizeof begin, "%s%s", begins[i], &"xyz"[3 - shift]);
                    long_call(&b, begin, parts[k], middles[m], "/\\\"}", 70000);
                    assert_int_equal(standard(*state, buf_slice(&b), &one, &n), 0);
                    assert_true(n > 0);
                    assert_int_equal(standard(*state, buf_slice(&one), &all, &more), 0);
                    assert_int_equal(more, 0);
                    long_call(&b, begin, parts[k], middles[m], "\\/\\\"}", 70000);
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

static void test_redact_rules_of_the_user_hold(void **state)
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

static void test_redact_rules_are_told_of_and_read_again(void **state)
{
    struct redact *r = *state, *again;
    struct buf error = {0}, told = {0}, twice = {0};
    assert_int_equal(redact_add_rule(r, "keys", "badge_no", &error), 0);
    assert_int_equal(redact_add_rule(r, "pattern.ticket", "T-\"[0-9]{3}", &error), 0);
    redact_rules(r, &told);
    assert_int_equal(redact_open_rules(&again, buf_slice(&told), &error), 0);
    assert_int_equal(redact_add_rules(again, buf_slice(&told), &error), 0);
    redact_rules(again, &twice);
    assert_string_equal(buf_str(&twice), buf_str(&told));
    expect(again, redact_value, "{\"badge_no\":\"a\"}", "{\"badge_no\":\"" M("badgeno") "\"}");
    redact_close(again);
    assert_int_equal(redact_open_rules(&again, slice_of("[]"), &error), MI_EINVAL);
    buf_clear(&error);
    assert_int_equal(redact_open_rules(&again, slice_of("{\"rules\":[[\"kees\",\"a\"]]}"), &error),
                     MI_EINVAL);
    assert_int_equal(redact_open_rules(&again, slice_of("{\"rules\":[[\"keys\"]]}"), &error),
                     MI_EINVAL);
    buf_close(&error);
    buf_close(&told);
    buf_close(&twice);
}

/* Feeds lines; each is expected to become its partner. */
static void test_redact_private_key_is_hidden_line_by_line(void **state)
{
    static const char body[] = "MIIEpAIBAAKCAQEA7bq2fUdJ3t9mX1cV5nZ8wQ4yR6uT0oP2sL7kH3gF1dA9jS5x";
    static const char key[] = M("private-key");
    static const struct {
        const char *line, *want; /* NULL: it stays */
    } rows[] = {
        {"loading", NULL},
        {"-----BEGIN RSA PRIVATE KEY-----", NULL},
        {body, key},
        {"-----BEGIN RSA PRIVATE KEY-----", NULL}, /* the one before has no end */
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

static void test_redact_head_of_a_text_has_whole_marks(void **state)
{
    (void)state;
    assert_int_equal(redact_head(slice_of("abcdef"), 3), 3);
    assert_int_equal(redact_head(slice_of("é€x"), 2), 5);
    assert_int_equal(redact_head(slice_of("ab[redacted:token]cd"), 3), 18);
    assert_int_equal(redact_head(slice_of("ab[redacted:token"), 3), 3);
    assert_int_equal(redact_head(slice_of("ab"), 50), 2);
    assert_int_equal(redact_head(slice_of(""), 50), 0);
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
        scrub_rules(&b, slice_of(rows[i].before), slice_of(rows[i].after));
        assert_string_equal(buf_str(&b), rows[i].want);
        buf_close(&b);
    }
}

#define WORK_MAX                                                                                   \
    160 /* looks at a byte, all rounds and levels together: 300 letters are judged at an anchor of four */

/* What rules have looked at while this text, so many times over, was sanitized. */
static uint64_t work_of(struct redact *r, way_fn way, const char *begin, const char *part,
                        const char *end, size_t times)
{
    struct buf text = {0}, out = {0};
    size_t n;
    buf_adds(&text, begin);
    for (size_t i = 0; i < times; i++)
        buf_adds(&text, part);
    buf_adds(&text, end);
    uint64_t before = shapes_work();
    assert_int_equal(way(r, buf_slice(&text), &out, &n), 0);
    uint64_t work = shapes_work() - before;
    buf_close(&text);
    buf_close(&out);
    return work;
}

static void test_redact_no_text_makes_the_work_grow_faster_than_itself(void **state)
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

/* Escapes that stand for letters, two of them for one character: counted as what they are. */
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
        for (size_t i = 0; i < REDACT_CUT; i++)
            buf_adds(&want, parts[k]);
        buf_printf(&want, "… [+%zu chars]\"}}}", chars - REDACT_CUT);
        assert_int_equal(standard(*state, buf_slice(&b), &out, &n), 0);
        assert_non_null(strstr(buf_str(&out), buf_str(&want)));
    }
    buf_close(&b);
    buf_close(&out);
    buf_close(&want);
}

/* What is far behind the cut is not searched. */
static void test_redact_long_content_costs_no_more_than_its_head(void **state)
{
    struct buf b = {0}, out = {0};
    uint64_t work[2];
    for (int i = 0; i < 2; i++) {
        size_t n;
        uint64_t before = shapes_work();
        long_call(&b, "words", "ghp_ token=", "", "", (size_t)1 << (17 + 3 * i));
        assert_int_equal(standard(*state, buf_slice(&b), &out, &n), 0);
        work[i] = shapes_work() - before;
    }
    assert_true(work[0] > 0 && work[1] == work[0]);
    buf_close(&b);
    buf_close(&out);
}

static void test_redact_every_key_has_its_place_in_the_manual(void **state)
{
    (void)state;
    static char text[64 << 10];
    const struct key_rule *const lists[] = {key_secrets, key_kept, key_contents};
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

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, open_rules, close_rules)
    const struct CMUnitTest tests[] = {
        EACH(test_redact_value_of_a_secret_key_goes_whole),
        EACH(test_redact_what_only_looks_like_a_secret_stays),
        EACH(test_redact_fields_of_the_protocol_stay_whatever_they_hold),
        EACH(test_redact_content_of_arguments_is_cut_and_nothing_else),
        EACH(test_redact_long_content_is_cut_by_its_head_as_by_all_of_it),
        EACH(test_redact_long_content_of_escaped_letters_is_counted),
        EACH(test_redact_long_content_costs_no_more_than_its_head),
        EACH(test_redact_rules_of_the_user_hold),
        EACH(test_redact_rules_are_told_of_and_read_again),
        EACH(test_redact_private_key_is_hidden_line_by_line),
        EACH(test_redact_head_of_a_text_has_whole_marks),
        EACH(test_redact_new_marks_are_counted_by_rule),
        EACH(test_redact_no_text_makes_the_work_grow_faster_than_itself),
        EACH(test_redact_every_key_has_its_place_in_the_manual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
