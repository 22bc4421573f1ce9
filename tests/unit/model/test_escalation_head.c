/* The front matter of an escalation's file. */
#include "model/escalation_head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct escalation_head example(void)
{
    return (struct escalation_head){.cause = ESCALATION_HANG,
                                    .server = slice_of("fi\"les\n---\ncount: 7"),
                                    .tool = slice_of("read\xc3\xa9"),
                                    .session = slice_of(""),
                                    .seq = 12,
                                    .first_at = slice_of("2026-11-21T10:15:40.043Z"),
                                    .last_at = slice_of("2026-11-21T10:15:40.043Z"),
                                    .count = 1,
                                    .interposer = slice_of("1.0")};
}

static void test_escalation_head_texts_are_json_strings_and_nothing_unknown_is_written(void **state)
{
    (void)state;
    struct escalation_head h = example();
    struct buf b = {0};
    escalation_head_append_fields(&b, &h);
    assert_string_equal(buf_str(&b), "---\n"
                                     "cause: hang\n"
                                     "server: \"fi\\\"les\\n---\\ncount: 7\"\n"
                                     "tool: \"read\xc3\xa9\"\n"
                                     "session: \"\"\n"
                                     "seq: 12\n"
                                     "first_at: \"2026-11-21T10:15:40.043Z\"\n"
                                     "last_at: \"2026-11-21T10:15:40.043Z\"\n"
                                     "count: 1\n"
                                     "interposer: \"1.0\"\n"
                                     "---\n");
    buf_close(&b);
}

/* An empty text is read as a missing one. */
static bool same(struct cell a, struct cell b)
{
    return a.number == b.number && slice_eq(a.text, b.text);
}

static void test_escalation_head_is_read_as_it_was_written(void **state)
{
    (void)state;
    struct escalation_head h = example(), got;
    struct buf b = {0}, texts = {0};
    escalation_head_append_fields(&b, &h);
    buf_adds(&b, "\ntool: \"not in the front matter\"\n");
    escalation_head_read(buf_slice(&b), &texts, &got);
    for (size_t i = 0; i < FIELDS_OF_ESCALATION_HEAD; i++) {
        const struct record_field *f = &fields_of_escalation_head.list[i];
        if (!same(field_get(f, &h), field_get(f, &got)))
            fail_msg("%s", f->name);
    }
    buf_close(&b);
    buf_close(&texts);
}

static void test_escalation_head_value_of_another_type_is_null(void **state)
{
    (void)state;
    struct escalation_head h;
    struct buf texts = {0};
    escalation_head_read(slice_of("---\ncause: tired\nseq: \"7\"\ncount: 1e99\ntool: [1\ntool: 2\n"
                                  "server:none\nunknown: 1\nmethod: \n---\n"),
                         &texts, &h);
    assert_int_equal(h.cause, ESCALATION_CAUSE_UNKNOWN);
    assert_int_equal(h.seq, 0);
    assert_int_equal(h.count, 0);
    assert_true(slice_is(h.tool, "[1"));
    assert_null(h.server.p);
    assert_null(h.method.p);
    buf_close(&texts);
}

static void test_escalation_head_any_beginning_of_a_file_can_be_read(void **state)
{
    (void)state;
    struct escalation_head h = example(), got;
    struct buf b = {0}, texts = {0};
    escalation_head_append_fields(&b, &h);
    for (size_t n = 0; n < b.n; n++) {
        char *copy = malloc(n > 0 ? n : 1); /* n bytes: a sanitizer sees a read past them */
        assert_non_null(copy);
        memcpy(copy, b.p, n);
        escalation_head_read((struct slice){copy, n}, &texts, &got);
        assert_int_equal(got.cause, ESCALATION_CAUSE_UNKNOWN);
        assert_int_equal(got.count, 0);
        free(copy);
    }
    buf_close(&b);
    buf_close(&texts);
}

static void test_escalation_head_set_changes_one_value_only(void **state)
{
    (void)state;
    struct escalation_head h = {.count = 42, .last_at = slice_of("later")};
    struct buf b = {0};
    buf_adds(&b, "---\nmine: 1\ncount: 1\nnote: kept\n---\n\ncount: 1\n");
    assert_true(escalation_head_set_field(&b, ESCALATION_HEAD_AT_count, &h));
    assert_string_equal(buf_str(&b), "---\nmine: 1\ncount: 42\nnote: kept\n---\n\ncount: 1\n");
    assert_false(escalation_head_set_field(&b, ESCALATION_HEAD_AT_last_at, &h));
    buf_clear(&b);
    buf_adds(&b, "count: 1\n---\n");
    assert_false(escalation_head_set_field(&b, ESCALATION_HEAD_AT_count, &h));
    buf_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_escalation_head_texts_are_json_strings_and_nothing_unknown_is_written),
        cmocka_unit_test(test_escalation_head_is_read_as_it_was_written),
        cmocka_unit_test(test_escalation_head_value_of_another_type_is_null),
        cmocka_unit_test(test_escalation_head_any_beginning_of_a_file_can_be_read),
        cmocka_unit_test(test_escalation_head_set_changes_one_value_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
