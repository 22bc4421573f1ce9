/* A leaf of the log: what is read is inside the text, and is written again byte by byte. */
#include "evidence/key_leaf.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct slice text = {(const char *)data, n};
    struct leaf l;
    struct public_key k;
    struct buf b = {0};
    const char *why;
    if (leaf_read(text, &l) == 0) {
        MUST(inside(text, l.uid) && inside(text, l.end) && inside(text, l.key));
        MUST(inside(text, l.previous) && inside(text, l.signature) &&
             inside(text, l.previous_signature));
        leaf_write(&b, &l);
        MUST(slice_eq(buf_slice(&b), text));
        if (l.type == LEAF_KEY && key_leaf_check(&l, slice_of("o"), NULL, &k, &why) < 0)
            MUST(why[0] != '\0');
    }
    buf_close(&b);
    return 0;
}
