#include "evidence/tree.h"

struct digest tree_leaf(struct slice entry)
{
    struct digest_sum s;
    struct digest d;
    digest_begin(&s);
    digest_add(&s, "\0", 1);
    digest_add(&s, entry.p, entry.n);
    digest_end(&s, &d);
    return d;
}

struct digest tree_node(const struct digest *left, const struct digest *right)
{
    uint8_t pair[1 + 2 * DIGEST_N] = {1};
    memcpy(pair + 1, left->b, DIGEST_N);
    memcpy(pair + 1 + DIGEST_N, right->b, DIGEST_N);
    return digest_of((struct slice){(const char *)pair, sizeof pair});
}

void tree_add(struct tree *t, const struct digest *leaf)
{
    struct digest d = *leaf;
    for (uint64_t n = t->n; (n & 1) != 0; n >>= 1)
        d = tree_node(&t->node[--t->depth], &d);
    t->node[t->depth++] = d;
    t->n++;
}

struct digest tree_root(const struct tree *t)
{
    if (t->depth == 0)
        return digest_of((struct slice){"", 0});
    struct digest d = t->node[t->depth - 1];
    for (unsigned i = t->depth - 1; i > 0; i--)
        d = tree_node(&t->node[i - 1], &d);
    return d;
}

static unsigned ones(uint64_t n)
{
    unsigned k = 0;
    for (; n > 0; n &= n - 1)
        k++;
    return k;
}

void tree_pack(const struct tree *t, struct buf *b)
{
    for (unsigned i = 0; i < t->depth; i++)
        buf_add(b, t->node[i].b, DIGEST_N);
}

bool tree_unpack(struct tree *ret, uint64_t n, struct slice bytes)
{
    if (bytes.n != (size_t)ones(n) * DIGEST_N)
        return false;
    *ret = (struct tree){.n = n, .depth = ones(n)};
    for (unsigned i = 0; i < ret->depth; i++)
        memcpy(ret->node[i].b, bytes.p + (size_t)i * DIGEST_N, DIGEST_N);
    return true;
}

/* ---- proofs --------------------------------------------------------------------------------- */

/* The largest power of two less than n; n > 1. */
static uint64_t split(uint64_t n)
{
    uint64_t k = 1;
    while (k < n - k)
        k *= 2;
    return k;
}

static struct digest root_of(const struct digest *leaf, uint64_t n)
{
    struct tree t = {0};
    for (uint64_t i = 0; i < n; i++)
        tree_add(&t, &leaf[i]);
    return tree_root(&t);
}

size_t tree_prove(const struct digest *leaf, uint64_t n, uint64_t at, struct digest *ret)
{
    if (n <= 1)
        return 0;
    uint64_t k = split(n);
    bool left = at < k;
    size_t len = left ? tree_prove(leaf, k, at, ret) : tree_prove(leaf + k, n - k, at - k, ret);
    ret[len] = left ? root_of(leaf + k, n - k) : root_of(leaf, k);
    return len + 1;
}

bool tree_proved(const struct digest *leaf, uint64_t n, uint64_t at, const struct digest *proof,
                 size_t proof_n, struct digest *ret_root)
{
    struct digest d = *leaf;
    uint64_t last = n - 1;
    if (at >= n)
        return false;
    for (size_t i = 0; i < proof_n; i++) {
        if (last == 0)
            return false;
        if ((at & 1) != 0 || at == last) {
            d = tree_node(&proof[i], &d);
            while ((at & 1) == 0 && at != 0) {
                at >>= 1;
                last >>= 1;
            }
        } else {
            d = tree_node(&d, &proof[i]);
        }
        at >>= 1;
        last >>= 1;
    }
    *ret_root = d;
    return last == 0;
}
