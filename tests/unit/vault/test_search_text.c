/* Search terms, and where a text matches them. */
#include "vault/search/search_terms.h"

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

#define TEN "0123456789"
#define SIXTY TEN TEN TEN TEN TEN TEN

static void check_query(const char *term, bool exact, const char *name, const char *want,
                        bool (*write)(const struct search_terms *t, struct buf *b))
{
    struct search_terms t;
    struct buf b = {0};
    assert_int_equal(search_terms_open(&t), 0);
    assert_int_equal(search_terms_add(&t, term, exact), 0);
    bool some = write(&t, &b);
    if (some != (want != NULL) || (some && strcmp(buf_str(&b), want) != 0))
        fail_msg("%s of '%s': %s", name, term, buf_str(&b));
    buf_close(&b);
    search_terms_close(&t);
}

static void test_search_text_query_contains_only_whole_words(void **state)
{
    (void)state;
    static const struct {
        const char *term;
        bool exact;
        const char *fts5, *tsquery; /* NULL: none */
    } rows[] = {
        {"Timed out", false, "\"timed\" AND \"out\"", "'timed' & 'out'"},
        {"time*", false, "\"time\" *", "'time':*"},
        {"not fou*", false, "\"not\" AND \"fou\" *", "'not' & 'fou':*"},
        {"time *", false, "\"time\" *", "'time':*"},
        {"timed out", true, NULL, NULL}, /* both words may be parts of longer words */
        {" timed out ", true, "\"timed\" AND \"out\"", "'timed' & 'out'"},
        {"{\"path\":\"/home/a", true, "\"path\" AND \"home\"", "'path' & 'home'"},
        {"o'clock \\", false, "\"o\" AND \"clock\"", "'o' & 'clock'"},
        {"\xC3\x9C"
         "ber_1",
         false, "\"uber\" AND \"1\"", "'uber' & '1'"},
        {"->", false, NULL, NULL},
        /* a key is shorter than a long word; every text with the word has the key itself */
        {SIXTY "abcd", false, "\"" SIXTY "abcd\"", "'" SIXTY "abcd'"},
        {SIXTY "abcd*", false, "\"" SIXTY "abcd\" *", "'" SIXTY "abcd':*"},
        {SIXTY "abcde", false, "\"" SIXTY "abcde\"", "'" SIXTY "abcd'"},
        {SIXTY "abcde*", false, "\"" SIXTY "abcde\" *", "'" SIXTY "abcd'"},
        {SIXTY "abc\xE6\x97\xA5*", false, "\"" SIXTY "abc\xE6\x97\xA5\" *", "'" SIXTY "abc'"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        check_query(rows[i].term, rows[i].exact, "FTS5", rows[i].fts5,
                    search_terms_write_fts_query);
        check_query(rows[i].term, rows[i].exact, "tsquery", rows[i].tsquery,
                    search_terms_write_tsquery);
    }
}

static void test_search_text_queries_of_terms_are_joined(void **state)
{
    (void)state;
    struct search_terms t;
    struct buf b = {0};
    assert_int_equal(search_terms_open(&t), 0);
    assert_int_equal(search_terms_add(&t, "not found", false), 0);
    assert_int_equal(search_terms_add(&t, "->", false), 0);
    assert_int_equal(search_terms_add(&t, "inv*", false), 0);
    assert_true(search_terms_write_tsquery(&t, &b));
    assert_string_equal(buf_str(&b), "'not' & 'found' & 'inv':*");
    buf_close(&b);
    search_terms_close(&t);
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
        struct slice s = search_get_text_of_body(
            value_find_by_word(&row_kinds, slice_of(rows[i].kind)), slice_of(rows[i].body), &b);
        if (!slice_is(s, rows[i].text))
            fail_msg("'%s': '%.*s'", rows[i].body, (int)s.n, s.p);
    }
    assert_int_equal(search_get_text_of_body(KIND_RESULT, (struct slice){0}, &b).n, 0);
    char *large = malloc(SEARCH_TEXT_MAX + 10);
    assert_non_null(large);
    memset(large, 'x', SEARCH_TEXT_MAX + 10);
    assert_int_equal(
        search_get_text_of_body(KIND_STDERR, (struct slice){large, SEARCH_TEXT_MAX + 10}, &b).n,
        SEARCH_TEXT_MAX);
    free(large);
    buf_close(&b);
}

/* The text of a long body is that of the head that it depends on, wherever the head is truncated. */
static void test_search_text_of_a_long_body_needs_only_its_head(void **state)
{
    (void)state;
    static const char *const repeated[] = {"x",    "\\u0041", "\\ud83d\\ude00",
                                           "\\\\", "\\n",     "\xC3\xA9"};
    for (size_t i = 0; i < MI_COUNT(repeated); i++) {
        for (size_t shift = 0; shift < 12; shift++) {
            struct buf body = {0}, whole = {0}, head = {0};
            buf_adds(&body, "{\"a\":\"\\t");
            for (size_t k = 0; k < shift; k++)
                buf_addc(&body, 'a');
            while (body.n < SEARCH_BODY_MAX + 100)
                buf_adds(&body, repeated[i]);
            buf_adds(&body, "\"}");
            assert_false(body.failed);
            struct slice all = search_get_text_of_body(KIND_RESULT, buf_slice(&body), &whole);
            struct slice some = search_get_text_of_body(
                KIND_RESULT, (struct slice){body.p, SEARCH_BODY_MAX}, &head);
            assert_in_range(all.n, SEARCH_TEXT_MAX - 3, SEARCH_TEXT_MAX);
            assert_true(slice_eq(all, some));
            assert_memory_equal(all.p, "{\"a\":\"\t", 7); /* unescaped */
            assert_null(memchr(some.p, '\0', some.n));
            buf_close(&body);
            buf_close(&whole);
            buf_close(&head);
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_search_text_words_match_in_sequence),
        cmocka_unit_test(test_search_text_exact_matches_byte_for_byte),
        cmocka_unit_test(test_search_text_needs_all_terms),
        cmocka_unit_test(test_search_text_query_contains_only_whole_words),
        cmocka_unit_test(test_search_text_queries_of_terms_are_joined),
        cmocka_unit_test(test_search_text_of_a_message_is_unescaped),
        cmocka_unit_test(test_search_text_of_a_long_body_needs_only_its_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
