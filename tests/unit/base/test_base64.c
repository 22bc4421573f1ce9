/* Base64 becomes bytes; anything else is refused. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base64_every_length_is_decoded),
        cmocka_unit_test(test_base64_padding_and_white_space_are_optional),
        cmocka_unit_test(test_base64_other_text_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
