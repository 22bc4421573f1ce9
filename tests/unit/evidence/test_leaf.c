/* leaf: the leaves of the log as text. */
#include "evidence/leaf.h"

#include "base/buf.h"

#include "tests/support/unit.h"

#define VAULT "01M7YSNFPE4WHD7A4MYSYTND3Q"
#define UID "01M7YSNFPE4WHD7A4MYSYTND3R"
#define HASH "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define ROOT "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"

/* As in docs/evidence.md. */
static const char *const texts[] = {
    "{\"type\":\"begin\",\"version\":1,\"vault\":\"" VAULT
    "\",\"at_us\":1795256140000000,\"after\":0}",
    "{\"type\":\"begin\",\"version\":1,\"vault\":\"" VAULT "\",\"at_us\":1,\"after\":4711}",
    "{\"type\":\"open\",\"session\":\"" UID "\",\"id\":1,\"commitment\":\"" HASH "\"}",
    "{\"type\":\"seal\",\"session\":\"" UID
    "\",\"at_us\":1795256141000000,\"end\":\"client-closed\",\"commitment\":\"" HASH
    "\",\"records\":15,\"root\":\"" ROOT "\"}",
    "{\"type\":\"seal\",\"session\":\"" UID
    "\",\"at_us\":1795256141000000,\"end\":null,\"commitment\":\"" HASH
    "\",\"records\":1,\"root\":\"" ROOT "\"}",
    "{\"type\":\"seal\",\"session\":\"" UID
    "\",\"at_us\":9223372036854775807,\"end\":\"a\\\"b\\\\\\u0007\",\"commitment\":\"" HASH
    "\",\"records\":9223372036854775807,\"root\":\"" ROOT "\"}",
    "{\"type\":\"prune\",\"session\":\"" UID "\",\"at_us\":1795256143000000}",
    "{\"type\":\"redact\",\"session\":\"" UID
    "\",\"at_us\":1795256142000000,\"records\":2,\"digest\":\"" HASH "\"}",
    "{\"type\":\"key\",\"at_us\":1,\"key\":\"a+b+c\",\"previous\":null,\"signature\":\"d\","
    "\"previous_signature\":null}",
    "{\"type\":\"key\",\"at_us\":1,\"key\":\"a\",\"previous\":\"b\",\"signature\":\"c\","
    "\"previous_signature\":\"d\"}",
};

static void test_leaf_each_type_is_read_and_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(texts); i++) {
        struct leaf l;
        struct buf b = {0};
        if (leaf_read(slice_of(texts[i]), &l) != 0)
            fail_msg("refused: %s", texts[i]);
        leaf_write(&b, &l);
        assert_string_equal(buf_str(&b), texts[i]);
        buf_close(&b);
    }
}

static void test_leaf_members_are_those_of_the_text(void **state)
{
    (void)state;
    struct leaf l;
    struct digest hash = digest_of_text(slice_of("abc"));
    char hex[DIGEST_HEX + 1];
    assert_int_equal(leaf_read(slice_of(texts[1]), &l), 0);
    assert_true(l.type == LEAF_BEGIN && slice_is(l.uid, VAULT) && l.at_us == 1 && l.id == 4711);
    assert_int_equal(leaf_read(slice_of(texts[2]), &l), 0);
    assert_true(l.type == LEAF_OPEN && slice_is(l.uid, UID) && l.id == 1 && l.at_us == 0);
    assert_true(digest_eq(&l.digest, &hash));
    assert_int_equal(leaf_read(slice_of(texts[3]), &l), 0);
    assert_true(l.type == LEAF_SEAL && slice_is(l.end, "client-closed") && l.records == 15);
    assert_true(digest_eq(&l.digest, &hash));
    digest_hex(&l.root, hex);
    assert_string_equal(hex, ROOT);
    assert_int_equal(leaf_read(slice_of(texts[4]), &l), 0);
    assert_null(l.end.p);
    assert_int_equal(leaf_read(slice_of(texts[6]), &l), 0);
    assert_true(l.type == LEAF_PRUNE && l.at_us == 1795256143000000);
    assert_int_equal(leaf_read(slice_of(texts[7]), &l), 0);
    assert_true(l.type == LEAF_REDACT && l.records == 2 && digest_eq(&l.digest, &hash));
    assert_int_equal(leaf_read(slice_of(texts[9]), &l), 0);
    assert_true(l.type == LEAF_KEY && slice_is(l.key, "a") && slice_is(l.previous, "b") &&
                slice_is(l.signature, "c") && slice_is(l.previous_signature, "d"));
}

static void test_leaf_any_part_of_one_is_refused(void **state)
{
    (void)state;
    struct leaf l;
    for (size_t i = 0; i < MI_COUNT(texts); i++)
        for (size_t n = 0; n < strlen(texts[i]); n++) {
            char *copy = unit_copy(texts[i], n);
            assert_int_equal(leaf_read((struct slice){copy, n}, &l), MI_EINVAL);
            free(copy);
        }
}

