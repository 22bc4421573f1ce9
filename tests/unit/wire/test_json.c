/* json_scan() against its header, against a slow reference and against itself without SSE2. */
#include "wire/json/scan.h"

/* A second copy of the scanner, compiled without SSE2, under names of its own. */
int plain_json_scan(struct slice text, json_member_fn on_member, void *ctx, struct json_scan *ret);
enum json_type plain_json_type_at(char first);
const char *plain_json_fault_text(enum json_fault_kind kind);
#define MI_NO_SIMD
#define json_scan(...) plain_json_scan(__VA_ARGS__) /* not `struct json_scan` */
#define json_type_at plain_json_type_at
#define json_fault_text plain_json_fault_text
#include "wire/json/scan.c"
#undef json_scan
#undef json_type_at
#undef json_fault_text

#include "tests/support/json_reference.h"
#include "tests/support/unit.h"

static int scan(const char *text, size_t n, struct json_scan *ret)
{
    return json_scan((struct slice){text, n}, NULL, NULL, ret);
}

/* Prints the text with unprintable bytes as \xHH, so that a failure can be reproduced. */
static void show(const char *text, size_t n)
{
    for (size_t i = 0; i < n && i < 400; i++) {
        unsigned char c = (unsigned char)text[i];
        fprintf(stderr, c < 0x20 || c >= 0x7F ? "\\x%02x" : "%c", c);
    }
    fprintf(stderr, "\n");
}

/* Both builds decide the text as the reference does. The copy ends where its memory ends: a read
 * past it is seen by the sanitizers and by valgrind. */
static void decides_like_reference(const char *text, size_t n)
{
    char *copy = unit_copy(text, n);
    struct ref_json r;
    ref_open(&r, copy, n);
    const char *differs = ref_compare(&r, json_scan);
    const char *differs_plain = ref_compare(&r, plain_json_scan);
    if (differs != NULL || differs_plain != NULL) {
        show(copy, n);
        fail_msg("%s differs; the reference says %d at %zu",
                 differs != NULL ? differs : differs_plain, (int)r.fault, r.at);
    }
    ref_close(&r);
    free(copy);
}

static void test_json_every_grammar_rule_is_accepted(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum json_type type;
    } rows[] = {
        /* literals */
        {"null", JSON_NULL},
        {"true", JSON_TRUE},
        {"false", JSON_FALSE},
        /* numbers: int, frac, exp, each with and without */
        {"0", JSON_NUMBER},
        {"-0", JSON_NUMBER},
        {"7", JSON_NUMBER},
        {"1234567890", JSON_NUMBER},
        {"-9", JSON_NUMBER},
        {"0.0", JSON_NUMBER},
        {"-0.5", JSON_NUMBER},
        {"10.01", JSON_NUMBER},
        {"0e0", JSON_NUMBER},
        {"1e5", JSON_NUMBER},
        {"1E5", JSON_NUMBER},
        {"1e+05", JSON_NUMBER},
        {"1e-5", JSON_NUMBER},
        {"-1.5E-00", JSON_NUMBER},
        {"123123123123123123123123123123", JSON_NUMBER},
        {"1e999999999", JSON_NUMBER},
        /* strings */
        {"\"\"", JSON_STRING},
        {"\"a\"", JSON_STRING},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", JSON_STRING},
        {"\"\\u0000\\uABCD\\uabcd\\u19fF\"", JSON_STRING},
        {"\"\\ud83d\\ude00\"", JSON_STRING},
        {"\"\\ud800\"", JSON_STRING}, /* lone surrogates are legal JSON */
        {"\"\\udc00\\ud800\"", JSON_STRING},
        {"\"\x7f\"", JSON_STRING}, /* DEL is not a control character in JSON */
        {"\" '{}[]:,/\"", JSON_STRING},
        {"\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"", JSON_STRING},
        {"\"\xe2\x80\xa8\xe2\x80\xa9\xc2\x85\"", JSON_STRING}, /* U+2028, U+2029, U+0085 */
        {"\"\xef\xbb\xbf\"", JSON_STRING}, /* U+FEFF inside a string is a character */
        {"\"\xef\xbf\xbf\xf4\x8f\xbf\xbf\"", JSON_STRING}, /* noncharacters */
        /* arrays */
        {"[]", JSON_ARRAY},
        {"[1]", JSON_ARRAY},
        {"[1,2,3]", JSON_ARRAY},
        {"[[],{},[[]],\"\",null,true,false,-1.0]", JSON_ARRAY},
        /* objects */
        {"{}", JSON_OBJECT},
        {"{\"\":0}", JSON_OBJECT},
        {"{\"a\":{\"b\":{\"c\":[]}},\"d\":[{}]}", JSON_OBJECT},
        {"{\"a\":1,\"a\":2}", JSON_OBJECT},
        /* white space: all four, in every place that may have it */
        {" \t\r\n0 \t\r\n", JSON_NUMBER},
        {"[ \t\r\n]", JSON_ARRAY},
        {"{ \t\r\n}", JSON_OBJECT},
        {"\n[\r1\t, 2\n,\r3\t]\n", JSON_ARRAY},
        {"\t{\n\"a\"\r:\t1 ,\n\"b\" : {\r\"c\"\n:\t\"\" } }\r", JSON_OBJECT},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        size_t n = strlen(rows[i].text);
        struct json_scan got;
        if (scan(rows[i].text, n, &got) != 0)
            fail_msg("refused: %s", rows[i].text);
        assert_int_equal(got.fault.kind, JSON_OK);
        assert_int_equal(got.type, rows[i].type);
        decides_like_reference(rows[i].text, n);
    }
}

