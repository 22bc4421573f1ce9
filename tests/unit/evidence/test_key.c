/* key: Ed25519 keys in the text forms of signed notes, and their signatures. */
#include "evidence/key.h"

#include "base/base64.h"

#include "tests/support/unit.h"

/* The example of Go's golang.org/x/mod/sumdb/note. */
#define PETER "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
#define PETER_SECRET                                                                               \
    "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
#define TEXT                                                                                       \
    "If you think cryptography is the answer to your problem,\n"                                   \
    "then you don't know what your problem is.\n"
#define SIGNATURE                                                                                  \
    "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM="

static void test_key_texts_are_read_and_written(void **state)
{
    (void)state;
    struct public_key public;
    struct secret_key secret;
    struct buf b = {0};
    assert_int_equal(key_read_public(slice_of(PETER), &public), 0);
    assert_string_equal(public.name, "PeterNeumann");
    assert_memory_equal(public.hash, "\xc7\x4f\x20\xa3", KEY_HASH_N);
    key_write_public(&b, &public);
    assert_string_equal(buf_str(&b), PETER);
    buf_clear(&b);
    assert_int_equal(key_read_secret(slice_of(PETER_SECRET), &secret), 0);
    assert_true(key_eq(&secret.public, &public));
    key_write_secret(&b, &secret);
    assert_string_equal(buf_str(&b), PETER_SECRET);
    key_erase(&secret);
    buf_close(&b);
}

static void test_key_any_part_of_a_text_is_refused(void **state)
{
    (void)state;
    struct public_key public;
    struct secret_key secret;
    size_t n = strlen(PETER);
    for (size_t i = 0; i < n; i++)
        for (size_t k = i; k <= n; k++)
            if ((i > 0 || k < n) && key_read_public((struct slice){&PETER[i], k - i}, &public) == 0)
                fail_msg("'%.*s' is accepted", (int)(k - i), &PETER[i]);
    n = strlen(PETER_SECRET);
    for (size_t i = 0; i < n; i++)
        for (size_t k = i; k <= n; k++)
            if ((i > 0 || k < n) &&
                key_read_secret((struct slice){&PETER_SECRET[i], k - i}, &secret) == 0)
                fail_msg("'%.*s' is accepted", (int)(k - i), &PETER_SECRET[i]);
}

/* Also changes that are only another spelling of the same bytes. */
static void test_key_any_other_byte_is_refused(void **state)
{
    (void)state;
    char text[sizeof PETER_SECRET];
    struct public_key public;
    struct secret_key secret;
    for (size_t i = 0; i < strlen(PETER); i++)
        for (int c = 0; c < 256; c++) {
            memcpy(text, PETER, sizeof PETER);
            text[i] = (char)c;
            if (strcmp(text, PETER) != 0)
                assert_int_equal(key_read_public((struct slice){text, strlen(PETER)}, &public),
                                 MI_EINVAL);
        }
    for (size_t i = 0; i < strlen(PETER_SECRET); i++) {
        memcpy(text, PETER_SECRET, sizeof PETER_SECRET);
        text[i]++;
        assert_int_equal(key_read_secret(slice_of(text), &secret), MI_EINVAL);
    }
}

static void test_key_texts_with_a_right_hash_and_another_content_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        /* the key is too long, the type is unknown */
        "PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==",
        "PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "",
        "+",
        "++",
        "PeterNeumann+C74F20A3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        PETER "\n",
        " " PETER,
    };
    struct public_key k;
    for (size_t i = 0; i < MI_COUNT(texts); i++)
        if (key_read_public(slice_of(texts[i]), &k) != MI_EINVAL)
            fail_msg("'%s' is accepted", texts[i]);
}

