/* note: signed notes and checkpoints; key_leaf: the leaf that states a key. */
#include "evidence/note.h"

#include "evidence/key_leaf.h"

#include "tests/support/unit.h"

/* The example of Go's golang.org/x/mod/sumdb/note. */
#define PETER "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
#define PETER_SECRET                                                                               \
    "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
#define ENOCH "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
#define TEXT                                                                                       \
    "If you think cryptography is the answer to your problem,\n"                                   \
    "then you don't know what your problem is.\n"
#define PETER_LINE                                                                                 \
    "— PeterNeumann "                                                                            \
    "x08go/ZJkuBS9UG/"                                                                             \
    "SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
#define ENOCH_LINE                                                                                 \
    "— EnochRoot "                                                                               \
    "rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/"                                                 \
    "5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n"

static struct public_key key_of(const char *text)
{
    struct public_key k;
    assert_int_equal(key_read_public(slice_of(text), &k), 0);
    return k;
}

static struct secret_key peter(void)
{
    struct secret_key k;
    assert_int_equal(key_read_secret(slice_of(PETER_SECRET), &k), 0);
    return k;
}

/* What note_check_signature() says; MI_EINVAL: it is not a note. */
static int check(const char *text, const char *key)
{
    struct note n;
    struct public_key k = key_of(key);
    int st = note_read(slice_of(text), &n);
    return st < 0 ? st : note_check_signature(&n, &k);
}

static void test_note_is_signed_as_in_the_example(void **state)
{
    (void)state;
    struct secret_key k = peter();
    struct buf b = {0};
    assert_int_equal(note_append_signed(&b, slice_of(TEXT), &k), 0);
    assert_string_equal(buf_str(&b), TEXT "\n" PETER_LINE);
    buf_close(&b);
    key_erase(&k);
}

static void test_note_signatures_of_unknown_keys_are_ignored(void **state)
{
    (void)state;
    struct note n;
    assert_int_equal(note_read(slice_of(TEXT "\n" PETER_LINE ENOCH_LINE), &n), 0);
    assert_true(slice_is(n.text, TEXT));
    assert_int_equal(check(TEXT "\n" PETER_LINE ENOCH_LINE, PETER), 0);
    assert_int_equal(check(TEXT "\n" PETER_LINE ENOCH_LINE, ENOCH), 0);
    assert_int_equal(check(TEXT "\n" ENOCH_LINE PETER_LINE, PETER), 0);
    assert_int_equal(check(TEXT "\n" ENOCH_LINE, PETER), MI_ENOENT);
    /* the name of a known key with another hash, and its hash with another name */
    assert_int_equal(check(TEXT "\n— PeterNeumann yyyyyyyy\n", PETER), MI_ENOENT);
    assert_int_equal(check(TEXT "\n— CarmenSandiego x08go/ZJ\n", PETER), MI_ENOENT);
    /* names in UTF-8, and signatures of other lengths */
    assert_int_equal(check(TEXT "\n— Ωmega/ä AAAAAAA=\n" PETER_LINE, PETER), 0);
}

static void test_note_with_a_wrong_signature_of_the_key_is_refused(void **state)
{
    (void)state;
    assert_int_equal(check(TEXT "x\n\n" PETER_LINE, PETER), MI_EPROTO);
    assert_int_equal(check("x" TEXT "\n" PETER_LINE, PETER), MI_EPROTO);
    assert_int_equal(check(TEXT "\n— PeterNeumann x08gowAA\n", PETER), MI_EPROTO);
    assert_int_equal(check(TEXT "\n" PETER_LINE "— PeterNeumann x08gowA=\n", PETER), MI_EPROTO);
    assert_int_equal(check(TEXT "\n— PeterNeumann x08gowA=\n" PETER_LINE, PETER), MI_EPROTO);
}

