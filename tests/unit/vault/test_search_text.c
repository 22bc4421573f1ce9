/* Search terms, and where a text matches them. */
#include "vault/search/text.h"

#include "tests/support/unit.h"

struct row {
    const char *term;
    bool exact;
    const char *text;
    const char *found; /* NULL: no match */
};

static void check(const struct row *r)
{
    struct search_terms t;
    struct slice at;
    assert_int_equal(search_terms_open(&t), 0);
    assert_int_equal(search_terms_add(&t, r->term, r->exact), 0);
    int st = search_terms_find(&t, slice_of(r->text), &at);
    if (st != (r->found != NULL ? 0 : MI_ENOENT))
        fail_msg("'%s' in '%s': %d", r->term, r->text, st);
    if (r->found != NULL && !slice_is(at, r->found))
        fail_msg("'%s' in '%s': found '%.*s'", r->term, r->text, (int)at.n, at.p);
    search_terms_close(&t);
}

static void test_search_text_words_match_in_sequence(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"invoice", false, "The INVOICE, paid", "INVOICE"},
        {"invoice", false, "invoices", NULL},
        {"invo*", false, "two invoices", "invoices"},
        {"not found", false, "File Not\nfound!", "Not\nfound"},
        {"not found", false, "not yet found", NULL},
        {"not fou*", false, "not founded", "not founded"},
        {"uber", false,
         "das \xC3\x9C"
         "ber-Ich",
         "\xC3\x9C"
         "ber"},
        {"send_email", false, "{\"name\":\"send_email\"}", "send_email"},
        {"-32001", false, "code 32001", "32001"},
        {"a b a c", false, "a b a b a c", "a b a c"},
        {"x", false, "", NULL},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        check(&rows[i]);
}

static void test_search_text_exact_matches_byte_for_byte(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"nvo", true, "invoice", "nvo"}, {"Invoice", true, "invoice", NULL},
        {"a*", true, "aa a*", "a*"},     {"\"p\":1", true, "{\"p\":1}", "\"p\":1"},
        {"->", false, "a -> b", "->"}, /* without a word: always exact */
        {"->", false, "a - > b", NULL},  {"x", true, "", NULL},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        check(&rows[i]);
}

static void test_search_text_needs_all_terms(void **state)
{
    (void)state;
    struct search_terms t;
    struct slice at;
    assert_int_equal(search_terms_open(&t), 0);
    assert_int_equal(search_terms_find(&t, slice_of("anything"), &at), 0);
    assert_int_equal(at.n, 0);
    assert_int_equal(search_terms_add(&t, "second", false), 0);
    assert_int_equal(search_terms_add(&t, "irs", true), 0);
    assert_int_equal(search_terms_find(&t, slice_of("first and second"), &at), 0);
    assert_true(slice_is(at, "second")); /* the match of the first term */
    assert_int_equal(search_terms_find(&t, slice_of("first"), &at), MI_ENOENT);
    assert_int_equal(search_terms_find(&t, slice_of("second"), &at), MI_ENOENT);
    while (t.n < SEARCH_TERMS_MAX)
        assert_int_equal(search_terms_add(&t, "x", false), 0);
    assert_int_equal(search_terms_add(&t, "x", false), MI_EFULL);
    search_terms_close(&t);
}

static void test_search_text_query_contains_only_whole_words(void **state)
{
    (void)state;
    static const struct {
        const char *term;
        bool exact;
        const char *query; /* NULL: none */
    } rows[] = {
        {"Timed out", false, "\"timed\" AND \"out\""},
        {"time*", false, "\"time\" *"},
        {"timed out", true, NULL}, /* both words may be parts of longer words */
        {" timed out ", true, "\"timed\" AND \"out\""},
        {"{\"path\":\"/home/a", true, "\"path\" AND \"home\""},
        {"->", false, NULL},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct search_terms t;
        struct buf b = {0};
        assert_int_equal(search_terms_open(&t), 0);
        assert_int_equal(search_terms_add(&t, rows[i].term, rows[i].exact), 0);
        bool some = search_terms_query(&t, &b);
        if (some != (rows[i].query != NULL) || (some && strcmp(buf_str(&b), rows[i].query) != 0))
            fail_msg("'%s': %s", rows[i].term, buf_str(&b));
        buf_close(&b);
        search_terms_close(&t);
    }
}

static void test_search_text_of_a_message_is_unescaped(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *body, *text;
    } rows[] = {
        {"result", "{\"a\":\"x\\ny \\\"z\\\" \\u00e9\"}", "{\"a\":\"x\ny \"z\" \xC3\xA9\"}"},
        {"result", "{\"a\":1}", "{\"a\":1}"},
        {"stderr", "C:\\new", "C:\\new"},
        {"noise", "{\"a\":\"\\n\"}", "{\"a\":\"\\n\"}"},
        {"result", "broken \\u12", "broken \\u12"}, /* not valid JSON */
    };
    struct buf b = {0};
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct slice s =
            search_text(value_of(&row_kinds, slice_of(rows[i].kind)), slice_of(rows[i].body), &b);
        if (!slice_is(s, rows[i].text))
            fail_msg("'%s': '%.*s'", rows[i].body, (int)s.n, s.p);
    }
    assert_int_equal(search_text(KIND_RESULT, (struct slice){0}, &b).n, 0);
    char *large = malloc(SEARCH_TEXT_MAX + 10);
    assert_non_null(large);
    memset(large, 'x', SEARCH_TEXT_MAX + 10);
    assert_int_equal(search_text(KIND_STDERR, (struct slice){large, SEARCH_TEXT_MAX + 10}, &b).n,
                     SEARCH_TEXT_MAX);
    free(large);
    buf_close(&b);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_search_text_words_match_in_sequence),
        cmocka_unit_test(test_search_text_exact_matches_byte_for_byte),
        cmocka_unit_test(test_search_text_needs_all_terms),
        cmocka_unit_test(test_search_text_query_contains_only_whole_words),
        cmocka_unit_test(test_search_text_of_a_message_is_unescaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
