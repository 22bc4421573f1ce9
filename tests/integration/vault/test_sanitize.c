/* Received texts are made valid UTF-8 without NUL before they are stored, and names are unescaped. */
#include "vault/store/sanitize.h"

#include "tests/support/unit.h"

#include "base/text.h"

static bool no_memory;
void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n)
{
    return no_memory ? NULL : __real_realloc(p, n);
}

static void test_sanitize_plain_text_is_not_copied(void **state)
{
    (void)state;
    struct row_sanitizer k = {0};
    struct sanitized_row kept;
    struct row r = {
        .rpc_id = slice_of("\"a\\n\""), /* an id is kept as it was written */
        .method = slice_of("tools/call"),
        .target = slice_of("caf\xc3\xa9"),
        .body = slice_of("{\"x\":\"\\u0000\"}"), /* and so is a body */
    };
    assert_int_equal(sanitize_row(&k, &r, &kept), 0);
    assert_ptr_equal(kept.rpc_id.p, r.rpc_id.p);
    assert_ptr_equal(kept.method.p, r.method.p);
    assert_ptr_equal(kept.target.p, r.target.p);
    assert_ptr_equal(kept.body.p, r.body.p);
    assert_int_equal(kept.body.n, r.body.n);
    sanitize_close(&k);
}

static void test_sanitize_absent_text_stays_absent(void **state)
{
    (void)state;
    struct row_sanitizer k = {0};
    struct sanitized_row kept;
    struct row r = {.not_json = true};
    assert_int_equal(sanitize_row(&k, &r, &kept), 0);
    assert_null(kept.rpc_id.p);
    assert_null(kept.method.p);
    assert_null(kept.target.p);
    assert_null(kept.body.p);
    sanitize_close(&k);
}

/* Empty differs from absent, also if no buffer is allocated yet. */
static void test_sanitize_empty_text_is_not_absent(void **state)
{
    (void)state;
    struct row_sanitizer k = {0};
    struct sanitized_row kept;
    struct row r = {.rpc_id = slice_of("\"\""),
                    .method = slice_of(""),
                    .target = slice_of(""),
                    .body = slice_of(""),
                    .not_json = true};
    assert_int_equal(sanitize_row(&k, &r, &kept), 0);
    assert_non_null(kept.method.p);
    assert_int_equal(kept.method.n, 0);
    assert_non_null(kept.target.p);
    assert_non_null(kept.body.p);
    assert_int_equal(kept.body.n, 0);
    sanitize_close(&k);
}

static void test_sanitize_escapes_of_names_are_resolved(void **state)
{
    (void)state;
    struct row_sanitizer k = {0};
    struct sanitized_row kept;
    struct row r = {.method = slice_of("m\\u0065thod\\/\\\\x"),
                    .target = slice_of("\\ud83d\\ude00\\t")};
    assert_int_equal(sanitize_row(&k, &r, &kept), 0);
    assert_true(slice_is(kept.method, "method/\\x"));
    assert_true(slice_is(kept.target, "\xf0\x9f\x98\x80\t"));
    sanitize_close(&k);
}

static void test_sanitize_names_have_no_nul_and_no_partial_character(void **state)
{
    (void)state;
    struct row_sanitizer k = {0};
    struct sanitized_row kept;
    struct row r = {.method = slice_of("a\\u0000b"), .target = slice_of("x\\ud800y")};
    assert_int_equal(sanitize_row(&k, &r, &kept), 0);
    assert_true(slice_is(kept.method, "a\xef\xbf\xbd"
                                      "b"));
    assert_true(slice_is(kept.target, "x\xef\xbf\xbdy"));
    sanitize_close(&k);
}

static void test_sanitize_bytes_that_are_not_json_become_valid_text(void **state)
{
    (void)state;
    struct row_sanitizer k = {0};
    struct sanitized_row kept;
    static const char bytes[] = "ok \xff \0 \xc3\xa9 \xe2\x82";
    struct row r = {.body = {bytes, sizeof bytes - 1}, .not_json = true};
    assert_int_equal(sanitize_row(&k, &r, &kept), 0);
    assert_int_equal(kept.body.n,
                     sizeof("ok \xef\xbf\xbd \xef\xbf\xbd \xc3\xa9 \xef\xbf\xbd\xef\xbf\xbd") - 1);
    assert_memory_equal(
        kept.body.p, "ok \xef\xbf\xbd \xef\xbf\xbd \xc3\xa9 \xef\xbf\xbd\xef\xbf\xbd", kept.body.n);
    sanitize_close(&k);
}

/* Random bytes in all parts: the results are valid UTF-8 without NUL, and names are short. */
static void test_sanitize_any_bytes_become_valid_text(void **state)
{
    (void)state;
    struct row_sanitizer k = {0};
    struct unit_random rnd = {23};
    for (int round = 0; round < 3000; round++) {
        char bytes[300];
        size_t n = unit_random(&rnd, sizeof bytes);
        for (size_t i = 0; i < n; i++)
            bytes[i] = (char)unit_random(&rnd, 256);
        char *copy = unit_copy(bytes, n);
        struct row r = {.body = {copy, n}, .not_json = true};
        struct sanitized_row kept;
        assert_int_equal(sanitize_row(&k, &r, &kept), 0);
        for (size_t i = 0; i < kept.body.n;) {
            size_t len = text_utf8_len(kept.body.p + i, kept.body.n - i);
            assert_true(len > 0);
            assert_true(kept.body.p[i] != '\0');
            i += len;
        }
        free(copy);
    }
    sanitize_close(&k);
}

