/* Any bytes: they are refused with a reason, or every record that is read lies in the bundle's own memory. */
#include "evidence/bundle.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bundle b;
    struct buf why = {0};
    struct bundle_record r;
    uint64_t n = 0;
    int st = bundle_open(&b, (struct slice){(const char *)data, size}, NULL, &why);
    MUST(st == 0 || (st == MI_EINVAL && why.n > 0));
    if (st == 0) {
        struct bundle_walk w = bundle_begin_walk(&b);
        while (bundle_next_record(&b, &w, &r)) {
            n++;
            for (size_t i = 0; i < r.n; i++)
                MUST(inside(buf_slice(&w.text), r.field[i]));
        }
        MUST(n == b.records_n && bundle_read_end_record(&b, &w, &r));
        bundle_walk_close(&w);
    }
    bundle_close(&b);
    buf_close(&why);
    return 0;
}