/* A byte of a leaf may be another one, but then the leaf that is read is another one as well. */
static void test_leaf_what_is_read_is_exactly_the_text(void **state)
{
    (void)state;
    struct leaf l;
    for (size_t i = 0; i < MI_COUNT(texts); i++) {
        size_t n = strlen(texts[i]);
        char *copy = unit_copy(texts[i], n);
        for (size_t at = 0; at < n; at++)
            for (int bit = 0; bit < 8; bit++) {
                copy[at] = (char)(copy[at] ^ 1 << bit);
                if (leaf_read((struct slice){copy, n}, &l) == 0) {
                    struct buf b = {0};
                    leaf_write(&b, &l);
                    assert_true(slice_eq(buf_slice(&b), (struct slice){copy, n}));
                    buf_close(&b);
                }
                copy[at] = (char)(copy[at] ^ 1 << bit);
            }
        free(copy);
    }
}

static void test_leaf_other_spellings_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "{}",
        "[]",
        "null",
        "{\"type\":\"other\"}",
        "{\"type\":1}",
        /* the order, a member more, less, or twice */
        "{\"type\":\"prune\",\"at_us\":1,\"session\":\"" UID "\"}",
        "{\"session\":\"" UID "\",\"type\":\"prune\",\"at_us\":1}",
        "{\"type\":\"prune\",\"session\":\"" UID "\",\"at_us\":1,\"more\":1}",
        "{\"type\":\"prune\",\"session\":\"" UID "\"}",
        "{\"type\":\"prune\",\"session\":\"" UID "\",\"at_us\":1,\"at_us\":1}",
        "{\"type\":\"prune\",\"type\":\"prune\",\"session\":\"" UID "\",\"at_us\":1}",
        /* white space, and numbers and texts in other forms */
        " {\"type\":\"prune\",\"session\":\"" UID "\",\"at_us\":1}",
        "{\"type\":\"prune\",\"session\":\"" UID "\",\"at_us\":1}\n",
        "{\"type\": \"prune\",\"session\":\"" UID "\",\"at_us\":1}",
        "{\"type\":\"prune\",\"session\":\"" UID "\",\"at_us\":1.0}",
        "{\"type\":\"prune\",\"session\":\"" UID "\",\"at_us\":1e0}",
        "{\"type\":\"prune\",\"session\":\"" UID "\",\"at_us\":-0}",
        "{\"type\":\"prune\",\"session\":\"" UID "\",\"at_us\":\"1\"}",
        "{\"type\":\"prune\",\"session\":\"" UID "\",\"at_us\":null}",
        "{\"type\":\"prune\",\"session\":\"" UID "\",\"at_us\":9223372036854775808}",
        "{\"type\":\"prune\",\"session\":\"\\u00301M7YSNFPE4WHD7A4MYSYTND3R\",\"at_us\":1}",
        "{\"type\":\"prun\\u0065\",\"session\":\"" UID "\",\"at_us\":1}",
        "{\"type\":\"prune\",\"session\":null,\"at_us\":1}",
        "{\"type\":\"key\",\"at_us\":1,\"key\":null,\"previous\":null,\"signature\":\"d\","
        "\"previous_signature\":null}",
        "{\"type\":\"key\",\"at_us\":1,\"key\":\"d\",\"previous\":null,\"signature\":null,"
        "\"previous_signature\":null}",
        "{\"type\":\"begin\",\"version\":2,\"vault\":\"" VAULT "\",\"at_us\":1,\"after\":0}",
        /* hashes: upper case, short, null */
        "{\"type\":\"open\",\"session\":\"" UID
        "\",\"id\":1,\"commitment\":\"BA7816bf8f01cfea414140de5"
        "dae2223b00361a396177a9cb410ff61f20015ad\"}",
        "{\"type\":\"open\",\"session\":\"" UID "\",\"id\":1,\"commitment\":\"ba\"}",
        "{\"type\":\"open\",\"session\":\"" UID "\",\"id\":1,\"commitment\":null}",
    };
    struct leaf l;
    for (size_t i = 0; i < MI_COUNT(bad); i++)
        if (leaf_read(slice_of(bad[i]), &l) != MI_EINVAL)
            fail_msg("accepted: %s", bad[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leaf_any_part_of_one_is_refused),
        cmocka_unit_test(test_leaf_each_type_is_read_and_written),
        cmocka_unit_test(test_leaf_members_are_those_of_the_text),
        cmocka_unit_test(test_leaf_other_spellings_are_refused),
        cmocka_unit_test(test_leaf_what_is_read_is_exactly_the_text),
    };
    return cmocka_run_group_tests_name("leaf", tests, NULL, NULL);
}
