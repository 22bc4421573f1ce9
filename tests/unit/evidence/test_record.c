/* digest: SHA-256; record: the bytes that a commitment hashes; salts: the pool. */
#include "evidence/record.h"

#include "base/buf.h"
#include "evidence/salts.h"

#include "tests/support/unit.h"

static void check_hex(const struct digest *d, const char *want)
{
    char hex[DIGEST_HEX + 1];
    digest_hex(d, hex);
    assert_string_equal(hex, want);
}

static void test_digest_fips_180_4_examples(void **state)
{
    (void)state;
    static const struct {
        const char *text, *hex;
    } rows[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct digest d = digest_of_text(slice_of(rows[i].text));
        check_hex(&d, rows[i].hex);
    }
    struct digest_sum s;
    struct digest d;
    char part[1000];
    memset(part, 'a', sizeof part);
    digest_begin(&s);
    for (int i = 0; i < 1000; i++)
        digest_add(&s, part, sizeof part);
    digest_end(&s, &d);
    check_hex(&d, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void test_digest_hex_is_read_only_in_lower_case_and_whole(void **state)
{
    (void)state;
    static const char good[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    struct digest want = digest_of_text(slice_of("abc")), d;
    assert_true(digest_read_hex(slice_of(good), &d) && digest_eq(&d, &want));
    char text[DIGEST_HEX + 2];
    for (size_t i = 0; i < DIGEST_HEX; i++)
        for (int c = 0; c < 256; c++) {
            bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
            memcpy(text, good, sizeof good);
            text[i] = (char)c;
            assert_int_equal(digest_read_hex((struct slice){text, DIGEST_HEX}, &d), digit);
        }
    for (size_t n = 0; n < DIGEST_HEX; n++)
        assert_false(digest_read_hex((struct slice){good, n}, &d));
    snprintf(text, sizeof text, "%s0", good);
    assert_false(digest_read_hex(slice_of(text), &d));
}

/* ---- records -------------------------------------------------------------------------------- */

static const struct salt salt = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};

/* The bytes that are hashed, made in another way: docs/evidence.md. */
static void begin(struct buf *b)
{
    buf_adds(b, "mcpi1");
    buf_add(b, salt.b, SALT_N);
    buf_adds(b, "\x06"
                "event");
}

static void check_record(struct record *r, struct buf *b)
{
    struct digest got, want = digest_of_text(buf_slice(b));
    record_finish_digest(r, &got);
    if (!digest_eq(&got, &want))
        fail_msg("another commitment than that of %zu bytes", b->n);
    buf_close(b);
}

static void test_record_lengths_are_one_more_in_leb128(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        const char *prefix;
        size_t prefix_n;
    } rows[] = {
        {0, "\x01", 1},
        {1, "\x02", 1},
        {126, "\x7F", 1},
        {127, "\x80\x01", 2},
        {128, "\x81\x01", 2},
        {16382, "\xFF\x7F", 2},
        {16383, "\x80\x80\x01", 3},
        {2097150, "\xFF\xFF\x7F", 3},
        {2097151, "\x80\x80\x80\x01", 4},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct record r;
        struct buf b = {0};
        char *text = calloc(rows[i].n + 1, 1);
        assert_non_null(text);
        memset(text, 'x', rows[i].n);
        record_begin_digest(&r, &salt, "event");
        record_add_text(&r, (struct slice){text, rows[i].n});
        begin(&b);
        buf_add(&b, rows[i].prefix, rows[i].prefix_n);
        buf_add(&b, text, rows[i].n);
        check_record(&r, &b);
        free(text);
    }
}

static void test_record_null_is_not_an_empty_text(void **state)
{
    (void)state;
    struct record r;
    struct buf b = {0};
    record_begin_digest(&r, &salt, "event");
    record_add_null(&r);
    record_add_text(&r, (struct slice){0});
    record_add_text(&r, slice_of(""));
    record_add_number_or_null(&r, false, 7);
    record_add_number_or_null(&r, true, 7);
    begin(&b);
    buf_add(&b,
            "\0\0\x01\0\x02"
            "7",
            6);
    check_record(&r, &b);
}

static void test_record_numbers_are_decimal(void **state)
{
    (void)state;
    static const struct {
        int64_t v;
        const char *field;
    } rows[] = {
        {0, "\x02"
            "0"},
        {-1, "\x03-1"},
        {10, "\x03"
             "10"},
        {-32602, "\x07-32602"},
        {INT64_MAX, "\x14"
                    "9223372036854775807"},
        {INT64_MIN, "\x15-9223372036854775808"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct record r;
        struct buf b = {0};
        record_begin_digest(&r, &salt, "event");
        record_add_number(&r, rows[i].v);
        begin(&b);
        buf_adds(&b, rows[i].field);
        check_record(&r, &b);
    }
}

/* The fields are collected in a buffer of 384 bytes: texts of all lengths, at all places in it. */
static void test_record_is_the_same_however_its_fields_are_split(void **state)
{
    (void)state;
    char text[900];
    memset(text, 'y', sizeof text);
    for (size_t before = 0; before < 420; before += unit_slow() ? 37 : 1)
        for (size_t n = 0; n < 420; n += unit_slow() ? 41 : 1) {
            struct record r;
            struct digest got, want;
            struct digest_sum s;
            record_begin_digest(&r, &salt, "event");
            record_add_length(&r, before);
            record_add_bytes(&r, (struct slice){text, before});
            record_add_length(&r, n);
            record_add_bytes(&r, (struct slice){text, n / 3});
            record_add_bytes(&r, (struct slice){text, 0});
            record_add_bytes(&r, (struct slice){text, n - n / 3});
            record_add_text(&r, slice_of("z"));
            record_finish_digest(&r, &got);

            const size_t lengths[] = {before, n};
            digest_begin(&s);
            digest_add(&s, "mcpi1", 5);
            digest_add(&s, salt.b, SALT_N);
            digest_add(&s,
                       "\x06"
                       "event",
                       6);
            for (size_t i = 0; i < 2; i++) {
                size_t v = lengths[i] + 1;
                uint8_t prefix[] = {(uint8_t)((v & 0x7F) | (v > 0x7F ? 0x80 : 0)),
                                    (uint8_t)(v >> 7)};
                digest_add(&s, prefix, v > 0x7F ? 2 : 1);
                digest_add(&s, text, lengths[i]);
            }
            digest_add(&s, "\x02z", 2);
            digest_end(&s, &want);
            if (!digest_eq(&got, &want))
                fail_msg("%zu bytes, then %zu", before, n);
        }
}

/* ---- salts ---------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, SALT_N);
}

static void test_salts_all_differ_and_none_stays_in_the_pool(void **state)
{
    (void)state;
    enum { N = 3 * SALTS_POOL / SALT_N + 1 };
    static struct salts pool;
    static struct salt got[N];
    static const uint8_t zero[SALT_N];
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(salts_take_next_salt(&pool, &got[i]), 0);
        assert_memory_equal(pool.pool + pool.left, zero, SALT_N);
    }
    qsort(got, N, sizeof got[0], compare);
    for (size_t i = 1; i < N; i++)
        assert_true(compare(&got[i - 1], &got[i]) != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digest_fips_180_4_examples),
        cmocka_unit_test(test_digest_hex_is_read_only_in_lower_case_and_whole),
        cmocka_unit_test(test_record_is_the_same_however_its_fields_are_split),
        cmocka_unit_test(test_record_lengths_are_one_more_in_leb128),
        cmocka_unit_test(test_record_null_is_not_an_empty_text),
        cmocka_unit_test(test_record_numbers_are_decimal),
        cmocka_unit_test(test_salts_all_differ_and_none_stays_in_the_pool),
    };
    return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
