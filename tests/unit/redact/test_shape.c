/* Secrets by their shape: the corpus, look-alikes, the user's patterns, and adversarial inputs. */
#include "redact/shape/find.h"

#include "base/log.h"
#include "redact/shape/shape_table.h"
#include "tests/redact/corpus.h"
#include "tests/support/unit.h"

#define SECRETS "tests/redact/secrets.txt"
#define LOOKALIKES "tests/redact/lookalikes.txt"
#define DOC "docs/sanitizer.md"

static int open_shapes(void **state)
{
    struct buf error = {0};
    struct shapes *s;
    if (shapes_open(&s, &error) < 0)
        return -1;
    *state = s;
    return 0;
}

static int close_shapes(void **state)
{
    shapes_close(*state);
    return 0;
}

/* The text with `[RULE]` in place of each hit. */
static void hide(const struct shapes *s, struct slice text, struct buf *out)
{
    struct shape_hit h;
    size_t at = 0;
    buf_clear(out);
    while (shapes_find_next_hit(s, text, at, &h)) {
        assert_true(h.n > 0 && h.from >= at && h.from + h.n <= text.n);
        buf_add(out, text.p + at, h.from - at);
        buf_printf(out, "[redacted:%s]", h.rule);
        at = h.from + h.n;
    }
    buf_add(out, text.p + at, text.n - at);
}

static void expect(const struct shapes *s, const char *text, const char *want)
{
    struct buf got = {0};
    char *exact = unit_copy(text, strlen(text));
    hide(s, (struct slice){exact, strlen(text)}, &got);
    assert_string_equal(buf_str(&got), want);
    free(exact);
    buf_close(&got);
}

/* ---- the corpus ---- */

static bool found_exactly(const struct shapes *s, const struct corpus_case *k)
{
    struct slice text = {k->text, k->n};
    struct shape_hit h;
    size_t at = 0, i = 0;
    bool rule = false;
    while (shapes_find_next_hit(s, text, at, &h)) {
        if (i == k->marks || h.from != k->mark[i].from || h.n != k->mark[i].n) {
            print_message("%s:%zu: %s finds '%.*s' in '%s'\n", SECRETS, k->line, h.rule,
                          (int)size_min(h.n, 120), text.p + h.from, text.p);
            return false;
        }
        rule = rule || strcmp(h.rule, k->rule) == 0;
        if (!rule && i + 1 == k->marks)
            print_message("%s:%zu: %s by %s\n", SECRETS, k->line, k->rule, h.rule);
        at = h.from + h.n;
        i++;
    }
    if (i != k->marks)
        print_message("%s:%zu: %s not found in '%s'\n", SECRETS, k->line, k->rule, text.p);
    return i == k->marks && rule && shapes_may_match(text);
}

static void test_shape_every_secret_of_the_corpus_is_found_exactly(void **state)
{
    struct corpus c;
    size_t n = 0, good = 0;
    corpus_open(&c, SECRETS);
    while (corpus_next(&c, true)) {
        n++;
        good += found_exactly(*state, &c.now);
    }
    corpus_close(&c);
    print_message("secrets found: %zu of %zu\n", good, n);
    assert_int_equal(good, n);
    assert_true(n >= 150);
}

static void test_shape_lookalikes_are_kept(void **state)
{
    struct corpus c;
    size_t n = 0, good = 0;
    corpus_open(&c, LOOKALIKES);
    while (corpus_next(&c, false)) {
        struct shape_hit h;
        struct slice text = {c.now.text, c.now.n};
        n++;
        if (shapes_find_next_hit(*state, text, 0, &h))
            print_message("%s:%zu: %s takes '%.*s' in '%s'\n", LOOKALIKES, c.now.line, h.rule,
                          (int)size_min(h.n, 120), text.p + h.from, text.p);
        else
            good++;
    }
    corpus_close(&c);
    print_message("look-alikes kept: %zu of %zu\n", good, n);
    assert_int_equal(good, n);
    assert_true(n >= 100);
}

static void test_shape_marks_are_not_secrets(void **state)
{
    struct corpus c;
    struct buf once = {0}, twice = {0};
    corpus_open(&c, SECRETS);
    while (corpus_next(&c, true)) {
        hide(*state, (struct slice){c.now.text, c.now.n}, &once);
        hide(*state, buf_slice(&once), &twice);
        assert_string_equal(buf_str(&twice), buf_str(&once));
    }
    corpus_close(&c);
    buf_close(&once);
    buf_close(&twice);
}

