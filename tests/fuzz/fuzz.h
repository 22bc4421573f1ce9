/* fuzz.h - shared by the fuzz targets: prints the failed condition, then calls abort(). */
#ifndef MI_TESTS_FUZZ_H
#define MI_TESTS_FUZZ_H

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(what)                                                                                 \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what);                     \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static inline bool inside(struct slice outer, struct slice s)
{
    return s.p == NULL || (s.p >= outer.p && s.p + s.n <= outer.p + outer.n);
}

#endif
