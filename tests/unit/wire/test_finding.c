/* The names of findings and rules; docs/findings.md must have a row for each, and no others. */
#include "wire/mcp/rule.h"

#include "tests/support/unit.h"

#define DOC "docs/findings.md"

static void test_finding_each_value_has_a_name_and_a_meaning(void **state)
{
    (void)state;
    for (int f = 0; f < FIND_COUNT; f++) {
        const char *name = finding_name((enum finding)f);
        const char *meaning = finding_meaning((enum finding)f);
        assert_non_null(name);
        assert_non_null(meaning);
        size_t n = strlen(name);
        assert_true(n > 1);
        /* names are joined by commas; they have no capitals or blanks */
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-"), n);
        assert_true(strlen(meaning) > 10 && meaning[strlen(meaning) - 1] == '.');
        for (int other = 0; other < f; other++)
            assert_string_not_equal(name, finding_name((enum finding)other));
    }
}

static void test_finding_each_rule_has_a_name_and_a_meaning(void **state)
{
    (void)state;
    for (int r = 0; r < RULE_COUNT; r++) {
        const char *name = rule_name((enum rule)r);
        const char *meaning = rule_meaning((enum rule)r);
        assert_non_null(name);
        assert_true(strspn(name, "abcdefghijklmnopqrstuvwxyz-") == strlen(name));
        assert_true(strlen(meaning) > 10 && meaning[strlen(meaning) - 1] == '.');
        struct finding_info info;
        assert_true(finding_by_name(slice_of(name), &info)); /* and not the name of a finding */
        assert_true(info.finding == 0 && info.rule == RULE(r));
        assert_ptr_equal(info.meaning, meaning);
        assert_int_equal(info.severity, rule_severity((enum rule)r));
    }
    struct finding_info info;
    assert_true(finding_by_name(slice_of("crlf"), &info));
    assert_true(info.finding == FINDING(FIND_CRLF) && info.rule == 0);
    assert_false(finding_by_name(slice_of("crl"), &info));
    assert_int_equal(rules_select_errors(RULE(RULE_UNKNOWN_METHOD) | RULE(RULE_INVALID_PARAMS)),
                     RULE(RULE_INVALID_PARAMS));
}

static void test_finding_list_joins_the_names_in_order(void **state)
{
    (void)state;
    static const struct {
        findings set;
        breaches rules;
        const char *list;
    } rows[] = {
        {0, 0, ""},
        {FINDING(FIND_CRLF), 0, "crlf"},
        {FINDING(FIND_SERVER_GONE), 0, "server-gone"},
        {FINDING(FIND_BOM) | FINDING(FIND_CRLF) | FINDING(FIND_NULL_ID), 0, "crlf,bom,null-id"},
        {0, RULE(RULE_MISSING_META), "missing-meta"},
        {FINDING(FIND_CRLF), RULE(RULE_BAD_RETRY) | RULE(RULE_LSP_METHOD),
         "crlf,lsp-method,bad-retry"},
    };
    struct buf b = {0};
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        buf_clear(&b);
        finding_append_names(&b, rows[i].set, rows[i].rules);
        assert_string_equal(buf_str(&b), rows[i].list);
    }
    buf_clear(&b);
    finding_append_names(&b, FINDING(FIND_COUNT) - 1, RULE(RULE_COUNT) - 1);
    size_t commas = 0;
    for (size_t i = 0; i < b.n; i++)
        commas += b.p[i] == ',';
    assert_int_equal(commas, FIND_COUNT + RULE_COUNT - 1);
    assert_true(b.n < 2048); /* fits into a row of the vault */
    buf_close(&b);
}

/* Findings first, then rules. */
static const char *name_of(int i)
{
    return i < FIND_COUNT ? finding_name((enum finding)i) : rule_name((enum rule)(i - FIND_COUNT));
}
static const char *remedy_of(int i)
{
    return i < FIND_COUNT ? finding_remedy((enum finding)i)
                          : rule_remedy((enum rule)(i - FIND_COUNT));
}
#define NAMES (FIND_COUNT + RULE_COUNT)

static void test_finding_each_name_has_one_row_in_the_document(void **state)
{
    (void)state;
    FILE *f = fopen(DOC, "r");
    if (f == NULL)
        fail_msg("cannot open %s; run this test in the top folder", DOC);
    int rows[NAMES] = {0};
    char line[2048];
    while (fgets(line, sizeof line, f) != NULL) {
        assert_non_null(strchr(line, '\n')); /* the whole line */
        if (strncmp(line, "| `", 3) != 0)
            continue;
        char *name = line + 3;
        char *end = strchr(name, '`');
        assert_non_null(end);
        *end = '\0';
        int found = 0;
        while (found < NAMES && strcmp(name_of(found), name) != 0)
            found++;
        if (found == NAMES)
            fail_msg("%s has a row for %s, which is not a finding", DOC, name);
        rows[found]++;
        /* meaning, action, cause: none is empty */
        int cells = 0;
        char *save = NULL, *remedy = NULL;
        for (char *c = strtok_r(end + 1, "|\n", &save); c != NULL;
             c = strtok_r(NULL, "|\n", &save)) {
            cells += strlen(c) > 5;
            remedy = c;
        }
        if (cells != 3)
            fail_msg("the row of %s in %s has not three full cells", name, DOC);
        size_t n = strlen(remedy);
        struct slice cell = {remedy + 1, n - 2}; /* without the blanks */
        if (!slice_is(cell, remedy_of(found)))
            fail_msg("%s in %s: %.*s\n%s", name, DOC, (int)cell.n, cell.p, remedy_of(found));
    }
    assert_int_equal(ferror(f), 0);
    fclose(f);
    for (int i = 0; i < NAMES; i++)
        if (rows[i] != 1)
            fail_msg("%s has %d rows for %s", DOC, rows[i], name_of(i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finding_each_value_has_a_name_and_a_meaning),
        cmocka_unit_test(test_finding_each_rule_has_a_name_and_a_meaning),
        cmocka_unit_test(test_finding_list_joins_the_names_in_order),
        cmocka_unit_test(test_finding_each_name_has_one_row_in_the_document),
    };
    return cmocka_run_group_tests_name("finding", tests, NULL, NULL);
}
