/* The uid of a session: sorts by time, and is unique. */
#include "journal/uid.h"

#include "tests/support/unit.h"

#include <errno.h>

static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

static uint64_t time_of(const char *uid)
{
    uint64_t ms = 0;
    for (int i = 0; i < 10; i++)
        ms = ms << 5 | (uint64_t)(strchr(digits, uid[i]) - digits);
    return ms;
}

static bool denied; /* getrandom(2) */

int __real_getentropy(void *p, size_t n);
int __wrap_getentropy(void *p, size_t n);

int __wrap_getentropy(void *p, size_t n)
{
    errno = EPERM;
    return denied ? -1 : __real_getentropy(p, n);
}

static void test_uid_is_made_where_getrandom_is_denied(void **state)
{
    (void)state;
    char a[UID_LEN + 1], b[UID_LEN + 1];
    denied = true;
    assert_int_equal(uid_make(1700000000000000, a), 0);
    assert_int_equal(uid_make(1700000000000000, b), 0);
    denied = false;
    assert_int_equal(time_of(a), 1700000000000);
    assert_string_not_equal(a, b);
}

static void test_uid_has_26_characters_that_are_safe_everywhere(void **state)
{
    (void)state;
    char uid[UID_LEN + 1];
    for (int i = 0; i < 1000; i++) {
        memset(uid, '#', sizeof uid);
        assert_int_equal(uid_make(1700000000000000 + i, uid), 0);
        assert_int_equal(strlen(uid), 26);
        assert_int_equal(strspn(uid, digits), 26);
    }
}

static void test_uid_starts_with_the_time_in_milliseconds(void **state)
{
    (void)state;
    static const int64_t us[] = {0, 999, 1000, 1785542399123456, ((int64_t)1 << 48) * 1000 - 1};
    char uid[UID_LEN + 1];
    for (size_t i = 0; i < MI_COUNT(us); i++) {
        assert_int_equal(uid_make(us[i], uid), 0);
        assert_true(time_of(uid) == (uint64_t)(us[i] / 1000));
    }
}

static void test_uid_sorts_by_time(void **state)
{
    (void)state;
    char before[UID_LEN + 1], after[UID_LEN + 1];
    assert_int_equal(uid_make(0, before), 0);
    for (int64_t us = 1000; us < ((int64_t)1 << 48) * 1000 - 1; us = us * 3 + 1000) {
        assert_int_equal(uid_make(us, after), 0);
        assert_true(strcmp(before, after) < 0);
        memcpy(before, after, sizeof before);
    }
}

static int by_text(const void *a, const void *b)
{
    return memcmp(a, b, UID_LEN);
}

/* Each of the 16 characters after the time takes every value, and no two of many uids are equal. */
static void test_uid_is_unique_within_a_millisecond(void **state)
{
    (void)state;
    enum { N = 20000 };
    char(*all)[UID_LEN + 1] = malloc(N * sizeof *all);
    assert_non_null(all);
    unsigned seen[16] = {0};
    for (int i = 0; i < N; i++) {
        assert_int_equal(uid_make(1700000000000000, all[i]), 0);
        for (int k = 0; k < 16; k++)
            seen[k] |= 1u << (strchr(digits, all[i][10 + k]) - digits);
    }
    for (int k = 0; k < 16; k++)
        assert_int_equal(seen[k], UINT32_MAX);
    qsort(all, N, sizeof *all, by_text);
    for (int i = 1; i < N; i++)
        assert_true(by_text(all[i - 1], all[i]) != 0);
    free(all);
}

static void test_uid_is_valid_only_in_its_own_form(void **state)
{
    (void)state;
    char uid[UID_LEN + 2];
    assert_int_equal(uid_make(1700000000000000, uid), 0);
    assert_true(uid_is_valid(slice_of(uid)));
    for (size_t n = 0; n < UID_LEN; n++)
        assert_false(uid_is_valid((struct slice){uid, n}));
    assert_false(uid_is_valid((struct slice){0}));
    uid[UID_LEN] = '0';
    assert_false(uid_is_valid((struct slice){uid, UID_LEN + 1}));
    static const char other[] = "/.ILOUa\n\0-";
    for (size_t i = 0; i < sizeof other; i++)
        for (size_t at = 0; at < UID_LEN; at++) {
            char was = uid[at];
            uid[at] = other[i];
            assert_false(uid_is_valid((struct slice){uid, UID_LEN}));
            uid[at] = was;
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uid_is_made_where_getrandom_is_denied),
        cmocka_unit_test(test_uid_has_26_characters_that_are_safe_everywhere),
        cmocka_unit_test(test_uid_starts_with_the_time_in_milliseconds),
        cmocka_unit_test(test_uid_sorts_by_time),
        cmocka_unit_test(test_uid_is_unique_within_a_millisecond),
        cmocka_unit_test(test_uid_is_valid_only_in_its_own_form),
    };
    return cmocka_run_group_tests_name("uid", tests, NULL, NULL);
}