static void test_note_malformed_ones_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "\n",
        "\n\n",
        TEXT,
        TEXT "\n",
        "\n" PETER_LINE,
        "\n\n" PETER_LINE,
        TEXT PETER_LINE,
        "\x01" TEXT "\n" PETER_LINE,
        "\xff" TEXT "\n" PETER_LINE,
        "\t" TEXT "\n" PETER_LINE,
        "a\r\n\n" PETER_LINE,
        TEXT "\n" PETER_LINE "Unexpected line.\n",
        TEXT "\n" PETER_LINE "\n",
        TEXT "\n" PETER_LINE PETER,
        TEXT "\n— Bad Name AAAAAAA=\n",
        TEXT "\n— Bad+Name AAAAAAA=\n",
        TEXT "\n— Bad\u00a0Name AAAAAAA=\n",
        TEXT "\n— Bad\u2003Name AAAAAAA=\n",
        TEXT "\n—  AAAAAAA=\n",
        TEXT "\n— name\n",
        TEXT "\n— name \n",
        TEXT "\n— name AAAA\n",
        TEXT "\n— name AAAAAA==\n",
        TEXT "\n— name AAAAAAA\n",
        TEXT "\n— name AAAAAAB=\n",
        TEXT "\n— name AAAA-AA=\n",
        TEXT "\n- name AAAAAAA=\n",
        TEXT "\n—name AAAAAAA=\n",
        TEXT "\n— name AAAAAAA= \n",
    };
    struct note n;
    for (size_t i = 0; i < MI_COUNT(texts); i++)
        if (note_read(slice_of(texts[i]), &n) != MI_EINVAL)
            fail_msg("number %zu is accepted: %s", i, texts[i]);
    struct slice without_newline = {TEXT "\n" PETER_LINE, strlen(TEXT "\n" PETER_LINE) - 1};
    assert_int_equal(note_read(without_newline, &n), MI_EINVAL);
}

static void test_note_number_of_signatures_is_limited(void **state)
{
    (void)state;
    struct buf b = {0};
    struct note n;
    buf_adds(&b, TEXT "\n");
    for (int i = 0; i < NOTE_SIGNATURES; i++)
        buf_adds(&b, PETER_LINE);
    assert_int_equal(note_read(buf_slice(&b), &n), 0);
    buf_adds(&b, PETER_LINE);
    assert_int_equal(note_read(buf_slice(&b), &n), MI_EINVAL);
    buf_close(&b);
}

static struct checkpoint example(void)
{
    struct checkpoint c = {.origin = slice_of(CHECKPOINT_ORIGIN "01M7YSNFPE4WHD7A4MYSYTND3Q"),
                           .size = 20852163};
    for (size_t i = 0; i < DIGEST_N; i++)
        c.root.b[i] = (uint8_t)(250 + i);
    return c;
}

/* Every other value of every byte. */
static void test_note_with_any_other_byte_is_not_signed(void **state)
{
    (void)state;
    struct secret_key k = peter();
    struct checkpoint c = example();
    struct buf text = {0}, b = {0};
    struct note n;
    checkpoint_write(&text, &c);
    assert_int_equal(note_append_signed(&b, buf_slice(&text), &k), 0);
    assert_int_equal(note_read(buf_slice(&b), &n), 0);
    assert_int_equal(note_check_signature(&n, &k.public), 0);
    for (size_t i = 0; i < b.n; i++)
        for (int x = 1 + (int)(i % unit_sample(5)); x < 256; x += (int)unit_sample(5)) {
            b.p[i] = (char)(b.p[i] ^ x);
            if (note_read(buf_slice(&b), &n) == 0 && note_check_signature(&n, &k.public) == 0)
                fail_msg("byte %zu may be changed by %d", i, x);
            b.p[i] = (char)(b.p[i] ^ x);
        }
    for (size_t i = 0; i < b.n; i++)
        assert_int_equal(note_read((struct slice){b.p, i}, &n), MI_EINVAL);
    buf_close(&text);
    buf_close(&b);
    key_erase(&k);
}

