/* The sanitizer and depth: a secret is found at each level, and what is too deep to be read is replaced. */
#include "redact/sanitizer.h"
#include "redact/walk.h"

#include "tests/support/unit.h"
#include "wire/json/scan.h"
#include "wire/json/text.h"

#define SECRET "hunter2-Zq81"
#define TOKEN                                                                                      \
    "ghp_"                                                                                         \
    "16C7e42F292c6912E7710c838347Ae178B4a"

static int open_rules(void **state)
{
    struct buf error = {0};
    return redact_open((struct redact **)state, &error);
}

static int close_rules(void **state)
{
    redact_close(*state);
    return 0;
}

enum nest { NEST_ARRAYS, NEST_OBJECTS, NEST_BOTH, NEST_COUNT };

static bool is_array(enum nest nest, size_t level)
{
    return nest == NEST_ARRAYS || (nest == NEST_BOTH && level % 3 != 0);
}

/* `inside` within that many levels; `behind` follows it after its last bracket. */
static void nest(struct buf *b, enum nest how, size_t levels, const char *inside, bool ends)
{
    for (size_t i = 0; i < levels; i++)
        buf_adds(b, is_array(how, i) ? "[1," : "{\"k\":");
    buf_adds(b, inside);
    for (size_t i = levels; ends && i-- > 0;)
        buf_adds(b, is_array(how, i) ? "]" : ",\"l\":null}");
}

static bool has(const struct buf *b, const char *what)
{
    return memmem(b->p, b->n, what, strlen(what)) != NULL;
}

static size_t sanitize(struct redact *r, int way, struct slice in, struct buf *out)
{
    size_t n = 0;
    int st = way == 0   ? redact_message(r, in, REDACT_SECRETS, out, &n)
             : way == 1 ? redact_message(r, in, REDACT_CONTENT, out, &n)
                        : redact_text(r, in, out, &n);
    assert_int_equal(st, 0);
    return n;
}

/* Sanitizes `in` as a message and as text, in both ways: no secret is left, valid JSON stays valid, and a second run
 * changes nothing. */
static void expect_clean(struct redact *r, struct slice in, const char *rule)
{
    struct json_scan scan;
    bool json = json_scan(in, NULL, NULL, &scan) == 0;
    for (int way = 0; way < 3; way++) {
        struct buf out = {0}, again = {0};
        size_t n = sanitize(r, way, in, &out);
        if (n == 0)
            buf_slice_add(&out, in);
        if (has(&out, SECRET) || has(&out, TOKEN) || (rule != NULL && !has(&out, rule)))
            fail_msg("way %d of %zu bytes: %.120s", way, in.n, in.p);
        if (json)
            assert_int_equal(json_scan(buf_slice(&out), NULL, NULL, &scan), 0);
        assert_int_equal(sanitize(r, way, buf_slice(&out), &again), 0);
        buf_close(&out);
        buf_close(&again);
    }
}

static const char *const secrets[] = {
    "{\"password\":\"" SECRET "\"}",
    "{\"password\":[\"" SECRET "\"]}",
    "{\"pass\\u0077ord\":\"" SECRET "\"}",
    "{\"name\":\"API_KEY\",\"value\":\"" SECRET "\"}",
    "{\"value\":{\"x\":\"" SECRET "\"},\"name\":\"API_KEY\"}",
    "[\"--password\",\"" SECRET "\"]",
    "\"a token: " TOKEN "\"",
    "{\"" TOKEN "\":1}",
    "\"{\\\"password\\\":\\\"" SECRET "\\\"}\"",
    "\"log: {\\\"a\\\":[{\\\"password\\\":\\\"" SECRET "\\\"}]}\"",
    "\"{\\\"a\\\":\\\"[{\\\\\\\"password\\\\\\\":\\\\\\\"" SECRET "\\\\\\\"}]\\\"}\"",
};

/* Steps that differ in each bit, and those where memory for more levels is taken. */
static size_t next_level(size_t level)
{
    static const size_t edges[] = {30, 126, 510, 2046, 8190, 9990};
    for (size_t i = 0; i < MI_COUNT(edges); i++)
        if (level >= edges[i] && level < edges[i] + 8)
            return level + 1;
    return level + 1 + level / 3;
}

static void test_redact_secret_at_each_level_is_replaced(void **state)
{
    for (size_t i = 0; i < MI_COUNT(secrets); i++)
        for (size_t level = 0; level < JSON_MAX_DEPTH - 2; level = next_level(level)) {
            struct buf b = {0};
            nest(&b, (enum nest)(level % NEST_COUNT), level, secrets[i], true);
            expect_clean(*state, buf_slice(&b), NULL);
            buf_close(&b);
        }
}

static void test_redact_secret_in_a_message_is_replaced_to_the_deepest_level(void **state)
{
    for (size_t i = 0; i < MI_COUNT(secrets); i++)
        for (size_t level = JSON_MAX_DEPTH - 3 + i % unit_sample(2); level < JSON_MAX_DEPTH + 3;
             level += unit_sample(2)) {
            struct buf b = {0};
            buf_adds(&b, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":"
                         "{\"name\":\"t\",\"arguments\":{\"a\":");
            nest(&b, (enum nest)(level % NEST_COUNT), level - 3, secrets[i], true);
            buf_adds(&b, "}}}");
            expect_clean(*state, buf_slice(&b), NULL);
            buf_close(&b);
        }
}