/* Secrets are found among others as well as alone. */
static void test_shape_secrets_in_one_long_text_are_all_found(void **state)
{
    struct corpus c;
    struct buf text = {0}, out = {0};
    corpus_open(&c, SECRETS);
    while (corpus_next(&c, true)) {
        buf_add(&text, c.now.text, c.now.n);
        buf_adds(&text, "\n\n");
    }
    hide(*state, buf_slice(&text), &out);
    rewind(c.f);
    c.line = 0;
    while (corpus_next(&c, true))
        for (size_t i = 0; i < c.now.marks; i++) {
            const char *secret = c.now.text + c.now.mark[i].from;
            if (memmem(out.p, out.n, secret, c.now.mark[i].n) != NULL)
                fail_msg("%s:%zu: '%.*s' stays", SECRETS, c.line, (int)c.now.mark[i].n, secret);
        }
    corpus_close(&c);
    buf_close(&text);
    buf_close(&out);
}

static bool has_case(const char *rule)
{
    struct corpus c;
    bool found = false;
    corpus_open(&c, SECRETS);
    while (!found && corpus_next(&c, true))
        found = strcmp(c.now.rule, rule) == 0;
    corpus_close(&c);
    return found;
}

static void test_shape_every_rule_has_a_case_in_the_corpus(void **state)
{
    (void)state;
    for (size_t i = 1; i < shape_rules_n; i++) {
        const char *name = shape_rules[i].name;
        size_t n = strlen(name);
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-"), n);
        assert_true(n > 2 && n <= SHAPE_NAME_MAX);
        if (!has_case(name))
            fail_msg("no case for %s in %s", name, SECRETS);
    }
}

/* Rules of one name stand one after another. */
static void test_shape_every_rule_has_a_row_in_the_document(void **state)
{
    (void)state;
    FILE *f = fopen(DOC, "r");
    char text[64 << 10], want[128];
    size_t rules = 0;
    if (f == NULL)
        fail_msg("cannot open %s; run this test in the top folder", DOC);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    assert_true(feof(f));
    assert_int_equal(fclose(f), 0);
    const char *rows = strstr(text, "\n## By shape\n");
    assert_non_null(rows);
    for (size_t i = 1; i < shape_rules_n; i++) {
        const char *name = shape_rules[i].name;
        rules += strcmp(name, shape_rules[i - 1].name) != 0;
        assert_true(snprintf(want, sizeof want, "\n| `%s` | ", name) < (int)sizeof want);
        const char *row = strstr(rows, want);
        if (row == NULL || strstr(row + 1, want) != NULL)
            fail_msg("%s has no row for %s, or two", DOC, name);
    }
    assert_true(snprintf(want, sizeof want, " %zu rules.", rules) < (int)sizeof want);
    if (strstr(text, want) == NULL)
        fail_msg("%s does not say:%s", DOC, want);
}

/* ---- edges ---- */

static void test_shape_ends_of_words_and_escapes_are_edges(void **state)
{
    struct buf text = {0}, want = {0};
    static const char token[] = "glpat-aB3dE5fG7hJ9kL1mN3pQ";
    static const struct {
        const char *before, *after;
        bool hit;
    } rows[] = {
        {"", "", true},           {"(", ")", true},       {"x", "", false},
        {"\\n", "\\n", true},     {"\\\\n", "", true},    {"\\u001b[0m", "", true},
        {"\x1b[1;31m", "", true}, {"%3D", "%26", true},   {"\\x0a", "", true},
        {"\xc3\xa9", "", true},   {"\xff", "\xff", true}, {"_", "", true},
        {"=", "&x", true},        {"3", "", false},       {"\\u003d", "", true},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        buf_clear(&text);
        buf_clear(&want);
        buf_printf(&text, "%s%s%s", rows[i].before, token, rows[i].after);
        buf_printf(&want, "%s%s%s", rows[i].before, rows[i].hit ? "[redacted:gitlab-token]" : token,
                   rows[i].after);
        expect(*state, buf_str(&text), buf_str(&want));
    }
    buf_close(&text);
    buf_close(&want);
}

static void test_shape_truncated_text_is_read_within_bounds(void **state)
{
    struct corpus c;
    corpus_open(&c, SECRETS);
    while (corpus_next(&c, true)) {
        for (size_t n = 0; n <= c.now.n; n += 1 + c.now.n / 300) {
            char *head = unit_copy(c.now.text, n);
            char *tail = unit_copy(c.now.text + n, c.now.n - n);
            struct buf out = {0};
            hide(*state, (struct slice){head, n}, &out);
            hide(*state, (struct slice){tail, c.now.n - n}, &out);
            buf_close(&out);
            free(head);
            free(tail);
        }
    }
    corpus_close(&c);
}

