/* tree: Merkle trees of RFC 6962, and proofs; places: the tree over the records of a session. */
#include "evidence/session_tree.h"

#include "tests/support/unit.h"

/* The eight entries that Certificate Transparency's own tests use, and the roots over the first 1, 2, … of them. */
static const struct {
    const char *entry;
    size_t n;
    const char *root;
} known[] = {
    {"", 0, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"},
    {"\x00", 1, "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"},
    {"\x10", 1, "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"},
    {"\x20\x21", 2, "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"},
    {"\x30\x31", 2, "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4"},
    {"\x40\x41\x42\x43", 4, "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef"},
    {"\x50\x51\x52\x53\x54\x55\x56\x57", 8,
     "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c"},
    {"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f", 16,
     "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"},
};

#define N 70

static struct digest leaves[N];

static int make_leaves(void **state)
{
    (void)state;
    for (size_t i = 0; i < N; i++) {
        char text[16];
        snprintf(text, sizeof text, "leaf %zu", i);
        leaves[i] = tree_leaf_digest(slice_of(text));
    }
    return 0;
}

/* The definition of RFC 6962, section 2.1. */
static struct digest root_by_definition(const struct digest *leaf, size_t n)
{
    if (n == 0)
        return digest_of_text(slice_of(""));
    if (n == 1)
        return leaf[0];
    size_t k = 1;
    while (2 * k < n)
        k *= 2;
    struct digest left = root_by_definition(leaf, k), right = root_by_definition(leaf + k, n - k);
    return tree_node_digest(&left, &right);
}

static void test_tree_roots_are_those_of_certificate_transparency(void **state)
{
    (void)state;
    struct tree t = {0};
    char hex[DIGEST_HEX + 1];
    struct digest root = tree_root_digest(&t);
    digest_hex(&root, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    for (size_t i = 0; i < MI_COUNT(known); i++) {
        struct digest leaf = tree_leaf_digest((struct slice){known[i].entry, known[i].n});
        tree_add_leaf(&t, &leaf);
        root = tree_root_digest(&t);
        digest_hex(&root, hex);
        assert_string_equal(hex, known[i].root);
    }
}

static void test_tree_grows_as_defined_and_survives_being_packed(void **state)
{
    (void)state;
    struct tree t = {0};
    for (size_t n = 0; n <= N; n++) {
        struct digest want = root_by_definition(leaves, n), got = tree_root_digest(&t);
        assert_true(digest_eq(&got, &want));
        struct buf b = {0};
        struct tree again;
        tree_append_roots(&t, &b);
        assert_true(tree_read_roots(&again, n, buf_slice(&b)));
        got = tree_root_digest(&again);
        assert_true(digest_eq(&got, &want));
        struct slice less = {buf_slice(&b).p, b.n > 0 ? b.n - 1 : 0};
        assert_false(b.n > 0 && tree_read_roots(&again, n, less));
        buf_addc(&b, 0);
        assert_false(tree_read_roots(&again, n, buf_slice(&b)));
        buf_close(&b);
        if (n == N)
            break;
        t = again;
        tree_add_leaf(&t, &leaves[n]);
    }
}

/* All nodes of the tree over the first n leaves; the last one is the root. Valid until the next call. */
static const struct digest *nodes_of(size_t n)
{
    static struct digest node[3 * N];
    struct digest want = root_by_definition(leaves, n);
    assert_in_range(tree_count_nodes(n), n, MI_COUNT(node));
    memcpy(node, leaves, n * sizeof *node);
    tree_compute_inner_nodes(node, n);
    assert_true(digest_eq(&node[tree_count_nodes(n) - 1], &want));
    return node;
}

static void test_tree_proofs_of_all_leaves_lead_to_the_root(void **state)
{
    (void)state;
    for (size_t n = 1; n <= N; n++) {
        struct digest want = root_by_definition(leaves, n), proof[TREE_DEPTH + 1], root;
        const struct digest *node = nodes_of(n);
        for (size_t at = 0; at < n; at++) {
            size_t k = tree_make_proof(node, n, at, proof);
            assert_in_range(k, 0, 7);
            assert_true(tree_root_of_proof(&leaves[at], n, at, proof, k, &root));
            assert_true(digest_eq(&root, &want));
            /* at another place, of another leaf, too short and too long */
            for (size_t other = 0; other <= n; other++)
                if (other != at && tree_root_of_proof(&leaves[at], n, other, proof, k, &root))
                    assert_false(digest_eq(&root, &want));
            if (n > 1) {
                assert_true(!tree_root_of_proof(&leaves[(at + 1) % n], n, at, proof, k, &root) ||
                            !digest_eq(&root, &want));
                assert_false(tree_root_of_proof(&leaves[at], n, at, proof, k - 1, &root));
            }
            proof[k] = want;
            assert_false(tree_root_of_proof(&leaves[at], n, at, proof, k + 1, &root));
        }
    }
}

static void test_tree_proof_with_any_other_bit_is_refused(void **state)
{
    (void)state;
    static const size_t sizes[] = {2, 3, 5, 8, 13, 64, 65, N};
    for (size_t i = 0; i < MI_COUNT(sizes); i++) {
        size_t n = sizes[i];
        struct digest want = root_by_definition(leaves, n), proof[TREE_DEPTH], root;
        const struct digest *node = nodes_of(n);
        for (size_t at = 0; at < n; at += 1 + n / 8) {
            size_t k = tree_make_proof(node, n, at, proof);
            for (size_t bit = 0; bit < k * DIGEST_N * 8; bit++) {
                uint8_t *byte = &proof[bit / 8 / DIGEST_N].b[bit / 8 % DIGEST_N];
                *byte ^= (uint8_t)(1 << bit % 8);
                assert_true(!tree_root_of_proof(&leaves[at], n, at, proof, k, &root) ||
                            !digest_eq(&root, &want));
                *byte ^= (uint8_t)(1 << bit % 8);
            }
        }
    }
}

static void test_tree_proof_of_nothing_is_refused(void **state)
{
    (void)state;
    struct digest root;
    assert_false(tree_root_of_proof(&leaves[0], 0, 0, leaves, 0, &root));
    assert_false(tree_root_of_proof(&leaves[0], 1, 1, leaves, 0, &root));
    assert_false(tree_root_of_proof(&leaves[0], 7, 7, leaves, 3, &root));
    assert_true(tree_root_of_proof(&leaves[0], 1, 0, leaves, 0, &root));
    assert_true(digest_eq(&root, &leaves[0]));
}

/* ---- places --------------------------------------------------------------------------------- */

static void test_places_are_groups_in_a_tree(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 63, 64, 65, 127, 128, 129, 4095, 4096, 4097};
    static struct digest commitments[4097];
    for (size_t i = 0; i < MI_COUNT(commitments); i++)
        commitments[i] = tree_leaf_digest((struct slice){(const char *)&i, sizeof i});
    static struct session_tree p;
    for (size_t i = 0; i < MI_COUNT(sizes); i++) {
        static struct digest groups[MI_COUNT(commitments) / SESSION_TREE_GROUP + 1];
        size_t n = 0;
        while (p.n < sizes[i])
            session_tree_add_record(&p, &commitments[p.n]);
        for (size_t at = 0; at < sizes[i]; at += SESSION_TREE_GROUP)
            groups[n++] = tree_leaf_digest((struct slice){
                (const char *)&commitments[at], DIGEST_N * size_min(SESSION_TREE_GROUP, sizes[i] - at)});
        struct digest want = root_by_definition(groups, n), got = session_tree_compute_root(&p);
        if (!digest_eq(&got, &want))
            fail_msg("the root over %zu records", sizes[i]);
        assert_int_equal(p.groups.n, sizes[i] / SESSION_TREE_GROUP);
        assert_int_equal(session_tree_count_ungrouped(&p), sizes[i] % SESSION_TREE_GROUP);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places_are_groups_in_a_tree),
        cmocka_unit_test(test_tree_grows_as_defined_and_survives_being_packed),
        cmocka_unit_test(test_tree_proof_of_nothing_is_refused),
        cmocka_unit_test(test_tree_proof_with_any_other_bit_is_refused),
        cmocka_unit_test(test_tree_proofs_of_all_leaves_lead_to_the_root),
        cmocka_unit_test(test_tree_roots_are_those_of_certificate_transparency),
    };
    return cmocka_run_group_tests_name("tree", tests, make_leaves, NULL);
}
