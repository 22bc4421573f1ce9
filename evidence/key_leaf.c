#include "evidence/key_leaf.h"

#include "base/base64.h"

/* Appends the text that is signed. previous: {NULL, 0} if there is no previous key. */
static void append_signed_text(struct buf *b, struct slice origin, struct slice key,
                               struct slice previous)
{
    buf_adds(b, "mcp-interposer key\n");
    buf_slice_add(b, origin);
    buf_addc(b, '\n');
    buf_slice_add(b, key);
    buf_addc(b, '\n');
    buf_slice_add(b, previous.p != NULL ? previous : slice_of("-"));
    buf_addc(b, '\n');
}

static int key_leaf_sign(struct buf *b, const struct secret_key *k, struct slice text)
{
    uint8_t signature[SIGNATURE_N];
    int st = key_sign(k, text, signature);
    if (st == 0)
        base64_encode(b, signature, sizeof signature);
    return st;
}

int key_leaf_write(struct buf *b, struct slice origin, int64_t at_us, const struct secret_key *key,
                   const struct secret_key *previous)
{
    struct buf text = {0}, new = {0}, old = {0}, new_sign = {0}, old_sign = {0};
    struct leaf l = {.type = LEAF_KEY, .at_us = at_us};
    key_write_public(&new, &key->public);
    l.key = buf_slice(&new);
    if (previous != NULL) {
        key_write_public(&old, &previous->public);
        l.previous = buf_slice(&old);
    }
    append_signed_text(&text, origin, l.key, l.previous);
    int st = key_leaf_sign(&new_sign, key, buf_slice(&text));
    l.signature = buf_slice(&new_sign);
    if (st == 0 && previous != NULL) {
        st = key_leaf_sign(&old_sign, previous, buf_slice(&text));
        l.previous_signature = buf_slice(&old_sign);
    }
    if (text.failed || new.failed || old.failed || new_sign.failed || old_sign.failed)
        st = MI_ENOMEM;
    if (st == 0) {
        leaf_write(b, &l);
        st = b->failed ? MI_ENOMEM : 0;
    }
    buf_close(&text);
    buf_close(&new);
    buf_close(&old);
    buf_close(&new_sign);
    buf_close(&old_sign);
    return st;
}

static bool signature_is_valid(const struct public_key *k, struct slice text, struct slice base64)
{
    uint8_t signature[SIGNATURE_N];
    return base64.p != NULL && base64_read(base64, signature, sizeof signature) &&
           key_verify_signature(k, text, signature);
}

/* Returns a clause that says what is wrong with the leaf. Returns NULL if nothing is wrong, or if
 * memory ran out (text->failed). */
static const char *key_leaf_find_fault(const struct leaf *l, struct slice origin,
                                       const struct public_key *previous, struct public_key *key,
                                       struct buf *text)
{
    struct public_key named;
    if (l->key.p == NULL || key_read_public(l->key, key) < 0)
        return "the leaf's key is not a verifier key";
    if (previous == NULL && l->previous.p != NULL)
        return "the leaf names a previous key, but it is the first leaf with a key";
    if (previous != NULL && l->previous.p == NULL)
        return "the leaf does not name the previous key";
    if (previous != NULL && (key_read_public(l->previous, &named) < 0 || !key_eq(&named, previous)))
        return "the leaf names a key other than the previous one";
    if ((l->previous.p == NULL) != (l->previous_signature.p == NULL))
        return "the leaf has a previous key without its signature, or a signature without the "
               "previous key";
    append_signed_text(text, origin, l->key, l->previous);
    if (text->failed)
        return NULL;
    if (!signature_is_valid(key, buf_slice(text), l->signature))
        return "the signature with the leaf's own key is wrong";
    if (previous != NULL && !signature_is_valid(previous, buf_slice(text), l->previous_signature))
        return "the signature with the previous key is wrong";
    return NULL;
}

int key_leaf_check(const struct leaf *l, struct slice origin, const struct public_key *previous,
                   struct public_key *ret, const char **ret_why)
{
    struct buf text = {0};
    struct public_key key;
    const char *why = key_leaf_find_fault(l, origin, previous, &key, &text);
    int st = why != NULL ? MI_EINVAL : text.failed ? MI_ENOMEM : 0;
    buf_close(&text);
    if (why != NULL)
        *ret_why = why;
    if (st == 0)
        *ret = key;
    return st;
}