static void test_sanitize_long_names_are_truncated_between_characters(void **state)
{
    (void)state;
    struct row_sanitizer k = {0};
    struct sanitized_row kept;
    struct buf plain = {0}, escaped = {0};
    for (int i = 0; i < 3000; i++) {
        buf_adds(&plain, "\xe2\x82\xac");
        buf_adds(&escaped, "\\u20ac");
    }
    struct row r = {.method = buf_slice(&plain), .target = buf_slice(&escaped)};
    assert_int_equal(sanitize_row(&k, &r, &kept), 0);
    assert_int_equal(kept.method.n, 4095);
    assert_int_equal(kept.target.n, 4095);
    assert_memory_equal(kept.method.p, plain.p, 4095);
    assert_memory_equal(kept.target.p, plain.p, 4095);
    buf_clear(&plain);
    for (int i = 0; i < STORED_NAME_MAX; i++)
        buf_addc(&plain, 'x');
    r.method = buf_slice(&plain);
    assert_int_equal(sanitize_row(&k, &r, &kept), 0);
    assert_ptr_equal(kept.method.p, plain.p); /* exactly the maximum length */
    buf_close(&plain);
    buf_close(&escaped);
    sanitize_close(&k);
}

static void test_sanitize_long_id_is_omitted(void **state)
{
    (void)state;
    struct row_sanitizer k = {0};
    struct sanitized_row kept;
    struct buf id = {0};
    for (int i = 0; i < STORED_NAME_MAX; i++)
        buf_addc(&id, '1');
    struct row r = {.rpc_id = buf_slice(&id)};
    assert_int_equal(sanitize_row(&k, &r, &kept), 0);
    assert_int_equal(kept.rpc_id.n, STORED_NAME_MAX);
    buf_addc(&id, '1');
    r.rpc_id = buf_slice(&id);
    assert_int_equal(sanitize_row(&k, &r, &kept), 0);
    assert_null(kept.rpc_id.p);
    buf_close(&id);
    sanitize_close(&k);
}

/* The buffer moves when it grows: earlier parts must not point into the old one. */
static void test_sanitize_all_changed_parts_are_valid_together(void **state)
{
    (void)state;
    struct sanitized_row kept;
    struct buf body = {0}, want = {0};
    for (int i = 0; i < 100000; i++) {
        buf_addc(&body, '\xff');
        buf_adds(&want, "\xef\xbf\xbd");
    }
    for (int round = 0; round < 2; round++) {
        struct row_sanitizer k = {0};
        struct row r = {.method = slice_of("\\u0061bc"),
                        .target = slice_of("x\\u0079z"),
                        .body = buf_slice(&body),
                        .not_json = true};
        assert_int_equal(sanitize_row(&k, &r, &kept), 0);
        assert_true(slice_is(kept.method, "abc"));
        assert_true(slice_is(kept.target, "xyz"));
        assert_true(slice_eq(kept.body, buf_slice(&want)));
        sanitize_close(&k);
    }
    buf_close(&body);
    buf_close(&want);
}

static void test_sanitize_without_memory_fails_and_works_again_later(void **state)
{
    (void)state;
    struct row_sanitizer k = {0};
    struct sanitized_row kept;
    struct row r = {.method = slice_of("\\u0061"), .body = slice_of("\xff"), .not_json = true};
    no_memory = true;
    int st = sanitize_row(&k, &r, &kept);
    no_memory = false;
    assert_int_equal(st, MI_ENOMEM);
    assert_int_equal(sanitize_row(&k, &r, &kept), 0);
    assert_true(slice_is(kept.method, "a"));
    assert_true(slice_is(kept.body, "\xef\xbf\xbd"));
    sanitize_close(&k);
}

/* The last clean name is remembered. */
static void test_sanitize_a_secret_name_is_found_after_a_clean_one(void **state)
{
    (void)state;
    static const char *const names[] = {"a-name-of-20-letters", "AKIAZ7Q3XK5LMN2PRT4V",
                                        "a-name-of-20-letters", "AKIAZ7Q3XK5LMN2PRT4W"};
    struct row_sanitizer k = {0};
    struct sanitized_row kept;
    for (size_t i = 0; i < MI_COUNT(names); i++) {
        struct row r = {.method = slice_of(names[i]), .target = slice_of(names[i])};
        assert_int_equal(sanitize_row(&k, &r, &kept), 0);
        assert_true(slice_is(kept.method, names[i]) == (i % 2 == 0));
        assert_true(slice_is(kept.target, names[i]) == (i % 2 == 0));
    }
    sanitize_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sanitize_plain_text_is_not_copied),
        cmocka_unit_test(test_sanitize_absent_text_stays_absent),
        cmocka_unit_test(test_sanitize_empty_text_is_not_absent),
        cmocka_unit_test(test_sanitize_escapes_of_names_are_resolved),
        cmocka_unit_test(test_sanitize_names_have_no_nul_and_no_partial_character),
        cmocka_unit_test(test_sanitize_bytes_that_are_not_json_become_valid_text),
        cmocka_unit_test(test_sanitize_any_bytes_become_valid_text),
        cmocka_unit_test(test_sanitize_long_names_are_truncated_between_characters),
        cmocka_unit_test(test_sanitize_long_id_is_omitted),
        cmocka_unit_test(test_sanitize_all_changed_parts_are_valid_together),
        cmocka_unit_test(test_sanitize_a_secret_name_is_found_after_a_clean_one),
        cmocka_unit_test(test_sanitize_without_memory_fails_and_works_again_later),
    };
    return cmocka_run_group_tests_name("keep", tests, NULL, NULL);
}