static void test_checkpoint_is_read_as_it_was_written(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 9, 10, 4294967296, UINT64_MAX};
    for (size_t i = 0; i < MI_COUNT(sizes); i++) {
        struct checkpoint c = example(), got;
        struct buf b = {0};
        c.size = sizes[i];
        checkpoint_write(&b, &c);
        assert_int_equal(checkpoint_read(buf_slice(&b), &got), 0);
        assert_true(slice_eq(got.origin, c.origin) && got.size == c.size &&
                    digest_eq(&got.root, &c.root));
        buf_adds(&b, "an extension line\nand another\n");
        assert_int_equal(checkpoint_read(buf_slice(&b), &got), 0);
        buf_adds(&b, "\n");
        assert_int_equal(checkpoint_read(buf_slice(&b), &got), MI_EINVAL);
        buf_close(&b);
    }
}

#define ROOT "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I="

static void test_checkpoint_example_of_c2sp_is_read(void **state)
{
    (void)state;
    struct note n;
    struct checkpoint c;
    assert_int_equal(note_read(slice_of("example.com/behind-the-sofa\n20852163\n" ROOT "\n\n"
                                        "— example.com/behind-the-sofa "
                                        "Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/"
                                        "Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n"),
                               &n),
                     0);
    assert_int_equal(checkpoint_read(n.text, &c), 0);
    assert_true(slice_is(c.origin, "example.com/behind-the-sofa"));
    assert_int_equal(c.size, 20852163);
    assert_int_equal(c.root.b[0], 0x0A);
}

static void test_checkpoint_malformed_ones_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "o\n",
        "o\n1\n",
        "o\n1\n" ROOT,
        "\n1\n" ROOT "\n",
        "o\n\n" ROOT "\n",
        "o\n01\n" ROOT "\n",
        "o\n00\n" ROOT "\n",
        "o\n+1\n" ROOT "\n",
        "o\n-1\n" ROOT "\n",
        "o\n 1\n" ROOT "\n",
        "o\n1 \n" ROOT "\n",
        "o\n1.0\n" ROOT "\n",
        "o\n0x1\n" ROOT "\n",
        "o\n18446744073709551616\n" ROOT "\n",
        "o\n99999999999999999999\n" ROOT "\n",
        "o\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I\n",
        "o\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2J=\n",
        "o\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxqw==\n",
        "o\n1\n" ROOT "\n\n",
        "o\n1\n" ROOT "\nx",
    };
    struct checkpoint c;
    for (size_t i = 0; i < MI_COUNT(texts); i++)
        if (checkpoint_read(slice_of(texts[i]), &c) != MI_EINVAL)
            fail_msg("number %zu is accepted: %s", i, texts[i]);
}

#define NOTE "o\n1\n" ROOT "\n\n" PETER_LINE

static void test_note_file_has_notes_with_empty_lines_between(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int notes;
        bool complete;
    } rows[] = {
        {"", 0, true},
        {"\n", 0, true},
        {NOTE, 1, true},
        {"\n\n" NOTE "\n\n\n", 1, true},
        {NOTE "\n" NOTE, 2, true},
        {NOTE "\n\n\n" NOTE "\n" NOTE "\n", 3, true},
        {NOTE "x", 0, false},
        {NOTE "\no\n1\n", 1, false},
        {NOTE "\no\n1\n\n", 1, false},
        {"o\n1\n", 0, false},
        {"o\n1\n" ROOT "\n\n— PeterN", 0, false},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct slice rest = slice_of(rows[i].text), note;
        struct note n;
        int count = 0;
        for (; note_read_next_note(&rest, &note); count++)
            assert_int_equal(note_read(note, &n), 0);
        if (count != rows[i].notes || (rest.n == 0) != rows[i].complete)
            fail_msg("row %zu: %d notes, %zu bytes left", i, count, rest.n);
    }
}

/* ---- the leaf key --------------------------------------------------------------------------- */