static void test_shape_overlapping_hits_are_merged(void **state)
{
    expect(*state, "password=abc:glpat-aB3dE5fG7hJ9kL1mN3pQ", "password=[redacted:assignment]");
    expect(*state, "token=glpat-aB3dE5fG7hJ9kL1mN3pQ", "token=[redacted:gitlab-token]");
}

/* The caller may search another text between two calls. */
static void test_shape_texts_can_be_searched_alternately(void **state)
{
    struct slice a =
        slice_of("AKIAQ7RT5WZX3NBP2LKM,aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7d password=hunter22");
    struct slice b = slice_of("password=hunter2 secret=hunter3");
    struct shape_hit h;
    assert_true(shapes_find_next_hit(*state, a, 0, &h));
    assert_string_equal(h.rule, "aws-access-key-id");
    size_t at = h.from + h.n;
    assert_true(shapes_find_next_hit(*state, b, 0, &h));
    assert_int_equal(h.from, 9);
    assert_true(shapes_find_next_hit(*state, a, at, &h));
    assert_string_equal(h.rule, "aws-secret-key");
    at = h.from + h.n;
    assert_true(shapes_find_next_hit(*state, b, 16, &h));
    assert_int_equal(h.from, 24);
    assert_true(shapes_find_next_hit(*state, a, at, &h));
    assert_string_equal(h.rule, "assignment");
    assert_false(shapes_find_next_hit(*state, a, h.from + h.n, &h));
}

/* ---- the user's patterns ---- */

static void test_shape_user_pattern_is_found(void **state)
{
    struct buf error = {0};
    assert_false(shapes_have_patterns(*state));
    assert_int_equal(shapes_add_pattern(*state, "ticket", "CORP-[0-9]{4}", &error), 0);
    assert_int_equal(shapes_add_pattern(*state, "staff", "(?i)staff no\\.? ([0-9]+)", &error), 0);
    assert_true(shapes_have_patterns(*state));
    expect(*state, "CORP-1234, CORP-5678 and CORP-9",
           "[redacted:ticket], [redacted:ticket] and CORP-9");
    expect(*state, "Staff No. 4711 has password=CORP-1234x",
           "Staff No. [redacted:staff] has password=[redacted:assignment]");
    expect(*state, "\xff\xfe CORP-1234 \xc3", "\xff\xfe [redacted:ticket] \xc3");
    buf_close(&error);
}

static void test_shape_user_pattern_matches_across_pieces_of_a_long_text(void **state)
{
    struct buf error = {0}, text = {0}, want = {0};
    assert_int_equal(shapes_add_pattern(*state, "zz", "\\bz[a-y]{1500}z\\b", &error), 0);
    assert_int_equal(shapes_add_pattern(*state, "ends", "^BEGIN|END$", &error), 0);
    for (size_t lead = 1900; lead < 2200; lead += 7) {
        buf_clear(&text);
        buf_clear(&want);
        for (size_t i = 0; i < lead; i++)
            buf_adds(&text, i % 2 ? "\xc3\xa9" : " ");
        buf_add(&want, text.p, text.n);
        buf_adds(&text, " z");
        for (size_t i = 0; i < 1500; i++)
            buf_addc(&text, (char)('a' + i % 25));
        buf_adds(&text, "z END BEGIN END");
        buf_adds(&want, " [redacted:zz] END BEGIN [redacted:ends]");
        expect(*state, buf_str(&text), buf_str(&want));
    }
    buf_close(&text);
    buf_close(&want);
    buf_close(&error);
}

