/* Values that were given as text get the type that the tool's inputSchema wants. */
#include "cli/send/argument_json.h"

#include "tests/support/unit.h"

static const char schema_text[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"s\":{\"type\":\"string\"},\"i\":{\"type\":\"integer\"},\"n\":{\"type\":\"number\"},"
    "\"b\":{\"type\":\"boolean\"},\"o\":{\"type\":\"object\"},"
    "\"e\":{\"enum\":[\"a\",1]},"
    "\"maybe\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]},"
    "\"maybe_i\":{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"null\"}]},"
    "\"list\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
    "\"numbers\":{\"type\":\"array\",\"items\":{\"type\":\"number\"}},"
    "\"ref\":{\"$ref\":\"#/$defs/count\"},\"short\":{\"type\":\"string\",\"maxLength\":2},"
    "\"any\":{},\"a\\u0062c\":{\"type\":\"integer\"}},"
    "\"$defs\":{\"count\":{\"type\":\"integer\",\"minimum\":1}}}";

static struct json_value schema(void)
{
    return (struct json_value){JSON_OBJECT, slice_of(schema_text)};
}

/* words: separated by blanks. */
static void check(const char *words, const char *want)
{
    struct cli_value_list l = {0};
    struct buf out = {0}, error = {0};
    char *copy = strdup(words), *rest = copy;
    for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL;)
        assert_int_equal(cli_value_add_word(&l, word, false, &error), 0);
    argument_json_append_object(&out, schema(), &l);
    if (strcmp(buf_str(&out), want) != 0)
        fail_msg("%s: got '%s', wanted '%s'", words, buf_str(&out), want);
    cli_value_close(&l);
    buf_close(&out);
    buf_close(&error);
    free(copy);
}

static void test_argument_json_text_gets_the_type_of_the_schema(void **state)
{
    (void)state;
    check("s=3 i=3 n=3.5 b=true", "{\"s\":\"3\",\"i\":3,\"n\":3.5,\"b\":true}");
    check("s=true s2=x", "{\"s\":\"true\",\"s2\":\"x\"}");
    check("o={\"x\":1}", "{\"o\":{\"x\":1}}");
    check("e=a", "{\"e\":\"a\"}");
    check("e=1", "{\"e\":1}");
    check("ref=3", "{\"ref\":3}");
    check("abc=3", "{\"abc\":3}");
}

static void test_argument_json_text_stays_text_where_the_schema_allows_it(void **state)
{
    (void)state;
    check("any=3", "{\"any\":\"3\"}");
    check("unknown=3", "{\"unknown\":\"3\"}");
    check("maybe=null", "{\"maybe\":\"null\"}");
    check("maybe_i=null", "{\"maybe_i\":null}");
}

static void test_argument_json_json_stays_as_it_is(void **state)
{
    (void)state;
    check("s:=3 any:={\"x\":1.0} maybe:=null s2:=\"@x\"",
          "{\"s\":3,\"any\":{\"x\":1.0},\"maybe\":null,\"s2\":\"@x\"}");
}

static void test_argument_json_arrays_are_one_value_or_several(void **state)
{
    (void)state;
    check("list=a", "{\"list\":[\"a\"]}");
    check("list=3", "{\"list\":[\"3\"]}");
    check("list=[\"a\",\"b\"]", "{\"list\":[\"a\",\"b\"]}");
    check("list=a s=x list=3", "{\"list\":[\"a\",\"3\"],\"s\":\"x\"}");
    check("numbers=3", "{\"numbers\":[3]}");
    check("numbers=3 numbers=4", "{\"numbers\":[3,4]}");
    check("any=3 any:=4", "{\"any\":[\"3\",4]}");
}

/* The check of all arguments reports them. */
static void test_argument_json_values_that_do_not_fit_keep_the_likely_type(void **state)
{
    (void)state;
    check("i=x", "{\"i\":\"x\"}");
    check("i=3.5", "{\"i\":3.5}");
    check("ref=0", "{\"ref\":0}");
    check("short=123", "{\"short\":\"123\"}");
}

static void test_argument_json_unknown_names_are_those_of_a_schema_that_lists_its_own(void **state)
{
    (void)state;
    static const char closed[] = "{\"properties\":{\"a\":{}},\"additionalProperties\": false}";
    static const char open[] = "{\"properties\":{\"a\":{}},\"additionalProperties\":true}";
    struct json_value none = {0}, any = {JSON_OBJECT, slice_of("{\"type\":\"object\"}")};
    assert_true(argument_json_name_is_undeclared(schema(), slice_of("sx")));
    assert_false(argument_json_name_is_undeclared(schema(), slice_of("s")));
    assert_false(argument_json_name_is_undeclared(schema(), slice_of("abc")));
    assert_false(argument_json_name_is_undeclared((struct json_value){JSON_OBJECT, slice_of(open)},
                                                  slice_of("x")));
    assert_true(argument_json_name_is_undeclared((struct json_value){JSON_OBJECT, slice_of(closed)},
                                                 slice_of("x")));
    assert_false(argument_json_name_is_undeclared(
        (struct json_value){JSON_OBJECT, slice_of(closed)}, slice_of("a")));
    assert_false(argument_json_name_is_undeclared(none, slice_of("x")));
    assert_false(argument_json_name_is_undeclared(any, slice_of("x")));
}

static void check_param(const char *method, const char *word, const char *want)
{
    struct cli_value_list l = {0};
    struct buf out = {0}, error = {0};
    assert_int_equal(cli_value_add_word(&l, word, false, &error), 0);
    argument_json_append_param(&out, method, &l.list[0]);
    assert_string_equal(buf_str(&out), want);
    cli_value_close(&l);
    buf_close(&out);
    buf_close(&error);
}

static void test_argument_json_params_of_other_methods_have_the_types_of_the_protocol(void **state)
{
    (void)state;
    check_param("resources/read", "uri=7", "\"7\"");
    check_param("completion/complete", "ref={\"type\":\"ref/prompt\",\"name\":\"x\"}",
                "{\"type\":\"ref/prompt\",\"name\":\"x\"}");
    check_param("completion/complete", "ref=x", "\"x\"");
    check_param("x/y", "z=7", "\"7\"");
    check_param("x/y", "z:=7", "7");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_argument_json_text_gets_the_type_of_the_schema),
        cmocka_unit_test(test_argument_json_text_stays_text_where_the_schema_allows_it),
        cmocka_unit_test(test_argument_json_json_stays_as_it_is),
        cmocka_unit_test(test_argument_json_arrays_are_one_value_or_several),
        cmocka_unit_test(test_argument_json_values_that_do_not_fit_keep_the_likely_type),
        cmocka_unit_test(test_argument_json_unknown_names_are_those_of_a_schema_that_lists_its_own),
        cmocka_unit_test(test_argument_json_params_of_other_methods_have_the_types_of_the_protocol),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
