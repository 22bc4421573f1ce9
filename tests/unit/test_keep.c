/* The one door between what was received and what is stored: valid UTF-8 without NUL, names resolved. */
#include "vault/keep.h"

#include "tests/unit/unit.h"

#include "base/text.h"

static bool no_memory;
void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n)
{
    return no_memory ? NULL : __real_realloc(p, n);
}

static void test_keep_plain_text_stays_where_it_is(void **state)
{
    (void)state;
    struct keep k = {0};
    struct kept kept;
    struct row r = {
        .rpc_id = slice_of("\"a\\n\""), /* an id is kept as it was written */
        .method = slice_of("tools/call"),
        .target = slice_of("caf\xc3\xa9"),
        .body = slice_of("{\"x\":\"\\u0000\"}"), /* and so is a line */
    };
    assert_int_equal(keep_row(&k, &r, &kept), 0);
    assert_ptr_equal(kept.rpc_id.p, r.rpc_id.p);
    assert_ptr_equal(kept.method.p, r.method.p);
    assert_ptr_equal(kept.target.p, r.target.p);
    assert_ptr_equal(kept.body.p, r.body.p);
    assert_int_equal(kept.body.n, r.body.n);
    keep_close(&k);
}

static void test_keep_what_is_not_there_stays_away(void **state)
{
    (void)state;
    struct keep k = {0};
    struct kept kept;
    struct row r = {.not_json = true};
    assert_int_equal(keep_row(&k, &r, &kept), 0);
    assert_null(kept.rpc_id.p);
    assert_null(kept.method.p);
    assert_null(kept.target.p);
    assert_null(kept.body.p);
    keep_close(&k);
}

/* Empty is not the same as absent, and the first row of all needs no memory for it. */
static void test_keep_empty_text_is_there(void **state)
{
    (void)state;
    struct keep k = {0};
    struct kept kept;
    struct row r = {.rpc_id = slice_of("\"\""),
                    .method = slice_of(""),
                    .target = slice_of(""),
                    .body = slice_of(""),
                    .not_json = true};
    assert_int_equal(keep_row(&k, &r, &kept), 0);
    assert_non_null(kept.method.p);
    assert_int_equal(kept.method.n, 0);
    assert_non_null(kept.target.p);
    assert_non_null(kept.body.p);
    assert_int_equal(kept.body.n, 0);
    keep_close(&k);
}

static void test_keep_escapes_of_names_are_resolved(void **state)
{
    (void)state;
    struct keep k = {0};
    struct kept kept;
    struct row r = {.method = slice_of("m\\u0065thod\\/\\\\x"),
                    .target = slice_of("\\ud83d\\ude00\\t")};
    assert_int_equal(keep_row(&k, &r, &kept), 0);
    assert_true(slice_is(kept.method, "method/\\x"));
    assert_true(slice_is(kept.target, "\xf0\x9f\x98\x80\t"));
    keep_close(&k);
}

static void test_keep_names_without_a_nul_or_half_a_character(void **state)
{
    (void)state;
    struct keep k = {0};
    struct kept kept;
    struct row r = {.method = slice_of("a\\u0000b"), .target = slice_of("x\\ud800y")};
    assert_int_equal(keep_row(&k, &r, &kept), 0);
    assert_true(slice_is(kept.method, "a\xef\xbf\xbd"
                                      "b"));
    assert_true(slice_is(kept.target, "x\xef\xbf\xbdy"));
    keep_close(&k);
}

static void test_keep_bytes_that_are_no_json_become_valid_text(void **state)
{
    (void)state;
    struct keep k = {0};
    struct kept kept;
    static const char bytes[] = "ok \xff \0 \xc3\xa9 \xe2\x82";
    struct row r = {.body = {bytes, sizeof bytes - 1}, .not_json = true};
    assert_int_equal(keep_row(&k, &r, &kept), 0);
    assert_int_equal(kept.body.n,
                     sizeof("ok \xef\xbf\xbd \xef\xbf\xbd \xc3\xa9 \xef\xbf\xbd\xef\xbf\xbd") - 1);
    assert_memory_equal(
        kept.body.p, "ok \xef\xbf\xbd \xef\xbf\xbd \xc3\xa9 \xef\xbf\xbd\xef\xbf\xbd", kept.body.n);
    keep_close(&k);
}

/* Random bytes as any part: what comes out is valid UTF-8, without NUL, and names are short. */
static void test_keep_any_bytes_come_out_as_valid_text(void **state)
{
    (void)state;
    struct keep k = {0};
    struct unit_random rnd = {23};
    for (int round = 0; round < 3000; round++) {
        char bytes[300];
        size_t n = unit_random(&rnd, sizeof bytes);
        for (size_t i = 0; i < n; i++)
            bytes[i] = (char)unit_random(&rnd, 256);
        char *copy = unit_copy(bytes, n);
        struct row r = {.body = {copy, n}, .not_json = true};
        struct kept kept;
        assert_int_equal(keep_row(&k, &r, &kept), 0);
        for (size_t i = 0; i < kept.body.n;) {
            size_t len = text_utf8_len(kept.body.p + i, kept.body.n - i);
            assert_true(len > 0);
            assert_true(kept.body.p[i] != '\0');
            i += len;
        }
        free(copy);
    }
    keep_close(&k);
}