static void test_shape_invalid_user_pattern_is_rejected_with_a_reason(void **state)
{
    static const struct {
        const char *name, *regex, *says;
    } rows[] = {
        {"x", "(", "pattern.x: missing closing parenthesis, at character 2"},
        {"x", "[z-a]", "pattern.x: range out of order in character class, at character 4"},
        {"x", "", "pattern.x: the expression is empty"},
        {"x y", "a", "pattern.x y: invalid name: use letters"},
        {"", "a", "pattern.: invalid name: use 1 to 48 characters"},
        {"x", "\\C", "pattern.x: using \\C is disabled"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct buf error = {0};
        assert_int_equal(shapes_add_pattern(*state, rows[i].name, rows[i].regex, &error), MI_EINVAL);
        if (strncmp(buf_str(&error), rows[i].says, strlen(rows[i].says)) != 0)
            fail_msg("said '%s', not '%s'", buf_str(&error), rows[i].says);
        buf_close(&error);
    }
    assert_false(shapes_have_patterns(*state));
}

static size_t warnings;

static void count_warning(void *ctx, struct slice line)
{
    (void)ctx;
    warnings += memmem(line.p, line.n, "pattern.bad takes too many steps", 32) != NULL;
}

static void test_shape_user_pattern_over_the_step_limit_is_stopped_and_logged_once(void **state)
{
    struct buf error = {0}, text = {0};
    struct shape_hit h;
    assert_int_equal(shapes_add_pattern(*state, "bad", "(a+)+$", &error), 0);
    for (size_t i = 0; i < 200000; i++)
        buf_addc(&text, 'a');
    buf_addc(&text, '!');
    log_set_sink(count_warning, NULL);
    for (int i = 0; i < 2; i++)
        assert_false(shapes_find_next_hit(*state, buf_slice(&text), 0, &h));
    log_set_sink(NULL, NULL);
    assert_int_equal(warnings, 1);
    buf_close(&text);
    buf_close(&error);
}

/* ---- adversarial inputs ---- */

static uint64_t work_of(const struct shapes *s, const char *unit, size_t bytes)
{
    struct buf text = {0}, out = {0};
    while (text.n < bytes)
        buf_adds(&text, unit);
    uint64_t before = shapes_count_examined_bytes();
    hide(s, buf_slice(&text), &out);
    uint64_t work = shapes_count_examined_bytes() - before;
    buf_close(&text);
    buf_close(&out);
    return work;
}

static void test_shape_work_is_linear_for_any_input(void **state)
{
    static const char *const units[] = {
        "eyJ",
        "+eyJ",
        "-eyJ",
        "/eyJ",
        "eyJ-",
        "eyJ.",
        "eyJhbGciOiJIUzI1NiJ9.",
        "eyJhbGciOiJIUzI1NiJ9",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n",
        "-----",
        "BEGIN ",
        "-----END PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY----- MIIEvQIBADANBgkqhkiG9w0BAQ ",
        "----x",
        "password",
        "password=",
        "password='",
        "password=\"",
        "pass",
        "pwd:",
        "key=",
        "token:",
        "secret is ",
        "key",
        "://",
        "://:",
        "://:@",
        "a://b:c",
        "a://b:c@",
        "a://b@",
        "%3A%2F%2F",
        "a%3A%2F%2Fb%3A",
        "Bearer ",
        "basic ",
        "Basic YTpi",
        "digest username=",
        "Authorization: ",
        "Authorization: Digest ",
        "Cookie: ",
        "cookie: a=",
        "Set-Cookie: a=b ",
        "curl ",
        "curl -u ",
        "curl -u a:",
        "signature=",
        "?sig=",
        "AKIA",
        "AKIAQ7RT5WZX3NBP2LKM",
        "AKIAQ7RT5WZX3NBP2LKM ",
        "sk-",
        "sk-a-",
        "ghp_",
        "xoxb-",
        "1//0",
        "ya29.",
        "LS0tLS1CRUdJTi",
        "AIza",
        "1234567890:AA",
        ":AA",
        "0Q~",
        "-us1",
        "+ASt",
        "JQQJ99",
        "ACDb",
        ".atlasv1.",
        "[redacted:",
        "[redacted:x]",
        "[red",
        "PuTTY-User-Key-File-",
        "PuTTY-User-Key-File-3 Private-Lines: 9",
        "$6$",
        "$2b$12$",
        "$argon2id$v=19$m=",
        "EAAA",
        "MTAy",
        "a",
        " ",
        "\\",
        "\n",
        "=",
        "\xff",
        "'",
        "\"",
        "hook",
        "hooks.slack.com/services/",
        "sk.eyJ",
        "dt0c01.",
        "dp.st.",
        "glpat-",
        "access-",
        "IQoJb3JpZ2lu",
        "tokentokentoken:",
        "auth",
        "authorization=",
        "eyJhbGciOiJub25lIn0.eyJ",
        "k_e.y-",
        "--key ",
    };
    for (size_t i = 0; i < MI_COUNT(units); i++) {
        uint64_t small = work_of(*state, units[i], 50000),
                 large = work_of(*state, units[i], 200000);
        if (large > 5 * small + 100000 || large > 400 * UINT64_C(200000))
            fail_msg("'%s': %llu steps for 50 kB, %llu for 200 kB", units[i],
                     (unsigned long long)small, (unsigned long long)large);
    }
}

/* Long runs before, between and after the parts of a rule. */
static void test_shape_work_is_linear_for_long_runs(void **state)
{
    static const char *const heads[] = {"eyJ",
                                        "password=",
                                        "password=\"",
                                        "Bearer ",
                                        "https://a:",
                                        "Cookie: a=",
                                        "-----BEGIN PRIVATE KEY-----",
                                        "sk-",
                                        "Authorization: Basic ",
                                        "-----BEGIN PRIVATE KEY-----\\n",
                                        "curl -u x:",
                                        "?sig=",
                                        "hvs."};
    static const char *const fills[] = {"a",    "aB3",       " ", "\\n", "\\\\", "-",
                                        "----", "aB3dE5fG ", ".", "@",   "/"};
    for (size_t h = 0; h < MI_COUNT(heads); h++)
        for (size_t f = 0; f < MI_COUNT(fills); f++) {
            struct buf text = {0}, out = {0};
            buf_adds(&text, heads[h]);
            while (text.n < 300000)
                buf_adds(&text, fills[f]);
            uint64_t before = shapes_count_examined_bytes();
            hide(*state, buf_slice(&text), &out);
            uint64_t work = shapes_count_examined_bytes() - before;
            if (work > 20 * (uint64_t)text.n)
                fail_msg("'%s' and many '%s': %llu steps for %zu bytes", heads[h], fills[f],
                         (unsigned long long)work, text.n);
            buf_close(&text);
            buf_close(&out);
        }
}

/* What a stranger types first, and what stays: the tokens are put together here, so that no scanner finds one. */
static void test_shape_made_up_tokens_are_replaced(void **state)
{
    static const struct {
        const char *prefix, *rest;
        bool secret;
    } rows[] = {
        {"ghp_", "abcdefghijklmnopqrstuvwxyz0123456789", true},
        {"ghp_", "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", true},
        {"ghp_", "abcdefghijklmnopqrstuvwxyzabcdefghij", true},
        {"npm_", "0123456789abcdefghijklmnopqrstuvwxyz", true},
        {"glpat-", "abcdefghij0123456789", true},
        {"hf_", "abcdefghijklmnopqrstuvwxyzABCDEFGH", true},
        {"sk-ant-api03-", "abcdefghijklmnopqrstuvwxyz0123456789", true},
        {"ghp_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", false},
        {"ghp_", "000000000000000000000000000000000000", false},
        {"ghp_", "yourtokenyourtokenyourtokenyourtoken", false},
        {"ghp_", "abcdefghijklmnopqrstuvwxyz", false}, /* too short */
        {"sk-", "learn-contrib-packages-are-listed-here", false},
    };
    struct buf text = {0}, out = {0};
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        buf_clear(&text);
        buf_printf(&text, "use %s%s now", rows[i].prefix, rows[i].rest);
        hide(*state, buf_slice(&text), &out);
        if (rows[i].secret != (strstr(buf_str(&out), rows[i].rest) == NULL))
            fail_msg("%s", buf_str(&out));
    }
    buf_close(&text);
    buf_close(&out);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, open_shapes, close_shapes)
    const struct CMUnitTest tests[] = {
        EACH(test_shape_made_up_tokens_are_replaced),
        EACH(test_shape_every_secret_of_the_corpus_is_found_exactly),
        EACH(test_shape_lookalikes_are_kept),
        EACH(test_shape_marks_are_not_secrets),
        EACH(test_shape_secrets_in_one_long_text_are_all_found),
        EACH(test_shape_every_rule_has_a_case_in_the_corpus),
        EACH(test_shape_every_rule_has_a_row_in_the_document),
        EACH(test_shape_ends_of_words_and_escapes_are_edges),
        EACH(test_shape_truncated_text_is_read_within_bounds),
        EACH(test_shape_overlapping_hits_are_merged),
        EACH(test_shape_texts_can_be_searched_alternately),
        EACH(test_shape_user_pattern_is_found),
        EACH(test_shape_user_pattern_matches_across_pieces_of_a_long_text),
        EACH(test_shape_invalid_user_pattern_is_rejected_with_a_reason),
        EACH(test_shape_user_pattern_over_the_step_limit_is_stopped_and_logged_once),
        EACH(test_shape_work_is_linear_for_any_input),
        EACH(test_shape_work_is_linear_for_long_runs),
    };
    return cmocka_run_group_tests_name("shape", tests, NULL, NULL);
}