/* A secret before or behind the deep part, and between two. */
static void test_redact_secret_beside_a_deep_value_is_replaced(void **state)
{
    static const size_t levels[] = {31, 600, 9000, 9998, 12000};
    for (size_t k = 0; k < MI_COUNT(levels); k++)
        for (size_t i = 0; i < MI_COUNT(secrets); i++) {
            struct buf b = {0};
            buf_printf(&b, "[%s,", secrets[i]);
            nest(&b, NEST_BOTH, levels[k], "1", true);
            buf_adds(&b, ",1]");
            expect_clean(*state, buf_slice(&b), NULL);
            buf_clear(&b);
            buf_adds(&b, "[");
            nest(&b, NEST_BOTH, levels[k], "1", true);
            buf_printf(&b, ",%s]", secrets[i]);
            expect_clean(*state, buf_slice(&b), NULL);
            buf_close(&b);
        }
}

/* Such a line is not forwarded, and recorded as noise. */
static void test_redact_value_below_the_deepest_level_is_replaced(void **state)
{
    for (int ends = 0; ends < 2; ends++)
        for (size_t level = JSON_MAX_DEPTH + 2; level < 60000; level *= 2) {
            struct buf b = {0};
            struct json_scan scan;
            nest(&b, NEST_BOTH, level, "{\"x\":\"" SECRET "\",\"password\":\"" SECRET "\"}", ends);
            assert_int_equal(json_scan(buf_slice(&b), NULL, NULL, &scan), MI_EPROTO);
            assert_int_equal(scan.fault.kind, JSON_DEEP);
            expect_clean(*state, buf_slice(&b), "[redacted:too-deep]");
            buf_close(&b);
        }
}

static void test_redact_deep_json_in_text_is_replaced(void **state)
{
    static const size_t levels[] = {600, 9998, 12000, 30000};
    for (size_t k = 0; k < MI_COUNT(levels); k++) {
        struct buf b = {0};
        buf_adds(&b, "error: ");
        nest(&b, NEST_OBJECTS, levels[k], "{\"password\":\"" SECRET "\"}", true);
        buf_adds(&b, " failed");
        expect_clean(*state, buf_slice(&b), levels[k] > 10000 ? "[redacted:too-deep]" : NULL);
        buf_close(&b);
    }
}

/* Puts the text into a string, which doubles its backslashes. */
static void quote(struct buf *b)
{
    struct buf out = {0};
    buf_addc(&out, '"');
    for (size_t i = 0; i < b->n; i++) {
        if (b->p[i] == '"' || b->p[i] == '\\')
            buf_addc(&out, '\\');
        buf_addc(&out, b->p[i]);
    }
    buf_addc(&out, '"');
    buf_close(b);
    *b = out;
}

/* JSON in a string of JSON, and so on, each within some levels. */
static void test_redact_secret_in_strings_in_strings_is_replaced(void **state)
{
    static const size_t levels[] = {1, 40, 600};
    for (size_t k = 0; k < MI_COUNT(levels); k++)
        for (size_t i = 0; i < MI_COUNT(secrets); i++) {
            struct buf b = {0};
            nest(&b, NEST_BOTH, levels[k], secrets[i], true);
            for (int strings = 1; strings < (k == 0 ? 12 : 4); strings++) {
                struct buf more = {0};
                quote(&b);
                nest(&more, (enum nest)(strings % NEST_COUNT), levels[k], buf_str(&b), true);
                buf_close(&b);
                b = more;
                expect_clean(*state, buf_slice(&b), NULL);
            }
            buf_close(&b);
        }
}

static void test_redact_nothing_deep_is_replaced_without_a_secret(void **state)
{
    for (enum nest how = 0; how < NEST_COUNT; how++) {
        struct buf b = {0}, out = {0};
        size_t n = 1;
        nest(&b, how, JSON_MAX_DEPTH, "\"x\"", true);
        assert_int_equal(redact_message(*state, buf_slice(&b), REDACT_CONTENT, &out, &n), 0);
        assert_int_equal(n, 0);
        buf_close(&b);
        buf_close(&out);
    }
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, open_rules, close_rules)
    const struct CMUnitTest tests[] = {
        T(test_redact_secret_at_each_level_is_replaced),
        T(test_redact_secret_in_a_message_is_replaced_to_the_deepest_level),
        T(test_redact_secret_beside_a_deep_value_is_replaced),
        T(test_redact_value_below_the_deepest_level_is_replaced),
        T(test_redact_deep_json_in_text_is_replaced),
        T(test_redact_secret_in_strings_in_strings_is_replaced),
        T(test_redact_nothing_deep_is_replaced_without_a_secret),
    };
#undef T
    return cmocka_run_group_tests(tests, NULL, NULL);
}
