/* value: what an option accepts; command: finding one and its help; retain: rules of retention. */
#include "cli/settings/option_value.h"
#include "cli/settings/retain.h"

#include "tests/support/unit.h"

static void test_value_is_validated_by_its_argument_name(void **state)
{
    (void)state;
    static const struct {
        const char *arg, *value, *error; /* NULL: valid */
    } rows[] = {
        {"SIZE", "64MiB", NULL},
        {"SIZE", "", "invalid size '': use bytes, or a unit such as 512KiB or 64MiB"},
        {"SIZE", "-1", "invalid size '-1': "},
        {"DURATION", "12", NULL},
        {"DURATION", "12x", "invalid duration '12x': use a number and a unit, such as 30s or 5m"},
        {"AGE", "30d", NULL},
        {"AGE", "2w", NULL},
        {"AGE", "1mo", NULL},
        {"AGE", "0s", NULL},
        {"AGE", "30", "invalid age '30': use a number and a unit, such as 12h, 30d, 2w or 1mo"},
        {"AGE", "0", "invalid age '0': "},
        {"AGE", "", "invalid age '': "},
        {"AGE", "d", "invalid age 'd': "},
        {"AGE", "1M", "invalid age '1M': "},
        {"SPACE", "2GiB", NULL},
        {"SPACE", "1B", NULL},
        {"SPACE", "2", "invalid size '2': use a number and a unit, such as 500MiB or 2GiB"},
        {"SPACE", "2s", "invalid size '2s': "},
        {"WHEN", "2h", NULL},
        {"WHEN", "2w", NULL},
        {"WHEN", "2", "invalid time '2': use a duration before now, today, or a date such as "},
        {"N", "0", NULL},
        {"N", "1000000000", NULL},
        {"N", "1000000001", "invalid number '1000000001': use a number from 0 to 1000000000"},
        {"N", "99999999999999999999", "invalid number"},
        {"N", "1 ", "invalid number '1 '"},
        {"N", "", "invalid number ''"},
        {"fast|slow", "slow", NULL},
        {"fast|slow", "slo", "invalid value 'slo': use fast|slow"},
        {"fast|slow", "", "invalid value ''"},
        {"fast|slow", "fast|slow", "invalid value 'fast|slow'"},
        {"DIR", "/x", NULL},
        {"DIR", "", "invalid path ''"},
        {"FILE", "", "invalid path ''"},
        {"NAME", "", NULL},
        {"FILE...", "", NULL}, /* repeated values are checked by the command */
        {NULL, "", NULL},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        const struct opt o = {.name = "x", .arg = rows[i].arg};
        struct buf error = {0};
        bool ok = value_check_against_option(&o, rows[i].value, &error);
        if (ok != (rows[i].error == NULL) || (ok && error.n > 0) ||
            (!ok && strncmp(buf_str(&error), rows[i].error, strlen(rows[i].error)) != 0))
            fail_msg("%s '%s': %s", rows[i].arg, rows[i].value, buf_str(&error));
        buf_close(&error);
    }
}

/* ---- commands ---- */

static const struct opt table[] = {
    {'n', "number", "N", "7", "a number"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};
static const struct command one = {.name = "one",
                                   .aliases = "uno first-one",
                                   .summary = "do the first thing",
                                   .usage = "[OPTIONS]",
                                   .about = "More of it.\n",
                                   .table = table};
static const struct command two = {
    .name = "two", .summary = "do the second thing", .usage = "X", .table = table};
static const struct command *const commands[] = {&one, &two, NULL};

static void test_command_is_found_by_whole_names_and_aliases(void **state)
{
    (void)state;
    assert_ptr_equal(command_find(commands, "two"), &two);
    assert_ptr_equal(command_find(commands, "one"), &one);
    assert_ptr_equal(command_find(commands, "uno"), &one);
    assert_ptr_equal(command_find(commands, "first-one"), &one);
    static const char *const unknown[] = {"", "on", "ones", "un", "first", "uno first-one", " "};
    for (size_t i = 0; i < MI_COUNT(unknown); i++)
        assert_null(command_find(commands, unknown[i]));
}

static void test_command_help_has_options_with_defaults_and_notes(void **state)
{
    (void)state;
    struct buf b = {0};
    command_append_help(&b, &one);
    const char *text = buf_str(&b);
    assert_ptr_equal(strstr(text, "mcp-interposer one: do the first thing.\n\n"
                                  "Usage: mcp-interposer one [OPTIONS]\n\nOptions:\n"
                                  "  -n, --number N         a number [7]\n"),
                     text);
    assert_non_null(strstr(text, "\nOther names: uno first-one\n\nMore of it.\n"));
    buf_clear(&b);
    command_append_help(&b, &two);
    assert_null(strstr(buf_str(&b), "Other names"));
    buf_clear(&b);
    command_append_general_help(&b, commands);
    assert_non_null(strstr(buf_str(&b), "  one        do the first thing\n"
                                        "  two        do the second thing\n"));
    buf_close(&b);
}

/* ---- retention ---- */

static void test_retain_rules_of_the_configuration_are_parsed(void **state)
{
    (void)state;
    struct settings s = {.retention = {[RETAIN_OLDER] = "2h", [RETAIN_SIZE] = "1KiB"}};
    struct retention r;
    retain_read_configured_rules(&s, &r);
    assert_int_equal(r.older_us, 7200 * (int64_t)1000000);
    assert_int_equal(r.max_bytes, 1024);
    assert_int_equal(r.keep_last, 0);
    s.retention[RETAIN_LAST] = "12";
    retain_read_configured_rules(&s, &r);
    assert_int_equal(r.keep_last, 12);
    s = (struct settings){0};
    retain_read_configured_rules(&s, &r);
    assert_true(r.older_us == 0 && r.keep_last == 0 && r.max_bytes == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_value_is_validated_by_its_argument_name),
        cmocka_unit_test(test_command_is_found_by_whole_names_and_aliases),
        cmocka_unit_test(test_command_help_has_options_with_defaults_and_notes),
        cmocka_unit_test(test_retain_rules_of_the_configuration_are_parsed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
