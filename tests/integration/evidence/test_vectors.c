/* The test vectors of docs/evidence.md, which were computed by another program: tests/evidence/make-vectors. */
#include "evidence/key_leaf.h"
#include "evidence/note.h"
#include "evidence/session_tree.h"
#include "evidence/record.h"
#include "wire/json/text.h"

#include "tests/support/unit.h"

static struct buf file;
static struct json_value root;

static int read_file(void **state)
{
    (void)state;
    struct json_scan scan;
    FILE *f = fopen("tests/evidence/vectors/vectors.json", "rb");
    if (f == NULL || !buf_reserve(&file, (size_t)8 << 20))
        return -1;
    file.n = fread(file.p, 1, file.cap, f);
    fclose(f);
    if (json_scan(buf_slice(&file), NULL, NULL, &scan) < 0)
        return -1;
    root = (struct json_value){scan.type, scan.root};
    return 0;
}

static int forget_file(void **state)
{
    (void)state;
    buf_close(&file);
    return 0;
}

static struct json_value member(struct json_value v, const char *name)
{
    struct json_value m = json_get(v, name);
    assert_true(m.type != JSON_NONE);
    return m;
}

/* A string, unescaped. */
static struct slice text(struct json_value v, struct buf *b)
{
    buf_clear(b);
    json_unescape(b, json_string_raw(v));
    assert_false(b->failed);
    return buf_slice(b);
}

static int64_t number(struct json_value v)
{
    int64_t n;
    assert_true(json_int(v, &n));
    return n;
}

/* Bytes in hex. */
static struct slice bytes(struct json_value v, struct buf *b)
{
    struct slice hex = json_string_raw(v);
    buf_clear(b);
    assert_true(buf_reserve(b, hex.n / 2 + 1));
    for (size_t i = 0; i + 1 < hex.n; i += 2) {
        char two[] = {hex.p[i], hex.p[i + 1], '\0'};
        buf_addc(b, (char)strtol(two, NULL, 16));
    }
    return buf_slice(b);
}

static struct digest digest(struct json_value v)
{
    struct digest d;
    assert_true(digest_read_hex(json_string_raw(v), &d));
    return d;
}

static void test_vectors_commitments_of_records(void **state)
{
    (void)state;
    struct json_walk records = json_walk_begin(member(root, "records"));
    struct json_value v, field;
    struct slice key;
    struct buf b = {0};
    int count = 0;
    for (; json_walk_next(&records, &key, &v); count++) {
        struct record r;
        struct salt salt;
        struct digest got, want = digest(member(v, "commitment"));
        char kind[16];
        struct slice name = json_string_raw(member(v, "kind"));
        snprintf(kind, sizeof kind, "%.*s", (int)name.n, name.p);
        assert_int_equal(bytes(member(v, "salt"), &b).n, SALT_N);
        memcpy(salt.b, b.p, SALT_N);
        record_begin_digest(&r, &salt, kind);
        struct json_walk fields = json_walk_begin(member(v, "fields"));
        while (json_walk_next(&fields, &key, &field)) {
            struct json_value value = json_get(field, "number");
            if (value.type != JSON_NONE)
                record_add_number(&r, number(value));
            else if (member(field, "text").type == JSON_NULL)
                record_add_null(&r);
            else
                record_add_text(&r, bytes(member(field, "text"), &b));
        }
        record_finish_digest(&r, &got);
        if (!digest_eq(&got, &want)) {
            name = json_string_raw(member(v, "name"));
            fail_msg("the commitment of %.*s", (int)name.n, name.p);
        }
    }
    assert_in_range(count, 10, 1000);
    buf_close(&b);
}

static void test_vectors_roots_of_sessions(void **state)
{
    (void)state;
    static struct digest commitment[1000];
    struct json_value trees = member(root, "trees"), v;
    struct json_walk list = json_walk_begin(member(trees, "commitments"));
    struct slice key;
    struct buf want = {0}, got = {0};
    size_t n = 0, count = 0;
    for (; json_walk_next(&list, &key, &v); n++) {
        assert_true(n < MI_COUNT(commitment));
        commitment[n] = digest(v);
    }
    for (list = json_walk_begin(member(trees, "roots")); json_walk_next(&list, &key, &v); count++) {
        static const struct session_tree none;
        struct session_tree p = none;
        while ((int64_t)p.n < number(member(v, "records")))
            session_tree_add_record(&p, &commitment[p.n]);
        struct digest is = session_tree_compute_root(&p), should = digest(member(v, "root"));
        if (!digest_eq(&is, &should))
            fail_msg("the root over %d records", (int)p.n);
        buf_clear(&got);
        tree_append_roots(&p.groups, &got);
        assert_true(slice_eq(buf_slice(&got), bytes(member(v, "tree"), &want)));
    }
    assert_in_range(count, 5, 1000);
    buf_close(&want);
    buf_close(&got);
}