#define ROW(text, kind, at)                                                                        \
    {                                                                                              \
        text, sizeof text - 1, kind, at                                                            \
    }

static void test_json_invalid_text_reports_kind_and_offset(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t n;
        enum json_fault_kind kind;
        size_t at;
    } rows[] = {
        /* nothing there */
        ROW("", JSON_EMPTY, 0),
        ROW(" \t\r\n", JSON_EMPTY, 4),
        /* literals */
        ROW("nul", JSON_CUT, 3),
        ROW("t", JSON_CUT, 1),
        ROW("nulL", JSON_SYNTAX, 3),
        ROW("True", JSON_SYNTAX, 0),
        ROW("NaN", JSON_SYNTAX, 0),
        ROW("Infinity", JSON_SYNTAX, 0),
        ROW("undefined", JSON_SYNTAX, 0),
        ROW("[nul]", JSON_SYNTAX, 4),
        ROW("falsee", JSON_TRAILING, 5),
        /* numbers */
        ROW("-", JSON_CUT, 1),
        ROW("+1", JSON_SYNTAX, 0),
        ROW("--1", JSON_SYNTAX, 1),
        ROW("-a", JSON_SYNTAX, 1),
        ROW("-Infinity", JSON_SYNTAX, 1),
        ROW("01", JSON_TRAILING, 1),
        ROW("[01]", JSON_SYNTAX, 2),
        ROW("[-01]", JSON_SYNTAX, 3),
        ROW("1.", JSON_CUT, 2),
        ROW("[1.]", JSON_SYNTAX, 3),
        ROW(".5", JSON_SYNTAX, 0),
        ROW("[1.e1]", JSON_SYNTAX, 3),
        ROW("[1.2.3]", JSON_SYNTAX, 4),
        ROW("1e", JSON_CUT, 2),
        ROW("1e+", JSON_CUT, 3),
        ROW("[1e]", JSON_SYNTAX, 3),
        ROW("[1e+-1]", JSON_SYNTAX, 4),
        ROW("[1ee1]", JSON_SYNTAX, 3),
        ROW("[1e1.5]", JSON_SYNTAX, 4),
        ROW("[0x10]", JSON_SYNTAX, 2),
        ROW("[1_000]", JSON_SYNTAX, 2),
        ROW("[1 000]", JSON_SYNTAX, 3),
        /* strings */
        ROW("\"", JSON_CUT, 1),
        ROW("\"abc", JSON_CUT, 4),
        ROW("\"\\", JSON_CUT, 2),
        ROW("\"\\\"", JSON_CUT, 3),
        ROW("\"\\u", JSON_CUT, 3),
        ROW("\"\\u12", JSON_CUT, 5),
        ROW("\"\\u12\"", JSON_SYNTAX, 5),
        ROW("\"\\u12g4\"", JSON_SYNTAX, 5),
        ROW("\"\\uu1234\"", JSON_SYNTAX, 3),
        ROW("\"\\U0041\"", JSON_SYNTAX, 2),
        ROW("\"\\x41\"", JSON_SYNTAX, 2),
        ROW("\"\\'\"", JSON_SYNTAX, 2),
        ROW("\"\\0\"", JSON_SYNTAX, 2),
        ROW("\"\\\n\"", JSON_SYNTAX, 2),
        ROW("\"\\\0\"", JSON_SYNTAX, 2),
        ROW("\"\\\xc3\xa9\"", JSON_SYNTAX, 2),
        ROW("'a'", JSON_SYNTAX, 0),
        ROW("\"a\"b\"", JSON_TRAILING, 3),
        ROW("\"\n\"", JSON_CONTROL, 1),
        ROW("\"a\tb\"", JSON_CONTROL, 2),
        ROW("\"ab\0\"", JSON_CONTROL, 3),
        ROW("\"\x1f\"", JSON_CONTROL, 1),
        ROW("{\"a\rb\":1}", JSON_CONTROL, 3),
        /* arrays */
        ROW("[", JSON_CUT, 1),
        ROW("[ ", JSON_CUT, 2),
        ROW("[1", JSON_CUT, 2),
        ROW("[1,", JSON_CUT, 3),
        ROW("[1, ", JSON_CUT, 4),
        ROW("[,", JSON_SYNTAX, 1),
        ROW("[,1]", JSON_SYNTAX, 1),
        ROW("[1,]", JSON_SYNTAX, 3),
        ROW("[1,,2]", JSON_SYNTAX, 3),
        ROW("[1 2]", JSON_SYNTAX, 3),
        ROW("[1:2]", JSON_SYNTAX, 2),
        ROW("[1}", JSON_SYNTAX, 2),
        ROW("[}", JSON_SYNTAX, 1),
        ROW("]", JSON_SYNTAX, 0),
        ROW("[\"a\":1]", JSON_SYNTAX, 4),
        /* objects */
        ROW("{", JSON_CUT, 1),
        ROW("{\"a\"", JSON_CUT, 4),
        ROW("{\"a\" ", JSON_CUT, 5),
        ROW("{\"a\":", JSON_CUT, 5),
        ROW("{\"a\":1", JSON_CUT, 6),
        ROW("{\"a\":1,", JSON_CUT, 7),
        ROW("{\"a\":{}", JSON_CUT, 7),
        ROW("{a:1}", JSON_SYNTAX, 1),
        ROW("{'a':1}", JSON_SYNTAX, 1),
        ROW("{1:1}", JSON_SYNTAX, 1),
        ROW("{null:1}", JSON_SYNTAX, 1),
        ROW("{\"a\"}", JSON_SYNTAX, 4),
        ROW("{\"a\" \"b\"}", JSON_SYNTAX, 5),
        ROW("{\"a\",\"b\"}", JSON_SYNTAX, 4),
        ROW("{\"a\":}", JSON_SYNTAX, 5),
        ROW("{\"a\"::1}", JSON_SYNTAX, 5),
        ROW("{\"a\":1:2}", JSON_SYNTAX, 6),
        ROW("{\"a\":1 \"b\":2}", JSON_SYNTAX, 7),
        ROW("{\"a\":1,}", JSON_SYNTAX, 7),
        ROW("{\"a\":1,,\"b\":2}", JSON_SYNTAX, 7),
        ROW("{,}", JSON_SYNTAX, 1),
        ROW("{\"a\":1]", JSON_SYNTAX, 6),
        ROW("{]", JSON_SYNTAX, 1),
        ROW("}", JSON_SYNTAX, 0),
        ROW("{[]:1}", JSON_SYNTAX, 1),
        /* no comments, no odd spaces, no byte order mark, no NUL */
        ROW("/* a */ 1", JSON_SYNTAX, 0),
        ROW("[1//\n]", JSON_SYNTAX, 2),
        ROW("#\n1", JSON_SYNTAX, 0),
        ROW("\f1", JSON_SYNTAX, 0),
        ROW("\v1", JSON_SYNTAX, 0),
        ROW("\xc2\xa0"
            "1",
            JSON_SYNTAX, 0),
        ROW("[1\xe2\x80\xa8]", JSON_SYNTAX, 2),
        ROW("\xef\xbb\xbf{}", JSON_SYNTAX, 0),
        ROW("\xff\xfe{\0}\0", JSON_SYNTAX, 0),
        ROW("\0", JSON_SYNTAX, 0),
        ROW("[\0]", JSON_SYNTAX, 1),
        ROW("{}\0", JSON_TRAILING, 2),
        ROW("\x80", JSON_SYNTAX, 0),
        /* invalid UTF-8 in a string: the first byte of the malformed sequence */
        ROW("\"\x80\"", JSON_UTF8, 1),
        ROW("\"a\xff\"", JSON_UTF8, 2),
        ROW("\"\xc3\xa9\xc3\"", JSON_UTF8, 3),
        ROW("\"\xe2\x82\"", JSON_UTF8, 1),
        ROW("\"\xe2\x82", JSON_UTF8, 1),
        ROW("\"\xed\xa0\x80\xed\xb0\x80\"", JSON_UTF8, 1),
        ROW("{\"k\xc0\x80\":1}", JSON_UTF8, 3),
        ROW("{\"k\":[\"\xf5\x80\x80\x80\"]}", JSON_UTF8, 7),
        /* one value and nothing else */
        ROW("1 2", JSON_TRAILING, 2),
        ROW("null null", JSON_TRAILING, 5),
        ROW("{}{}", JSON_TRAILING, 2),
        ROW("{} {}", JSON_TRAILING, 3),
        ROW("{},", JSON_TRAILING, 2),
        ROW("[]]", JSON_TRAILING, 2),
        ROW("{}}", JSON_TRAILING, 2),
        ROW("{\"a\":1}\n{\"a\":1}", JSON_TRAILING, 8),
        ROW("\"\"\"\"", JSON_TRAILING, 2),
        ROW("{} x", JSON_TRAILING, 3),
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct json_scan got = {0};
        assert_int_equal(scan(rows[i].text, rows[i].n, &got), MI_EPROTO);
        if (got.fault.kind != rows[i].kind || got.fault.at != rows[i].at) {
            show(rows[i].text, rows[i].n);
            fail_msg("fault %d at %zu, not %d at %zu", (int)got.fault.kind, got.fault.at,
                     (int)rows[i].kind, rows[i].at);
        }
        decides_like_reference(rows[i].text, rows[i].n);
    }
}

