#include "evidence/salts.h"

#include <sodium.h>

_Static_assert(SALTS_POOL % SALT_N == 0, "the pool holds whole salts");

int salts_next(struct salts *s, struct salt *ret)
{
    if (s->left == 0) {
        if (sodium_init() < 0)
            return MI_EIO;
        randombytes_buf(s->pool, sizeof s->pool);
        s->left = sizeof s->pool;
    }
    s->left -= SALT_N;
    memcpy(ret->b, s->pool + s->left, SALT_N);
    memset(s->pool + s->left, 0, SALT_N);
    return 0;
}
