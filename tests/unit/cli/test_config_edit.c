/* One key of [server NAME], written into the text of a configuration file. */
#include "cli/settings/config_edit.h"

#include "tests/support/unit.h"

static const struct {
    const char *text, *result;
    size_t line;
} rows[] = {
    {"", "[server s]\ntools = NEW\n", 0},
    {"a = 1\n", "a = 1\n\n[server s]\ntools = NEW\n", 0},
    {"a = 1", "a = 1\n\n[server s]\ntools = NEW\n", 0},
    {"[server s]\ntools = old\n", "[server s]\ntools = NEW\n", 2},
    {"[server s]\n  tools=old ; why\nread-only = yes\n",
     "[server s]\n  tools = NEW ; why\nread-only = yes\n", 2},
    {"[server s]\r\ntools = old\r\n", "[server s]\r\ntools = NEW\r\n", 2},
    {"[server s] ; c\n# tools = x\n;tools = y\n\n[server t]\ntools = z\n",
     "[server s] ; c\n# tools = x\n;tools = y\ntools = NEW\n\n[server t]\ntools = z\n", 4},
    {"[server  s ]\nread-only = yes", "[server  s ]\nread-only = yes\ntools = NEW\n", 3},
    {"[proxy]\ntools = z\n", "[proxy]\ntools = z\n\n[server s]\ntools = NEW\n", 0},
    /* the last one is in force */
    {"[server s]\ntools = a\n[proxy]\n[server s]\ntools : b\n",
     "[server s]\ntools = a\n[proxy]\n[server s]\ntools = NEW\n", 5},
    {"\xEF\xBB\xBF[server s]\ntools = a", "\xEF\xBB\xBF[server s]\ntools = NEW", 2},
    {"[server s]\r\ntools = old ; why\r\n", "[server s]\r\ntools = NEW ; why\r\n", 2},
    {"a = 1\r\n", "a = 1\r\n\r\n[server s]\r\ntools = NEW\r\n", 0},
    {"a = 1\r\nb = 2", "a = 1\r\nb = 2\r\n\r\n[server s]\r\ntools = NEW\r\n", 0},
    {"[server s]\r\nread-only = yes\r\n\r\n[proxy]\r\n",
     "[server s]\r\nread-only = yes\r\ntools = NEW\r\n\r\n[proxy]\r\n", 3},
    {"\n[server s]\n", "\n[server s]\ntools = NEW\n", 3},
    {"[server s2]\ntools = a\n", "[server s2]\ntools = a\n\n[server s]\ntools = NEW\n", 0},
};

static void test_config_edit_changes_one_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct config_edit e;
        struct buf all = {0};
        size_t n = strlen(rows[i].text);
        char *copy = unit_copy(rows[i].text, n);
        assert_int_equal(
            config_edit_server_setting((struct slice){copy, n}, "s", "tools", "NEW", &e), 0);
        size_t at = (size_t)(e.before.p - copy);
        buf_add(&all, copy, at);
        buf_slice_add(&all, buf_slice(&e.now));
        buf_add(&all, copy + at + e.before.n, n - at - e.before.n);
        assert_string_equal(buf_str(&all), rows[i].result);
        assert_int_equal(e.line, rows[i].line);
        buf_close(&all);
        buf_close(&e.now);
        free(copy);
    }
}

static void test_config_edit_rejects_names_that_no_section_has(void **state)
{
    (void)state;
    static const char *const names[] = {"", " a", "a ", "a]", "a\nb", "a ;b"};
    for (size_t i = 0; i < MI_COUNT(names); i++) {
        struct config_edit e;
        assert_int_equal(config_edit_server_setting(slice_of(""), names[i], "tools", "x", &e),
                         MI_EINVAL);
        buf_close(&e.now);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_edit_changes_one_line),
        cmocka_unit_test(test_config_edit_rejects_names_that_no_section_has),
    };
    return cmocka_run_group_tests_name("config_edit", tests, NULL, NULL);
}
