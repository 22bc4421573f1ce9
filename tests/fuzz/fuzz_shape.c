/* Any bytes: hits are in order and inside the text, the fast check agrees with the full search, work is
 * linear, and marks are not hits: after a few rounds of replacing nothing is found. */
#include "redact/shape/find.h"

#include "tests/fuzz/fuzz.h"

static struct shapes *shapes;

static void hide(struct slice text, struct buf *out)
{
    struct shape_hit h;
    size_t at = 0, hits = 0;
    while (shapes_find_next_hit(shapes, text, at, &h)) {
        MUST(h.n > 0 && h.from >= at && h.from + h.n <= text.n && h.rule[0] != '\0');
        buf_add(out, text.p + at, h.from - at);
        buf_printf(out, "[redacted:%s]", h.rule);
        at = h.from + h.n;
        hits++;
    }
    MUST(hits == 0 || shapes_may_match(text));
    buf_add(out, text.p + at, text.n - at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf error = {0}, text = {0}, next = {0};
    if (shapes == NULL)
        MUST(shapes_open(&shapes, &error) == 0);
    buf_add(&text, data, size);
    for (int round = 0;; round++) {
        uint64_t before = shapes_count_examined_bytes();
        buf_clear(&next);
        hide(buf_slice(&text), &next);
        MUST(shapes_count_examined_bytes() - before <= 40000 + 400 * (uint64_t)text.n);
        if (slice_eq(buf_slice(&text), buf_slice(&next)))
            break;
        if (round >= 2)
            fprintf(stderr, "round %d: %s\n", round, buf_str(&next));
        MUST(round < 4);
        buf_clear(&text);
        buf_add(&text, next.p, next.n);
    }
    buf_close(&text);
    buf_close(&next);
    return 0;
}