static void test_vectors_log_with_its_keys(void **state)
{
    (void)state;
    struct json_value log = member(root, "log"), v, hash, should;
    struct json_walk list = json_walk_begin(member(log, "leaves"));
    struct json_walk hashes = json_walk_begin(member(log, "hashes"));
    struct json_walk roots = json_walk_begin(member(log, "roots"));
    struct slice key;
    struct buf b = {0}, origin = {0}, again = {0};
    struct tree t = {0};
    struct public_key k;
    int keys = 0;
    buf_adds(&origin, CHECKPOINT_ORIGIN);
    buf_slice_add(&origin, json_string_raw(member(log, "vault")));
    while (json_walk_next(&list, &key, &v)) {
        struct leaf l;
        const char *why = "";
        struct slice line = text(v, &b);
        struct digest d = tree_leaf_digest(line);
        assert_int_equal(leaf_read(line, &l), 0);
        buf_clear(&again);
        leaf_write(&again, &l);
        assert_true(slice_eq(buf_slice(&again), line));
        assert_true(json_walk_next(&hashes, &key, &hash) && json_walk_next(&roots, &key, &should));
        struct digest want = digest(hash);
        assert_true(digest_eq(&d, &want));
        tree_add_leaf(&t, &d);
        d = tree_root_digest(&t);
        want = digest(should);
        assert_true(digest_eq(&d, &want));
        if (l.type == LEAF_KEY &&
            key_leaf_check(&l, buf_slice(&origin), keys++ > 0 ? &k : NULL, &k, &why) != 0)
            fail_msg("leaf %d: %s", (int)t.n - 1, why);
    }
    assert_int_equal(keys, 2);
    buf_close(&b);
    buf_close(&origin);
    buf_close(&again);
}

static void test_vectors_keys_and_notes(void **state)
{
    (void)state;
    struct json_value log = member(root, "log"), v;
    struct json_walk list = json_walk_begin(member(log, "keys"));
    struct slice key;
    struct buf b = {0}, made = {0};
    struct secret_key secret[2];
    size_t n = 0;
    for (; json_walk_next(&list, &key, &v); n++) {
        assert_true(n < MI_COUNT(secret));
        assert_int_equal(key_read_secret(text(member(v, "file"), &b), &secret[n]), 0);
        buf_clear(&made);
        key_write_public(&made, &secret[n].public);
        assert_true(slice_eq(buf_slice(&made), text(member(v, "key"), &b)));
        assert_memory_equal(bytes(member(v, "public"), &b).p, secret[n].public.b, KEY_N);
    }
    assert_int_equal(n, 2);
    n = 0;
    for (list = json_walk_begin(member(log, "notes")); json_walk_next(&list, &key, &v); n++) {
        struct note note;
        struct checkpoint c;
        buf_clear(&made);
        assert_int_equal(note_append_signed(&made, text(member(v, "text"), &b), &secret[n]), 0);
        assert_true(slice_eq(buf_slice(&made), text(member(v, "note"), &b)));
        assert_int_equal(note_read(buf_slice(&b), &note), 0);
        assert_int_equal(note_check_signature(&note, &secret[n].public), 0);
        assert_int_equal(note_check_signature(&note, &secret[1 - n].public), MI_ENOENT);
        assert_int_equal(checkpoint_read(note.text, &c), 0);
        assert_int_equal(c.size, number(member(v, "size")));
    }
    assert_int_equal(n, 2);
    buf_close(&b);
    buf_close(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors_commitments_of_records),
        cmocka_unit_test(test_vectors_keys_and_notes),
        cmocka_unit_test(test_vectors_log_with_its_keys),
        cmocka_unit_test(test_vectors_roots_of_sessions),
    };
    return cmocka_run_group_tests_name("vectors", tests, read_file, forget_file);
}