static void test_key_signature_is_that_of_the_example(void **state)
{
    (void)state;
    struct secret_key k;
    uint8_t want[KEY_HASH_N + SIGNATURE_N], got[SIGNATURE_N];
    assert_int_equal(key_read_secret(slice_of(PETER_SECRET), &k), 0);
    assert_int_equal(key_sign(&k, slice_of(TEXT), got), 0);
    assert_true(base64_read(slice_of(SIGNATURE), want, sizeof want));
    assert_memory_equal(want, k.public.hash, KEY_HASH_N);
    assert_memory_equal(want + KEY_HASH_N, got, SIGNATURE_N);
    assert_true(key_verify_signature(&k.public, slice_of(TEXT), got));
    for (size_t bit = 0; bit < 8 * SIGNATURE_N; bit++) {
        got[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(key_verify_signature(&k.public, slice_of(TEXT), got));
        got[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_false(key_verify_signature(&k.public, slice_of(TEXT "\n"), got));
    k.public.b[0] ^= 1;
    assert_false(key_verify_signature(&k.public, slice_of(TEXT), got));
    key_erase(&k);
}

/* RFC 8032, section 7.1, tests 1 and 2, as private keys with the name `t`. */
static void test_key_signatures_are_those_of_rfc_8032(void **state)
{
    (void)state;
    static const struct {
        const char *key, *text, *signature;
    } rows[] = {
        {"PRIVATE+KEY+t+6266ec87+AZ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g", "",
         "5VZDAMNgrHKQhuLMgG6CioSHfx645dl02HPgZSJJAVVfuIIVkKM7rMYeOXAc+bRr0lv18FlbviRlUUFDjnoQCw="
         "="},
        {"PRIVATE+KEY+t+192fbfa0+AUzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7", "r",
         "kqAJqfDUyrhyDoILX2QlQKKye1QWUD+Ps3YiI+vbadoIWsHkPhWZbkWPNhPQ8R2MOHsurrQwKu6wDSkWErsMAA="
         "="},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct secret_key k;
        uint8_t want[SIGNATURE_N], got[SIGNATURE_N];
        assert_int_equal(key_read_secret(slice_of(rows[i].key), &k), 0);
        assert_true(base64_read(slice_of(rows[i].signature), want, SIGNATURE_N));
        assert_int_equal(key_sign(&k, slice_of(rows[i].text), got), 0);
        assert_memory_equal(got, want, SIGNATURE_N);
        key_erase(&k);
    }
}

static void test_key_made_keys_differ_and_sign(void **state)
{
    (void)state;
    struct secret_key a, b;
    uint8_t signature[SIGNATURE_N];
    assert_int_equal(key_make(slice_of("one"), &a), 0);
    assert_int_equal(key_make(slice_of("one"), &b), 0);
    assert_false(key_eq(&a.public, &b.public));
    assert_int_equal(key_sign(&a, slice_of("text"), signature), 0);
    assert_true(key_verify_signature(&a.public, slice_of("text"), signature));
    assert_false(key_verify_signature(&b.public, slice_of("text"), signature));
    key_erase(&a);
    static const struct secret_key none;
    assert_memory_equal(&a, &none, sizeof a);
    key_erase(&b);
}

static void test_key_names(void **state)
{
    (void)state;
    char longest[KEY_NAME_MAX + 2];
    memset(longest, 'a', sizeof longest);
    assert_true(key_name_is_valid((struct slice){longest, KEY_NAME_MAX}));
    assert_false(key_name_is_valid((struct slice){longest, KEY_NAME_MAX + 1}));
    static const char *const bad[] = {"", " ", "a b", "a+b", "a\n", "\x7f", "\xc3\xa4", "a\tb"};
    for (size_t i = 0; i < MI_COUNT(bad); i++)
        assert_false(key_name_is_valid(slice_of(bad[i])));
    assert_true(key_name_is_valid(slice_of("example.org/a-b_c~!")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_key_any_other_byte_is_refused),
        cmocka_unit_test(test_key_any_part_of_a_text_is_refused),
        cmocka_unit_test(test_key_made_keys_differ_and_sign),
        cmocka_unit_test(test_key_names),
        cmocka_unit_test(test_key_signatures_are_those_of_rfc_8032),
        cmocka_unit_test(test_key_signature_is_that_of_the_example),
        cmocka_unit_test(test_key_texts_are_read_and_written),
        cmocka_unit_test(test_key_texts_with_a_right_hash_and_another_content_are_refused),
    };
    return cmocka_run_group_tests_name("key", tests, NULL, NULL);
}