static void test_key_leaf_is_signed_by_both_keys(void **state)
{
    (void)state;
    struct slice origin = slice_of(CHECKPOINT_ORIGIN "01M7YSNFPE4WHD7A4MYSYTND3Q");
    struct secret_key a = peter(), b;
    struct public_key got;
    struct buf first = {0}, second = {0};
    struct leaf l;
    const char *why;
    assert_int_equal(key_make(slice_of("b"), &b), 0);
    assert_int_equal(key_leaf_write(&first, origin, 7, &a, NULL), 0);
    assert_int_equal(key_leaf_write(&second, origin, 8, &b, &a), 0);
    assert_non_null(strstr(buf_str(&first), "\"previous\":null,"));

    assert_int_equal(leaf_read(buf_slice(&first), &l), 0);
    assert_int_equal(key_leaf_check(&l, origin, NULL, &got, &why), 0);
    assert_true(key_eq(&got, &a.public));
    assert_int_equal(key_leaf_check(&l, origin, &b.public, &got, &why), MI_EINVAL);
    assert_int_equal(key_leaf_check(&l, slice_of("other"), NULL, &got, &why), MI_EINVAL);

    assert_int_equal(leaf_read(buf_slice(&second), &l), 0);
    assert_int_equal(key_leaf_check(&l, origin, &a.public, &got, &why), 0);
    assert_true(key_eq(&got, &b.public));
    assert_int_equal(key_leaf_check(&l, origin, NULL, &got, &why), MI_EINVAL);
    assert_int_equal(key_leaf_check(&l, origin, &b.public, &got, &why), MI_EINVAL);
    struct leaf missing = l;
    missing.previous_signature = (struct slice){0};
    assert_int_equal(key_leaf_check(&missing, origin, &a.public, &got, &why), MI_EINVAL);
    struct leaf exchanged = l;
    exchanged.signature = l.previous_signature;
    exchanged.previous_signature = l.signature;
    assert_int_equal(key_leaf_check(&exchanged, origin, &a.public, &got, &why), MI_EINVAL);
    buf_close(&first);
    buf_close(&second);
    key_erase(&a);
    key_erase(&b);
}

/* at_us is not signed: it is part of the log, which is. */
static void test_key_leaf_with_any_other_byte_is_refused(void **state)
{
    (void)state;
    struct slice origin = slice_of(CHECKPOINT_ORIGIN "01M7YSNFPE4WHD7A4MYSYTND3Q");
    struct secret_key a = peter(), b;
    struct public_key got;
    struct buf text = {0};
    struct leaf l;
    const char *why;
    assert_int_equal(key_make(slice_of("b"), &b), 0);
    assert_int_equal(key_leaf_write(&text, origin, 8, &b, &a), 0);
    const char *time = strstr(buf_str(&text), "8,");
    for (size_t i = 0; i < text.n; i++)
        for (int bit = 0; bit < 8 && text.p + i != time; bit++) {
            text.p[i] = (char)(text.p[i] ^ 1 << bit);
            if (leaf_read(buf_slice(&text), &l) == 0 && l.type == LEAF_KEY &&
                key_leaf_check(&l, origin, &a.public, &got, &why) == 0)
                fail_msg("bit %d of byte %zu may be changed", bit, i);
            text.p[i] = (char)(text.p[i] ^ 1 << bit);
        }
    assert_int_equal(leaf_read(buf_slice(&text), &l), 0);
    assert_int_equal(key_leaf_check(&l, origin, &a.public, &got, &why), 0);
    buf_close(&text);
    key_erase(&a);
    key_erase(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checkpoint_example_of_c2sp_is_read),
        cmocka_unit_test(test_checkpoint_is_read_as_it_was_written),
        cmocka_unit_test(test_checkpoint_malformed_ones_are_refused),
        cmocka_unit_test(test_key_leaf_is_signed_by_both_keys),
        cmocka_unit_test(test_key_leaf_with_any_other_byte_is_refused),
        cmocka_unit_test(test_note_file_has_notes_with_empty_lines_between),
        cmocka_unit_test(test_note_is_signed_as_in_the_example),
        cmocka_unit_test(test_note_malformed_ones_are_refused),
        cmocka_unit_test(test_note_number_of_signatures_is_limited),
        cmocka_unit_test(test_note_signatures_of_unknown_keys_are_ignored),
        cmocka_unit_test(test_note_with_a_wrong_signature_of_the_key_is_refused),
        cmocka_unit_test(test_note_with_any_other_byte_is_not_signed),
    };
    return cmocka_run_group_tests_name("note", tests, NULL, NULL);
}