static void test_json_raw_control_character_is_rejected_its_escape_accepted(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++) {
        char raw[] = {'"', 'x', (char)c, 'x', '"'};
        struct json_scan got;
        int st = scan(raw, sizeof raw, &got);
        bool legal = c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
        assert_int_equal(st, legal ? 0 : MI_EPROTO);
        if (c < 0x20) {
            assert_int_equal(got.fault.kind, JSON_CONTROL);
            assert_int_equal(got.fault.at, 2);
        }
        decides_like_reference(raw, sizeof raw);
        char escaped[] = {'"', '\\', (char)c, '"'}; /* eight letters and u are escapes */
        decides_like_reference(escaped, sizeof escaped);
        char outside[] = {'[', '1', (char)c, '1', ']'};
        decides_like_reference(outside, sizeof outside);
        char first[] = {(char)c, '1'};
        decides_like_reference(first, sizeof first);
        char code[] = {'"', '\\', 'u', '0', (char)c, '1', '2', '"'};
        decides_like_reference(code, sizeof code);
    }
}

/* depth levels of what opens, a number inside, and as many closing brackets. */
static size_t nest(char *text, size_t depth, unsigned kinds)
{
    size_t n = 0;
    for (size_t i = 0; i < depth; i++) {
        bool object = kinds == 2 ? i % 3 == 0 : kinds;
        if (object)
            memcpy(text + n, "{\"k\":", 5), n += 5;
        else
            text[n++] = '[';
    }
    text[n++] = '1';
    for (size_t i = depth; i-- > 0;)
        text[n++] = (kinds == 2 ? i % 3 == 0 : kinds) ? '}' : ']';
    return n;
}

