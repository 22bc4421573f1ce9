/* The list of tools: pages, repeated lists, and lists that do not fit. */
#include "wire/schema/tools.h"

#include "base/clock.h"
#include "tests/support/unit.h"
#include "wire/json/text.h"

#include <stdio.h>

/* A result of tools/list with 'single' quotes. *ret_next: the hash of the cursor of the next page. */
static void page(struct tools *t, const char *result, uint64_t cursor)
{
    struct buf line = {0};
    struct rpc m;
    buf_printf(&line, "{'jsonrpc':'2.0','id':1,'result':%s}", result);
    for (size_t i = 0; i < line.n; i++)
        if (line.p[i] == '\'')
            line.p[i] = '"';
    assert_int_equal(rpc_read(buf_slice(&line), &m), 0);
    tools_add_page(t, &m, cursor);
    buf_close(&line);
}

static bool has(struct tools *t, const char *name)
{
    return tools_find(t, slice_of(name)) != NULL;
}

static void test_tools_list_is_complete_with_its_last_page(void **state)
{
    (void)state;
    struct tools t = {0};
    assert_false(tools_are_complete(&t));
    page(&t, "{'tools':[{'name':'b'},{'name':'a'}],'nextCursor':'2'}", 0);
    assert_true(has(&t, "a") && has(&t, "b") && has(&t, "\\u0061") && !has(&t, "c"));
    assert_false(tools_are_complete(&t));
    uint64_t next = t.next;
    page(&t, "{'tools':[{'name':'x'}]}", next + 1); /* of another list */
    assert_false(has(&t, "x") || tools_are_complete(&t));
    page(&t, "{'tools':[{'name':'c'}]}", next);
    assert_true(tools_are_complete(&t) && has(&t, "a") && has(&t, "c"));
    page(&t, "{'tools':[{'name':'c'}]}", 0); /* a new list */
    assert_true(tools_are_complete(&t) && !has(&t, "a"));
    tools_forget_all(&t);
    assert_false(tools_are_complete(&t) || has(&t, "c"));
    tools_close(&t);
    tools_close(&t);
}

static void test_tools_schema_is_compiled_once_per_definition(void **state)
{
    (void)state;
    struct tools t = {0};
    struct schema_fault f = {{0}, {0}};
    struct json_value none = {0}, text = {JSON_OBJECT, {"{\"a\":\"x\"}", 9}};
    page(&t, "{'tools':[{'name':'n','inputSchema':{'required':['a']}},{'name':'z'}]}", 0);
    assert_int_equal(tools_check_arguments(&t, tools_find(&t, slice_of("n")), none, &f),
                     SCHEMA_FAILS);
    assert_string_equal(buf_str(&f.reason), "\"a\" is missing");
    struct schema *s = tools_find(&t, slice_of("n"))->input.schema;
    assert_non_null(s);
    page(&t, "{'tools':[{'name':'n','inputSchema':{'required':['a']}},{'name':'y'}]}", 0);
    assert_ptr_equal(tools_find(&t, slice_of("n"))->input.schema, s);
    assert_int_equal(tools_check_arguments(&t, tools_find(&t, slice_of("n")), text, NULL),
                     SCHEMA_FITS);
    page(&t, "{'tools':[{'name':'n','inputSchema':{'required':['b']}}]}", 0);
    assert_int_equal(tools_check_arguments(&t, tools_find(&t, slice_of("n")), text, NULL),
                     SCHEMA_FAILS);
    assert_true(!has(&t, "y") && t.n == 1);
    schema_fault_close(&f);
    tools_close(&t);
}

static void test_tools_oversized_list_is_never_complete(void **state)
{
    (void)state;
    struct tools t = {0};
    struct buf list = {0};
    buf_adds(&list, "{'tools':[");
    for (size_t i = 0; i < TOOLS_MAX + 1; i++)
        buf_printf(&list, "%s{'name':'t%zu'}", i > 0 ? "," : "", i);
    buf_adds(&list, "]}");
    page(&t, buf_str(&list), 0);
    assert_false(tools_are_complete(&t));
    assert_int_equal(t.n, TOOLS_MAX);
    buf_clear(&list);
    buf_adds(&list, "{'tools':[{'name':'big','description':'");
    for (size_t i = 0; i < TOOLS_BYTES_MAX; i++)
        buf_addc(&list, 'x');
    buf_adds(&list, "'},{'name':'small'}]}");
    page(&t, buf_str(&list), 0);
    assert_true(has(&t, "small") && !has(&t, "big") && !tools_are_complete(&t));
    assert_int_equal(t.n, 1);
    page(&t, "{'tools':[{'name':'small'}]}", 0);
    assert_true(tools_are_complete(&t));
    buf_close(&list);
    tools_close(&t);
}

static void test_tools_new_definition_counts_instead_of_the_old_one(void **state)
{
    (void)state;
    struct tools t = {0};
    for (char c = 'a'; c <= 'c'; c++) {
        struct buf list = {0};
        buf_adds(&list, "{'tools':[{'name':'big','description':'");
        for (size_t i = 0; i < TOOLS_BYTES_MAX / 4 * 3; i++)
            buf_addc(&list, c);
        buf_adds(&list, "'}]}");
        page(&t, buf_str(&list), 0);
        assert_true(has(&t, "big") && tools_are_complete(&t));
        buf_close(&list);
    }
    /* another tool has grown and fits only without "big", which is not listed any more */
    page(&t, "{'tools':[{'name':'big'},{'name':'small'}]}", 0);
    for (int i = 0; i < 2; i++) {
        struct buf list = {0};
        buf_printf(&list, "{'tools':[{'name':'%s','description':'", i == 0 ? "big" : "small");
        for (size_t k = 0; k < TOOLS_BYTES_MAX / 4 * 3; k++)
            buf_addc(&list, 'x');
        buf_printf(&list, "'}%s]}", i == 0 ? ",{'name':'small'}" : "");
        page(&t, buf_str(&list), 0);
        assert_true(has(&t, "small") && tools_are_complete(&t));
        buf_close(&list);
    }
    assert_int_equal(t.n, 1);
    tools_close(&t);
}

/* Each tool beyond the limit would look for old tools in all others: 300,000 took 3 s, four million half a minute. */
static void test_tools_beyond_the_limit_take_linear_time(void **state)
{
    (void)state;
    struct tools t = {0};
    struct buf list = {0};
    buf_adds(&list, "{'tools':[");
    for (size_t i = 0; i < 300000; i++)
        buf_printf(&list, "%s{'name':'t%zu'}", i > 0 ? "," : "", i);
    buf_adds(&list, "]}");
    int64_t from = clock_thread_us();
    page(&t, buf_str(&list), 0);
    assert_true(clock_thread_us() - from < (unit_slow() ? 60000000 : 1500000));
    assert_int_equal(t.n, TOOLS_MAX);
    buf_close(&list);
    tools_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tools_list_is_complete_with_its_last_page),
        cmocka_unit_test(test_tools_schema_is_compiled_once_per_definition),
        cmocka_unit_test(test_tools_oversized_list_is_never_complete),
        cmocka_unit_test(test_tools_new_definition_counts_instead_of_the_old_one),
        cmocka_unit_test(test_tools_beyond_the_limit_take_linear_time),
    };
    return cmocka_run_group_tests_name("tools", tests, NULL, NULL);
}