static void test_keep_long_names_are_cut_between_two_characters(void **state)
{
    (void)state;
    struct keep k = {0};
    struct kept kept;
    struct buf plain = {0}, escaped = {0};
    for (int i = 0; i < 3000; i++) {
        buf_adds(&plain, "\xe2\x82\xac");
        buf_adds(&escaped, "\\u20ac");
    }
    struct row r = {.method = buf_slice(&plain), .target = buf_slice(&escaped)};
    assert_int_equal(keep_row(&k, &r, &kept), 0);
    assert_int_equal(kept.method.n, 4095);
    assert_int_equal(kept.target.n, 4095);
    assert_memory_equal(kept.method.p, plain.p, 4095);
    assert_memory_equal(kept.target.p, plain.p, 4095);
    buf_clear(&plain);
    for (int i = 0; i < KEEP_NAME_MAX; i++)
        buf_addc(&plain, 'x');
    r.method = buf_slice(&plain);
    assert_int_equal(keep_row(&k, &r, &kept), 0);
    assert_ptr_equal(kept.method.p, plain.p); /* just as long as it may be */
    buf_close(&plain);
    buf_close(&escaped);
    keep_close(&k);
}

static void test_keep_long_id_is_left_out_not_cut(void **state)
{
    (void)state;
    struct keep k = {0};
    struct kept kept;
    struct buf id = {0};
    for (int i = 0; i < KEEP_NAME_MAX; i++)
        buf_addc(&id, '1');
    struct row r = {.rpc_id = buf_slice(&id)};
    assert_int_equal(keep_row(&k, &r, &kept), 0);
    assert_int_equal(kept.rpc_id.n, KEEP_NAME_MAX);
    buf_addc(&id, '1');
    r.rpc_id = buf_slice(&id);
    assert_int_equal(keep_row(&k, &r, &kept), 0);
    assert_null(kept.rpc_id.p);
    buf_close(&id);
    keep_close(&k);
}

/* The buffer moves while it grows: earlier parts must not be left behind in the old one. */
static void test_keep_all_parts_made_anew_stay_good_together(void **state)
{
    (void)state;
    struct kept kept;
    struct buf body = {0}, want = {0};
    for (int i = 0; i < 100000; i++) {
        buf_addc(&body, '\xff');
        buf_adds(&want, "\xef\xbf\xbd");
    }
    for (int round = 0; round < 2; round++) {
        struct keep k = {0};
        struct row r = {.method = slice_of("\\u0061bc"),
                        .target = slice_of("x\\u0079z"),
                        .body = buf_slice(&body),
                        .not_json = true};
        assert_int_equal(keep_row(&k, &r, &kept), 0);
        assert_true(slice_is(kept.method, "abc"));
        assert_true(slice_is(kept.target, "xyz"));
        assert_true(slice_eq(kept.body, buf_slice(&want)));
        keep_close(&k);
    }
    buf_close(&body);
    buf_close(&want);
}

static void test_keep_without_memory_fails_and_goes_on_later(void **state)
{
    (void)state;
    struct keep k = {0};
    struct kept kept;
    struct row r = {.method = slice_of("\\u0061"), .body = slice_of("\xff"), .not_json = true};
    no_memory = true;
    int st = keep_row(&k, &r, &kept);
    no_memory = false;
    assert_int_equal(st, MI_ENOMEM);
    assert_int_equal(keep_row(&k, &r, &kept), 0);
    assert_true(slice_is(kept.method, "a"));
    assert_true(slice_is(kept.body, "\xef\xbf\xbd"));
    keep_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keep_plain_text_stays_where_it_is),
        cmocka_unit_test(test_keep_what_is_not_there_stays_away),
        cmocka_unit_test(test_keep_empty_text_is_there),
        cmocka_unit_test(test_keep_escapes_of_names_are_resolved),
        cmocka_unit_test(test_keep_names_without_a_nul_or_half_a_character),
        cmocka_unit_test(test_keep_bytes_that_are_no_json_become_valid_text),
        cmocka_unit_test(test_keep_any_bytes_come_out_as_valid_text),
        cmocka_unit_test(test_keep_long_names_are_cut_between_two_characters),
        cmocka_unit_test(test_keep_long_id_is_left_out_not_cut),
        cmocka_unit_test(test_keep_all_parts_made_anew_stay_good_together),
        cmocka_unit_test(test_keep_without_memory_fails_and_goes_on_later),
    };
    return cmocka_run_group_tests_name("keep", tests, NULL, NULL);
}