static void test_json_depth_10000_is_accepted_and_10001_rejected(void **state)
{
    (void)state;
    static char text[(JSON_MAX_DEPTH + 1) * 7];
    for (unsigned kinds = 0; kinds < 3; kinds++) { /* arrays, objects, both */
        struct json_scan got;
        size_t n = nest(text, JSON_MAX_DEPTH - 1, kinds);
        assert_int_equal(scan(text, n, &got), 0);
        n = nest(text, JSON_MAX_DEPTH, kinds);
        assert_int_equal(scan(text, n, &got), 0);
        assert_true(got.deep);
        decides_like_reference(text, n);
        n = nest(text, JSON_MAX_DEPTH + 1, kinds);
        assert_int_equal(scan(text, n, &got), MI_EPROTO);
        assert_int_equal(got.fault.kind, JSON_DEEP);
        decides_like_reference(text, n); /* including the offset: that of the excess bracket */
    }
    struct json_scan got;
    size_t n = nest(text, JSON_MAX_DEPTH + 1, 0);
    assert_int_equal(scan(text, n, &got), MI_EPROTO);
    assert_int_equal(got.fault.at, JSON_MAX_DEPTH);
    /* Depth counts open containers: siblings do not add up. */
    char wide[4096] = "[";
    n = 1;
    for (int i = 0; i < 1000; i++) {
        memcpy(wide + n, i == 0 ? "[]" : ",[]", i == 0 ? 2 : 3);
        n += i == 0 ? 2 : 3;
    }
    wide[n++] = ']';
    assert_int_equal(scan(wide, n, &got), 0);
    /* Empty containers at the limit are accepted. */
    memset(text, '[', JSON_MAX_DEPTH);
    memset(text + JSON_MAX_DEPTH, ']', JSON_MAX_DEPTH);
    assert_int_equal(scan(text, 2 * JSON_MAX_DEPTH, &got), 0);
    memset(text, '[', JSON_MAX_DEPTH + 1);
    assert_int_equal(scan(text, JSON_MAX_DEPTH + 1, &got), MI_EPROTO);
    assert_int_equal(got.fault.kind, JSON_DEEP);
}

static void test_json_more_than_512_levels_are_reported(void **state)
{
    (void)state;
    static char text[600 * 7];
    for (unsigned kinds = 0; kinds < 3; kinds++) {
        struct json_scan got;
        size_t n = nest(text, JSON_TREE_DEPTH, kinds);
        assert_int_equal(scan(text, n, &got), 0);
        assert_false(got.deep);
        n = nest(text, JSON_TREE_DEPTH + 1, kinds);
        assert_int_equal(scan(text, n, &got), 0);
        assert_true(got.deep);
    }
}

/* Keys are compared in the first 512 levels, those after a deep value too. */
static void test_json_duplicate_keys_are_found_down_to_512_levels(void **state)
{
    (void)state;
    static const struct {
        size_t levels;
        bool found;
    } rows[] = {{1, true}, {511, true}, {512, false}, {9998, false}};
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct json_scan got;
        struct buf b = {0};
        for (size_t k = 0; k < rows[i].levels; k++)
            buf_addc(&b, '[');
        buf_adds(&b, "{\"a\":1,\"a\":2}");
        for (size_t k = 0; k < rows[i].levels; k++)
            buf_addc(&b, ']');
        assert_int_equal(scan(b.p, b.n, &got), 0);
        assert_int_equal(got.duplicate_key, rows[i].found);
        buf_clear(&b);
        buf_adds(&b, "{\"a\":");
        for (size_t k = 0; k < rows[i].levels; k++)
            buf_addc(&b, '[');
        for (size_t k = 0; k < rows[i].levels; k++)
            buf_addc(&b, ']');
        buf_adds(&b, ",\"b\":{\"a\":1},\"c\":2}");
        assert_int_equal(scan(b.p, b.n, &got), 0);
        assert_false(got.duplicate_key);
        b.p[b.n - 5] = 'a'; /* "c" becomes "a" */
        assert_int_equal(scan(b.p, b.n, &got), 0);
        assert_true(got.duplicate_key);
        buf_close(&b);
    }
}

static void expect_utf8(const unsigned char *c, size_t len, bool good)
{
    char text[8] = "\"";
    memcpy(text + 1, c, len);
    text[len + 1] = '"';
    struct json_scan got;
    int st = scan(text, len + 2, &got);
    if ((st == 0) != good) {
        show(text, len + 2);
        fail_msg("%s", good ? "refused" : "accepted");
    }
    if (!good) {
        assert_int_equal(got.fault.kind, JSON_UTF8);
        assert_int_equal(got.fault.at, 1);
    }
}

/* Every row of Unicode's table 3-7, each byte at its bounds and one beyond them. */
static void test_json_utf8_boundaries_match_unicode_table_3_7(void **state)
{
    (void)state;
    for (size_t row = 1; row < MI_COUNT(ref_utf8_rows); row++) {
        size_t len = (size_t)ref_utf8_rows[row].len;
        const unsigned char *lo = ref_utf8_rows[row].lo;
        const unsigned char *hi = ref_utf8_rows[row].hi;
        expect_utf8(lo, len, true);
        expect_utf8(hi, len, true);
        for (size_t i = 0; i < len; i++) {
            unsigned char c[4];
            memcpy(c, lo, len);
            c[i] = hi[i];
            expect_utf8(c, len, true);
            if (i == 0)
                continue; /* another row's first byte: below, all pairs */
            c[i] = (unsigned char)(lo[i] - 1);
            expect_utf8(c, len, false);
            c[i] = (unsigned char)(hi[i] + 1);
            expect_utf8(c, len, false);
        }
        for (size_t cut = 1; cut < len; cut++)
            expect_utf8(lo, cut, false);
    }
}

