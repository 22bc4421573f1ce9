/* The list of the shards of a router. */
#include "ship/shards/shard_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static int read_list(struct shard_list *l, const char *text, struct buf *error)
{
    buf_clear(error);
    return shard_list_read(l, slice_of(text), error);
}

static void test_urls_are_in_order_with_their_lines(void **state)
{
    (void)state;
    struct shard_list l;
    struct buf error = {0};
    assert_int_equal(
        read_list(&l, "# all\n\n postgresql://a/d\t\r\n  # one\nhost=b dbname=d", &error), 0);
    assert_int_equal(l.n, 2);
    assert_string_equal(l.shard[0].url, "postgresql://a/d");
    assert_int_equal(l.shard[0].line, 3);
    assert_string_equal(l.shard[1].url, "host=b dbname=d");
    assert_int_equal(l.shard[1].line, 5);
    shard_list_close(&l);
    shard_list_close(&l);
    buf_close(&error);
}

static void test_a_list_without_urls_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n\n", "# a\n  #b"};
    struct shard_list l;
    struct buf error = {0};
    for (size_t i = 0; i < MI_COUNT(texts); i++) {
        assert_int_equal(read_list(&l, texts[i], &error), MI_EINVAL);
        assert_non_null(strstr(buf_str(&error), "lists no shards"));
    }
    buf_close(&error);
}

static void test_wrong_lines_are_named(void **state)
{
    (void)state;
    struct shard_list l;
    struct buf error = {0}, many = {0};
    assert_int_equal(read_list(&l, "host=a\n#\nhost=b\nhost=a\n", &error), MI_EINVAL);
    assert_string_equal(buf_str(&error), "line 4 is the same as line 1");
    buf_clear(&error);
    assert_int_equal(shard_list_read(&l, (struct slice){"a\nb\0c", 5}, &error), MI_EINVAL);
    assert_string_equal(buf_str(&error), "line 2: the URL has a NUL byte");
    for (int i = 0; i <= SHARD_LIST_MAX; i++)
        buf_printf(&many, "host=%d\n", i);
    assert_int_equal(read_list(&l, buf_str(&many), &error), MI_EINVAL);
    assert_string_equal(buf_str(&error), "line 257: there are too many shards: 256 at most");
    many.n -= strlen("host=256\n");
    assert_int_equal(shard_list_read(&l, buf_slice(&many), &error), 0);
    assert_int_equal(l.n, SHARD_LIST_MAX);
    shard_list_close(&l);
    buf_close(&many);
    buf_close(&error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_urls_are_in_order_with_their_lines),
        cmocka_unit_test(test_a_list_without_urls_is_refused),
        cmocka_unit_test(test_wrong_lines_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
