/* keyed_hash: the values of the reference implementation. */
#include "tests/support/unit.h"

#include "base/keyed_hash.h"

/* Key 00 01 … 0f, input 00 01 … of n bytes: appendix A of "SipHash: a fast short-input PRF", and vectors.h of its authors. */
static void test_keyed_hash_equals_the_published_vectors(void **state)
{
    (void)state;
    static const struct hash_key key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
    static const struct {
        size_t n;
        uint64_t hash;
    } rows[] = {{0, 0x726fdb47dd0e0e31}, {1, 0x74f839c593dc67fd}, {15, 0xa129ca6149be45e5}};
    char bytes[16];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)i;
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        assert_true(keyed_hash(&key, (struct slice){bytes, rows[i].n}) == rows[i].hash);
}

static void test_keyed_hash_depends_on_the_key_and_each_byte(void **state)
{
    (void)state;
    struct hash_key a = {1, 2}, b = {1, 3};
    char text[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    uint64_t hash = keyed_hash(&a, slice_of(text));
    assert_true(keyed_hash(&b, slice_of(text)) != hash);
    for (size_t i = 0; i + 1 < sizeof text; i++) {
        text[i] ^= 1;
        assert_true(keyed_hash(&a, slice_of(text)) != hash);
        text[i] ^= 1;
    }
    assert_true(keyed_hash(&a, slice_of(text)) == hash);
}

static void test_keyed_mix_depends_on_the_key_the_length_and_each_byte(void **state)
{
    (void)state;
    struct hash_key a = {1, 2}, b = {1, 3};
    char text[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    for (size_t n = 0; n < sizeof text; n++) {
        uint64_t hash = keyed_mix_bytes(&a, 5, (struct slice){text, n});
        assert_true(keyed_mix_bytes(&b, 5, (struct slice){text, n}) != hash);
        assert_true(keyed_mix_bytes(&a, 6, (struct slice){text, n}) != hash);
        assert_true(keyed_mix_bytes(&a, 5, (struct slice){text, n + 1}) != hash);
        for (size_t i = 0; i < n; i++) {
            text[i] ^= 1;
            assert_true(keyed_mix_bytes(&a, 5, (struct slice){text, n}) != hash);
            text[i] ^= 1;
        }
        assert_true(keyed_mix_bytes(&a, 5, (struct slice){text, n}) == hash);
    }
    assert_true(keyed_hash_pair(&a, 1, 2) != keyed_hash_pair(&a, 2, 1));
    assert_true(keyed_hash_pair(&a, 1, 2) != keyed_hash_pair(&b, 1, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keyed_hash_equals_the_published_vectors),
        cmocka_unit_test(test_keyed_hash_depends_on_the_key_and_each_byte),
        cmocka_unit_test(test_keyed_mix_depends_on_the_key_the_length_and_each_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