static void test_json_utf8_every_first_two_bytes_match_reference(void **state)
{
    (void)state;
    static const unsigned char tails[][2] = {{0x80, 0x80}, {0xBF, 0xBF}, {'a', 'b'}, {0x80, 'a'}};
    for (unsigned a = 0x80; a < 256; a++)
        for (unsigned b = 0; b < 256; b++)
            for (size_t t = 0; t < MI_COUNT(tails); t++) {
                char text[] = {'"', (char)a, (char)b, (char)tails[t][0], (char)tails[t][1],
                               'x', '"'};
                struct ref_json r;
                ref_open(&r, text, sizeof text);
                if (ref_compare(&r, json_scan) != NULL ||
                    ref_compare(&r, plain_json_scan) != NULL) {
                    show(text, sizeof text);
                    fail_msg("differs; the reference says %d at %zu", (int)r.fault, r.at);
                }
            }
}

static void test_json_every_code_point_but_surrogates_is_accepted(void **state)
{
    (void)state;
    unsigned step = unit_slow() ? 61 : 1;
    for (unsigned c = 0x80; c < 0x110000; c += step) {
        unsigned char utf8[4];
        size_t len = ref_put(utf8, c);
        expect_utf8(utf8, len, c < 0xD800 || c > 0xDFFF);
    }
}

/* The byte that ends a run of plain ones, at every place around the blocks of 16, in text that
 * begins at every place of a block. */
static void test_json_special_byte_at_any_place_of_a_block_is_found(void **state)
{
    (void)state;
    static const char *const specials[] = {
        "\\n",
        "\\\"",
        "\\\\",
        "\\u00e9",
        "\\x",
        "\\",
        "\"",
        "\n",
        "\x01",
        "\x1f",
        "\x7f",
        "\xc3\xa9",
        "\xc3",
        "\x80",
        "\xe4\xbd\xa0",
        "\xe4\xbd",
        "\xe4\xbd\xa0\xe5\xa5\xbd",
        "\xf0\x9f\x98\x80",
        "\xf0\x9f\x98",
        "\xff",
        "\xed\xa0\x80",
        "\xc3\xa9x\xc3\xa9",
        "\xc3\xa9\n",
        "\xf4\x90\x80\x80",
    };
    size_t most = unit_slow() ? 36 : 70;
    for (size_t s = 0; s < MI_COUNT(specials); s++)
        for (size_t before = 0; before < most; before++)
            for (size_t after = 0; after < (before % 16 < 3 ? most : 20); after += 1 + after / 4) {
                char text[256] = "\"";
                size_t n = 1;
                size_t len = strlen(specials[s]);
                memset(text + n, 'a', before), n += before;
                memcpy(text + n, specials[s], len), n += len;
                memset(text + n, 'b', after), n += after;
                text[n++] = '"';
                decides_like_reference(text, n);     /* closed */
                decides_like_reference(text, n - 1); /* cut */
            }
    for (size_t shift = 0; shift < 16; shift++)
        for (size_t len = 0; len < 48; len++) {
            char text[96];
            memset(text, 'q', sizeof text); /* bytes around the text must not matter */
            text[shift] = '"';
            memset(text + shift + 1, 'a', len);
            text[shift + 1 + len] = '"';
            struct json_scan got;
            assert_int_equal(scan(text + shift, len + 2, &got), 0);
            text[shift + 1 + len] = '\n';
            assert_int_equal(scan(text + shift, len + 2, &got), MI_EPROTO);
            assert_int_equal(got.fault.at, len + 1);
            assert_int_equal(scan(text + shift, len + 1, &got), MI_EPROTO);
            assert_int_equal(got.fault.kind, JSON_CUT);
        }
}

/* White space and digits come in runs as well. */
static void test_json_plain_runs_of_any_length_are_skipped(void **state)
{
    (void)state;
    for (size_t len = 0; len < 70; len++) {
        char text[512];
        size_t n = 0;
        text[n++] = '[';
        memset(text + n, " \t\n\r"[len % 4], len), n += len;
        memset(text + n, '7', len + 1), n += len + 1;
        memset(text + n, ' ', len), n += len;
        text[n++] = ',';
        text[n++] = '0';
        text[n++] = '.';
        memset(text + n, '3', len + 1), n += len + 1;
        text[n++] = 'e';
        memset(text + n, '0', len + 1), n += len + 1;
        text[n++] = ']';
        decides_like_reference(text, n);
        struct json_scan got;
        assert_int_equal(scan(text, n, &got), 0);
    }
}

static void test_json_root_excludes_surrounding_white_space(void **state)
{
    (void)state;
    const char *text = " \r\n\t{\"a\" : [ ] } \t ";
    struct json_scan got;
    assert_int_equal(scan(text, strlen(text), &got), 0);
    assert_ptr_equal(got.root.p, text + 4);
    assert_int_equal(got.root.n, strlen("{\"a\" : [ ] }"));
}

struct log {
    char text[1024];
};

static void write_member(void *ctx, const struct json_member *m)
{
    struct log *l = ctx;
    size_t n = strlen(l->text);
    snprintf(l->text + n, sizeof l->text - n, "%d %.*s/%.*s=%d:%.*s\n", m->depth, (int)m->outer.n,
             m->outer.n != 0 ? m->outer.p : "", (int)m->key.n, m->key.p, (int)m->value.type,
             (int)m->value.text.n, m->value.text.p);
    assert_int_equal(m->outer.p != NULL, m->depth == 2);
}

