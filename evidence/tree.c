#include "evidence/tree.h"

struct digest tree_leaf_digest(struct slice entry)
{
    struct digest_sum s;
    struct digest d;
    digest_begin(&s);
    digest_add(&s, "\0", 1);
    digest_add(&s, entry.p, entry.n);
    digest_end(&s, &d);
    return d;
}

struct digest tree_node_digest(const struct digest *left, const struct digest *right)
{
    uint8_t pair[1 + 2 * DIGEST_N] = {1};
    memcpy(pair + 1, left->b, DIGEST_N);
    memcpy(pair + 1 + DIGEST_N, right->b, DIGEST_N);
    return digest_of_text((struct slice){(const char *)pair, sizeof pair});
}

void tree_add_leaf(struct tree *t, const struct digest *leaf)
{
    struct digest d = *leaf;
    for (uint64_t n = t->n; (n & 1) != 0; n >>= 1)
        d = tree_node_digest(&t->node[--t->depth], &d);
    t->node[t->depth++] = d;
    t->n++;
}

struct digest tree_root_digest(const struct tree *t)
{
    if (t->depth == 0)
        return digest_of_text((struct slice){"", 0});
    struct digest d = t->node[t->depth - 1];
    for (unsigned i = t->depth - 1; i > 0; i--)
        d = tree_node_digest(&t->node[i - 1], &d);
    return d;
}

static unsigned count_one_bits(uint64_t n)
{
    unsigned k = 0;
    for (; n > 0; n &= n - 1)
        k++;
    return k;
}

void tree_append_roots(const struct tree *t, struct buf *b)
{
    for (unsigned i = 0; i < t->depth; i++)
        buf_add(b, t->node[i].b, DIGEST_N);
}

bool tree_read_roots(struct tree *ret, uint64_t n, struct slice bytes)
{
    if (bytes.n != (size_t)count_one_bits(n) * DIGEST_N)
        return false;
    *ret = (struct tree){.n = n, .depth = count_one_bits(n)};
    for (unsigned i = 0; i < ret->depth; i++)
        memcpy(ret->node[i].b, bytes.p + (size_t)i * DIGEST_N, DIGEST_N);
    return true;
}

/* ---- proofs --------------------------------------------------------------------------------- */

uint64_t tree_count_nodes(uint64_t n)
{
    uint64_t all = n;
    for (; n > 1; all += n)
        n = n / 2 + n % 2;
    return all;
}

/* A node without a right neighbour moves to the next level unchanged. */
void tree_compute_inner_nodes(struct digest *node, uint64_t n)
{
    while (n > 1) {
        struct digest *above = node + n;
        for (uint64_t i = 0; i + 1 < n; i += 2)
            above[i / 2] = tree_node_digest(&node[i], &node[i + 1]);
        if (n % 2 != 0)
            above[n / 2] = node[n - 1];
        n = n / 2 + n % 2;
        node = above;
    }
}

size_t tree_make_proof(const struct digest *node, uint64_t n, uint64_t at, struct digest *ret)
{
    size_t len = 0;
    while (n > 1) {
        if ((at ^ 1) < n)
            ret[len++] = node[at ^ 1];
        node += n;
        n = n / 2 + n % 2;
        at /= 2;
    }
    return len;
}

bool tree_root_of_proof(const struct digest *leaf, uint64_t n, uint64_t at,
                        const struct digest *proof, size_t proof_n, struct digest *ret_root)
{
    struct digest d = *leaf;
    uint64_t last = n - 1;
    if (at >= n)
        return false;
    for (size_t i = 0; i < proof_n; i++) {
        if (last == 0)
            return false;
        if ((at & 1) != 0 || at == last) {
            d = tree_node_digest(&proof[i], &d);
            while ((at & 1) == 0 && at != 0) {
                at >>= 1;
                last >>= 1;
            }
        } else {
            d = tree_node_digest(&d, &proof[i]);
        }
        at >>= 1;
        last >>= 1;
    }
    *ret_root = d;
    return last == 0;
}
