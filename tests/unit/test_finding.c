/* The names of findings, and that docs/findings.md tells of each of them and of no other. */
#include "wire/finding.h"

#include "tests/unit/unit.h"

#define DOC "docs/findings.md"

static void test_finding_of_each_value_has_a_name_and_a_sentence(void **state)
{
    (void)state;
    for (int f = 0; f < FIND_COUNT; f++) {
        const char *name = finding_name((enum finding)f);
        const char *meaning = finding_meaning((enum finding)f);
        assert_non_null(name);
        assert_non_null(meaning);
        size_t n = strlen(name);
        assert_true(n > 1);
        /* a comma would break the list, a capital or a blank the habit */
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-"), n);
        assert_true(strlen(meaning) > 10 && meaning[strlen(meaning) - 1] == '.');
        for (int other = 0; other < f; other++)
            assert_string_not_equal(name, finding_name((enum finding)other));
    }
}

static void test_finding_list_joins_the_names_in_order(void **state)
{
    (void)state;
    static const struct {
        findings set;
        const char *list;
    } rows[] = {
        {0, ""},
        {FINDING(FIND_CRLF), "crlf"},
        {FINDING(FIND_SERVER_GONE), "server-gone"},
        {FINDING(FIND_BOM) | FINDING(FIND_CRLF) | FINDING(FIND_NULL_ID), "crlf,bom,null-id"},
    };
    struct buf b = {0};
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        buf_clear(&b);
        finding_list(&b, rows[i].set);
        assert_string_equal(buf_str(&b), rows[i].list);
    }
    buf_clear(&b);
    finding_list(&b, FINDING(FIND_COUNT) - 1);
    size_t commas = 0;
    for (size_t i = 0; i < b.n; i++)
        commas += b.p[i] == ',';
    assert_int_equal(commas, FIND_COUNT - 1);
    buf_close(&b);
}

static void test_finding_doc_has_one_full_row_for_each_name_and_no_other(void **state)
{
    (void)state;
    FILE *f = fopen(DOC, "r");
    if (f == NULL)
        fail_msg("cannot open %s; run this test in the top folder", DOC);
    int rows[FIND_COUNT] = {0};
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
        while (found < FIND_COUNT && strcmp(finding_name((enum finding)found), name) != 0)
            found++;
        if (found == FIND_COUNT)
            fail_msg("%s has a row for %s, which is no finding", DOC, name);
        rows[found]++;
        /* meaning, what is done, where it comes from: none is empty */
        int cells = 0;
        char *save = NULL;
        for (char *c = strtok_r(end + 1, "|\n", &save); c != NULL; c = strtok_r(NULL, "|\n", &save))
            cells += strlen(c) > 8;
        if (cells != 3)
            fail_msg("the row of %s in %s has not three full cells", name, DOC);
    }
    assert_int_equal(ferror(f), 0);
    fclose(f);
    for (int i = 0; i < FIND_COUNT; i++)
        if (rows[i] != 1)
            fail_msg("%s has %d rows for %s", DOC, rows[i], finding_name((enum finding)i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finding_of_each_value_has_a_name_and_a_sentence),
        cmocka_unit_test(test_finding_list_joins_the_names_in_order),
        cmocka_unit_test(test_finding_doc_has_one_full_row_for_each_name_and_no_other),
    };
    return cmocka_run_group_tests_name("finding", tests, NULL, NULL);
}