static void test_json_members_are_reported_inner_ones_first(void **state)
{
    (void)state;
    static const struct {
        const char *text, *members;
    } rows[] = {
        {"{}", ""},
        {"7", ""},
        {"\"x\"", ""},
        {"[{\"a\":1},{\"b\":{\"c\":2}}]", ""},
        {"{\"a\":1}", "1 /a=4:1\n"},
        {" { \"a\" : 1 , \"b\" : \"x y\" } ", "1 /a=4:1\n1 /b=5:\"x y\"\n"},
        {"{\"a\":{\"b\":null}}", "2 a/b=1:null\n1 /a=7:{\"b\":null}\n"},
        {"{\"a\":{\"b\":{\"c\":{\"d\":1}}}}",
         "2 a/b=7:{\"c\":{\"d\":1}}\n1 /a=7:{\"b\":{\"c\":{\"d\":1}}}\n"},
        {"{\"a\":[{\"b\":1}]}", "1 /a=6:[{\"b\":1}]\n"},
        {"{\"a\":[],\"b\":{},\"c\":{\"d\":[ ]}}",
         "1 /a=6:[]\n1 /b=7:{}\n2 c/d=6:[ ]\n1 /c=7:{\"d\":[ ]}\n"},
        {"{\"a\":{\"x\":1,\"y\":2},\"b\":{\"x\":3}}",
         "2 a/x=4:1\n2 a/y=4:2\n1 /a=7:{\"x\":1,\"y\":2}\n2 b/x=4:3\n1 /b=7:{\"x\":3}\n"},
        {"{\"\\u0061\":true,\"\":false}", "1 /\\u0061=3:true\n1 /=2:false\n"},
        {"{\"a\":1,\"a\":2}", "1 /a=4:1\n1 /a=4:2\n"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct log l = {""};
        struct json_scan got;
        assert_int_equal(json_scan(slice_of(rows[i].text), write_member, &l, &got), 0);
        assert_string_equal(l.text, rows[i].members);
    }
}

static void test_json_duplicate_key_at_any_depth_is_reported(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool duplicate;
    } rows[] = {
        {"{\"a\":1,\"b\":2}", false},
        {"{\"a\":1,\"a\":2}", true},
        {"{\"a\":1,\"b\":2,\"a\":1}", true},
        {"{\"a\":1,\"A\":2}", false},
        {"{\"\":1,\"\":2}", true},
        {"{\"a\":1,\"\\u0061\":2}", true},
        {"{\"\\u0061\":1,\"\\u0061\":2}", true},
        {"{\"/\":1,\"\\/\":2}", true},
        {"{\"\\u00e9\":1,\"\xc3\xa9\":2}", true},
        {"{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}", true},
        {"{\"a\\u0000\":1,\"a\":2}", false},
        {"{\"a\\u0000\":1,\"a\\u0000\":2}", true},
        {"{\"abcdefgh\":1,\"abcdefgi\":2}", false},
        {"{\"abcdefghijklmnop\":1,\"abcdefghijklmnop\":2}", true},
        {"{\"ab\":1,\"ba\":2}", false},
        {"[{\"a\":1},{\"a\":1}]", false},
        {"{\"a\":{\"a\":{\"a\":1}}}", false},
        {"{\"a\":{\"b\":1},\"b\":{\"b\":1}}", false},
        {"{\"x\":[[{\"y\":{\"k\":1,\"k\":1}}]]}", true},
        {"{\"a\":{\"b\":1},\"c\":0,\"a\":2}", true},
        {"{\"a\":[{\"p\":1,\"q\":2}],\"p\":1}", false},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct json_scan got;
        assert_int_equal(scan(rows[i].text, strlen(rows[i].text), &got), 0);
        if (got.duplicate_key != rows[i].duplicate)
            fail_msg("%s", rows[i].text);
        decides_like_reference(rows[i].text, strlen(rows[i].text));
    }
}

/* An object of n keys k0, k1, …, then `last`. */
static size_t many_keys(char *text, int n, const char *last)
{
    size_t len = (size_t)sprintf(text, "{");
    for (int i = 0; i < n; i++)
        len += (size_t)sprintf(text + len, "\"k%d\":0,", i);
    return len + (size_t)sprintf(text + len, "\"%s\":0}", last);
}

static void test_json_duplicate_keys_beyond_the_limit_are_not_checked(void **state)
{
    (void)state;
    static char text[64 << 10];
    struct json_scan got;
    size_t n = many_keys(text, JSON_OBJECT_KEYS_MAX - 1, "k0");
    assert_int_equal(scan(text, n, &got), 0);
    assert_true(got.duplicate_key);
    n = many_keys(text, JSON_OBJECT_KEYS_MAX - 1, "other");
    assert_int_equal(scan(text, n, &got), 0);
    assert_false(got.duplicate_key);
    n = many_keys(text, 5000, "k0"); /* legal JSON, and no time is lost on it */
    assert_int_equal(scan(text, n, &got), 0);
    assert_false(got.duplicate_key);
    /* Keys of an object that has ended do not count: a thousand objects of their own. */
    n = (size_t)sprintf(text, "[0");
    for (int i = 0; i < 1000; i++)
        n += (size_t)sprintf(text + n, ",{\"a\":%d,\"b\":{\"a\":0}}", i);
    n += (size_t)sprintf(text + n, ",{\"z\":0,\"z\":1}]");
    assert_int_equal(scan(text, n, &got), 0);
    assert_true(got.duplicate_key);
    /* More open keys than JSON_KEYS_MAX: nothing is written past the table. */
    n = 0;
    for (int level = 0; level < 8; level++) {
        n += (size_t)sprintf(text + n, "{");
        for (int i = 0; i < 120; i++)
            n += (size_t)sprintf(text + n, "\"k%d\":0,", i);
        n += (size_t)sprintf(text + n, "\"deeper\":");
    }
    n += (size_t)sprintf(text + n, "0}}}}}}}}");
    assert_int_equal(scan(text, n, &got), 0);
    assert_false(got.duplicate_key);
}

