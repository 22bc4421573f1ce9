/* Base64 becomes bytes, and bytes base64; anything else is refused. */
#include "base/base64.h"

#include "tests/support/unit.h"

static void check(const char *text, const char *want)
{
    struct buf b = {0};
    int st = base64_decode(&b, slice_of(text));
    if (want == NULL ? st != MI_EINVAL : st != 0 || strcmp(buf_str(&b), want) != 0)
        fail_msg("'%s': got %d '%s', wanted '%s'", text, st, buf_str(&b), want);
    buf_close(&b);
}

static void test_base64_every_length_is_decoded(void **state)
{
    (void)state; /* RFC 4648, section 10 */
    check("", "");
    check("Zg==", "f");
    check("Zm8=", "fo");
    check("Zm9v", "foo");
    check("Zm9vYg==", "foob");
    check("Zm9vYmE=", "fooba");
    check("Zm9vYmFy", "foobar");
}

static void test_base64_padding_and_white_space_are_optional(void **state)
{
    (void)state;
    check("Zg", "f");
    check("Zm8", "fo");
    check("Zm9v\r\n Ym Fy\n", "foobar");
    check("_-8=", "\xff\xef");
    check("/+8=", "\xff\xef");
}

static void test_base64_other_text_is_refused(void **state)
{
    (void)state;
    check("Z", NULL);
    check("Zm9vY", NULL);
    check("Zm9v!", NULL);
    check("Zg==Zg==", NULL);
    check("\xc3\xa4", NULL);
}

/* text: of these bytes, and only of them */
static void check_strict(const char *bytes, size_t n, const char *text)
{
    char got[16];
    struct buf b = {0};
    base64_encode(&b, bytes, n);
    assert_string_equal(buf_str(&b), text);
    assert_int_equal(base64_decoded_size(buf_slice(&b)), (int)n);
    assert_true(base64_read(buf_slice(&b), got, n));
    assert_memory_equal(got, bytes, n);
    assert_false(base64_read(buf_slice(&b), got, n + 1));
    assert_false(n > 0 && base64_read(buf_slice(&b), got, n - 1));
    buf_close(&b);
}

static void test_base64_bytes_are_encoded_and_read_strictly(void **state)
{
    (void)state; /* RFC 4648, section 10 */
    check_strict("", 0, "");
    check_strict("f", 1, "Zg==");
    check_strict("fo", 2, "Zm8=");
    check_strict("foo", 3, "Zm9v");
    check_strict("foob", 4, "Zm9vYg==");
    check_strict("fooba", 5, "Zm9vYmE=");
    check_strict("foobar", 6, "Zm9vYmFy");
    check_strict("\xff\xef", 2, "/+8=");
    check_strict("\0\0\0", 3, "AAAA");
}

static void test_base64_other_spellings_are_not_strict(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "Zg",   "Zg=",      "Zh==",    "Zm9=", "Zm9v\n", "Zm 9v",  "Z===",  "====", "=",
        "_-8=", "Zg==Zg==", "Zm9vYg=", "Zm9!", "Zm=v",   "Zm9v==", "Zg===", "Zg== "};
    for (size_t i = 0; i < MI_COUNT(texts); i++) {
        size_t n = strlen(texts[i]);
        char *copy = unit_copy(texts[i], n);
        if (base64_decoded_size((struct slice){copy, n}) != -1)
            fail_msg("'%s' is accepted", texts[i]);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base64_every_length_is_decoded),
        cmocka_unit_test(test_base64_padding_and_white_space_are_optional),
        cmocka_unit_test(test_base64_bytes_are_encoded_and_read_strictly),
        cmocka_unit_test(test_base64_other_spellings_are_not_strict),
        cmocka_unit_test(test_base64_other_text_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