/* Keys that people and programs count up must not be taken for one another. */
static void test_json_different_keys_are_not_duplicates(void **state)
{
    (void)state;
    static char text[16 << 10];
    int groups = unit_slow() ? 200 : 8000 / (int)unit_sample(3);
    static const char *const forms[] = {"%d", "k%d",    "item_%d", "%08d",
                                        "%x", "0x%06x", "%d:%d",   "a%db"};
    for (int g = 0; g < groups; g++) {
        const char *form = forms[(size_t)g % MI_COUNT(forms)];
        size_t n = (size_t)sprintf(text, "{");
        for (int i = 0; i < 100; i++) {
            int v = g / (int)MI_COUNT(forms) * 100 + i;
            n += (size_t)sprintf(text + n, i == 0 ? "\"" : ",\"");
/* the forms are those above */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            n += (size_t)sprintf(text + n, form, v, v);
#pragma GCC diagnostic pop
            n += (size_t)sprintf(text + n, "\":0");
        }
        text[n++] = '}';
        struct json_scan got;
        assert_int_equal(scan(text, n, &got), 0);
        if (got.duplicate_key) {
            show(text, n);
            fail_msg("no key of these stands twice");
        }
    }
}

static const char sample[] =
    " {\"jsonrpc\" : \"2.0\",\"id\":-12.50e+3,\n\"method\":\"tools/call\",\"params\":{\"name\":"
    "\"b\\u00fcld \xe4\xbd\xa0\xe5\xa5\xbd "
    "\xf0\x9f\x98\x80\",\"arguments\":{\"list\":[1,[],{},[true,false"
    ",null],\"\\\"\\\\\"],\"deep\":{\"a\":{\"b\":[[[0]]]}}},\"_meta\":{\"progressToken\":\"t\"}}}";

static void test_json_text_truncated_at_any_byte_is_rejected(void **state)
{
    (void)state;
    size_t n = sizeof sample - 1;
    struct json_scan got;
    assert_int_equal(scan(sample, n, &got), 0);
    for (size_t cut = 0; cut < n; cut++) {
        char *copy = unit_copy(sample, cut);
        assert_int_equal(scan(copy, cut, &got), MI_EPROTO);
        /* Within a character the bytes that are there are no character; else the text is cut. */
        assert_true(got.fault.kind == (cut < 2 ? JSON_EMPTY : JSON_CUT) ||
                    got.fault.kind == JSON_UTF8);
        if (got.fault.kind != JSON_UTF8)
            assert_int_equal(got.fault.at, cut);
        free(copy);
    }
}

static void test_json_any_changed_byte_matches_reference(void **state)
{
    (void)state;
    char text[sizeof sample];
    unsigned step = unit_slow() ? 23 : 1;
    for (size_t i = 0; i + 1 < sizeof sample; i++)
        for (unsigned c = 0; c < 256; c += step) {
            memcpy(text, sample, sizeof sample);
            text[i] = (char)c;
            struct ref_json r;
            ref_open(&r, text, sizeof sample - 1);
            if (ref_compare(&r, json_scan) != NULL || ref_compare(&r, plain_json_scan) != NULL) {
                show(text, sizeof sample - 1);
                fail_msg("differs; the reference says %d at %zu", (int)r.fault, r.at);
            }
            ref_close(&r);
        }
}

/* Random pieces of JSON put together and damaged; the seed is fixed, a failure repeats. */
static void test_json_random_text_matches_reference(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\"a\"",
        "\"a\":",
        "\"b\":",
        "\"id\":",
        "1",
        "-0.5e+7",
        "0",
        "null",
        "true",
        "false",
        " ",
        "\t\n",
        "\\",
        "\\u",
        "\\ud83d",
        "\\n",
        "\xc3\xa9",
        "\xe4\xbd\xa0",
        "\xf0\x9f\x98\x80",
        "\xff",
        "\x80",
        "\xed\xa0",
        "e",
        ".",
        "-",
        "\"\\u0061\":",
        "[]",
        "{}",
        "\"aaaaaaaaaaaaaaaaaaaaaaaa\"",
        "{\"a\":1,",
        "\"x\":[1,2],",
        "{\"params\":{\"name\":\"n\"}}",
        "aaaaaaaaaaaaaaa",
        "\"\xe4\xbd\xa0\xe5\xa5\xbd\xe4\xbd\xa0\xe5\xa5\xbd\xe4\xbd\xa0\"",
        "\x1f",
    };
    struct unit_random rnd = {20260731};
    int rounds = unit_slow() ? 4000 : 300000 / (int)unit_sample(3);
    int good = 0;
    for (int i = 0; i < rounds; i++) {
        char text[512];
        size_t n = 0;
        if (unit_random(&rnd, 2) == 0) { /* the sample, damaged */
            n = sizeof sample - 1;
            memcpy(text, sample, n);
        } else {
            for (size_t k = unit_random(&rnd, 14); k > 0; k--) {
                const char *piece = pieces[unit_random(&rnd, MI_COUNT(pieces))];
                memcpy(text + n, piece, strlen(piece));
                n += strlen(piece);
            }
        }
        for (size_t k = unit_random(&rnd, 4); k > 0 && n > 1; k--) {
            size_t at = unit_random(&rnd, n);
            size_t len = unit_random(&rnd, 4);
            switch (unit_random(&rnd, 4)) {
            case 0: /* another byte */
                text[at] = (char)unit_random(&rnd, 256);
                break;
            case 1: /* some bytes away */
                len = size_min(len, n - at);
                memmove(text + at, text + at + len, n - at - len);
                n -= len;
                break;
            case 2: /* some bytes twice */
                len = size_min(len, size_min(n - at, sizeof text - n));
                memmove(text + at + len, text + at, n - at);
                n += len;
                break;
            default: /* two bytes change places */
                len = unit_random(&rnd, n);
                char c = text[at];
                text[at] = text[len];
                text[len] = c;
            }
        }
        struct ref_json r;
        ref_open(&r, text, n);
        const char *differs = ref_compare(&r, json_scan);
        if (differs == NULL)
            differs = ref_compare(&r, plain_json_scan);
        if (differs != NULL) {
            show(text, n);
            fail_msg("%s differs; the reference says %d at %zu", differs, (int)r.fault, r.at);
        }
        good += r.fault == JSON_OK;
        ref_close(&r);
    }
    assert_true(good > rounds / 50); /* both kinds were among them */
    assert_true(good < rounds / 2);
}

/* Strings with so many escapes that they are read in blocks. */
static void test_json_long_strings_with_escapes_match_reference(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "\\n",      "\\\\",         "\\\"",
        "\\/",      "\\t",          "\\u00e9",
        "\xc3\xa9", "\xe4\xbd\xa0", "\xf0\x9f\x98\x80",
        "a",        "abcdefghij",
    };
    struct unit_random rnd = {20261122};
    int rounds = unit_slow() ? 500 : 50000, good = 0;
    for (int i = 0; i < rounds; i++) {
        char text[600];
        size_t n = 0, end = 100 + unit_random(&rnd, 450);
        size_t kinds = 1 + unit_random(&rnd, MI_COUNT(pieces)); /* of the pieces in this string */
        size_t first = unit_random(&rnd, MI_COUNT(pieces));
        text[n++] = '"';
        while (n < end) {
            const char *piece = pieces[(first + unit_random(&rnd, kinds)) % MI_COUNT(pieces)];
            memcpy(text + n, piece, strlen(piece));
            n += strlen(piece);
        }
        text[n++] = '"';
        if (unit_random(&rnd, 4) != 0)
            text[unit_random(&rnd, n)] = "\"\\un\x1f\x80\xc3x"[unit_random(&rnd, 8)];
        decides_like_reference(text, n);
        struct json_scan got;
        good += scan(text, n, &got) == 0;
    }
    assert_true(good > rounds / 5 && good < rounds / 5 * 4);
}

static void test_json_long_string_end_is_found(void **state)
{
    (void)state;
    size_t n = (size_t)1 << 20;
    char *text = malloc(n);
    assert_non_null(text);
    memset(text, 'a', n);
    text[0] = text[n - 1] = '"';
    struct json_scan got;
    assert_int_equal(scan(text, n, &got), 0);
    assert_int_equal(got.root.n, n);
    text[n - 2] = '\x02';
    assert_int_equal(scan(text, n, &got), MI_EPROTO);
    assert_int_equal(got.fault.at, n - 2);
    text[n - 2] = '\\';
    assert_int_equal(scan(text, n, &got), MI_EPROTO);
    assert_int_equal(got.fault.kind, JSON_CUT);
    free(text);
}

static void test_json_each_fault_kind_has_a_text(void **state)
{
    (void)state;
    for (int k = JSON_OK; k <= JSON_TRAILING; k++) {
        const char *text = json_fault_text((enum json_fault_kind)k);
        assert_non_null(text);
        assert_true(strlen(text) > 3);
        for (int other = JSON_OK; other < k; other++)
            assert_string_not_equal(text, json_fault_text((enum json_fault_kind)other));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_every_grammar_rule_is_accepted),
        cmocka_unit_test(test_json_invalid_text_reports_kind_and_offset),
        cmocka_unit_test(test_json_raw_control_character_is_rejected_its_escape_accepted),
        cmocka_unit_test(test_json_depth_10000_is_accepted_and_10001_rejected),
        cmocka_unit_test(test_json_more_than_512_levels_are_reported),
        cmocka_unit_test(test_json_duplicate_keys_are_found_down_to_512_levels),
        cmocka_unit_test(test_json_utf8_boundaries_match_unicode_table_3_7),
        cmocka_unit_test(test_json_utf8_every_first_two_bytes_match_reference),
        cmocka_unit_test(test_json_every_code_point_but_surrogates_is_accepted),
        cmocka_unit_test(test_json_special_byte_at_any_place_of_a_block_is_found),
        cmocka_unit_test(test_json_plain_runs_of_any_length_are_skipped),
        cmocka_unit_test(test_json_root_excludes_surrounding_white_space),
        cmocka_unit_test(test_json_members_are_reported_inner_ones_first),
        cmocka_unit_test(test_json_duplicate_key_at_any_depth_is_reported),
        cmocka_unit_test(test_json_duplicate_keys_beyond_the_limit_are_not_checked),
        cmocka_unit_test(test_json_different_keys_are_not_duplicates),
        cmocka_unit_test(test_json_text_truncated_at_any_byte_is_rejected),
        cmocka_unit_test(test_json_any_changed_byte_matches_reference),
        cmocka_unit_test(test_json_random_text_matches_reference),
        cmocka_unit_test(test_json_long_strings_with_escapes_match_reference),
        cmocka_unit_test(test_json_long_string_end_is_found),
        cmocka_unit_test(test_json_each_fault_kind_has_a_text),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
