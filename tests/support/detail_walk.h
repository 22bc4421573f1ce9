/* detail_walk.h - random actions on a document of the detail pane, and what must hold after each of them: shared by the
 * unit test and the fuzz target. WALK_MUST(condition) ends the test. */
#ifndef MI_TESTS_DETAIL_WALK_H
#define MI_TESTS_DETAIL_WALK_H

#include "base/text.h"
#include "base/width.h"
#include "cli/ui/detail/detail.h"

#define WALK_LINES 400 /* of a document that are looked at */

/* Only printable text, in the window; spans without gaps. */
static inline void walk_line(const struct cells *c, size_t width)
{
    size_t at = 0, columns = 0;
    for (size_t i = 0; i < c->n; i++) {
        struct slice text = cells_get_styled_text(c, i);
        WALK_MUST(c->span[i].at == at && c->span[i].columns == text_count_columns(text));
        at += text.n;
        columns += c->span[i].columns;
        for (size_t k = 0, len; k < text.n; k += len) {
            len = text_utf8_len(text.p + k, text.n - k);
            WALK_MUST(len > 0 && width_char_is_printable(text_utf8_code(text.p + k, len)));
            WALK_MUST(len == 1 || !c->ascii);
        }
    }
    WALK_MUST(at == c->text.n && columns <= width && !c->failed);
}

static inline uint64_t walk_hash(uint64_t h, const struct cells *c)
{
    for (size_t i = 0; i < c->text.n; i++)
        h = (h ^ (unsigned char)c->text.p[i]) * UINT64_C(0x100000001B3);
    return h * 31 + c->n;
}

/* The lines from the first to the last; the same again from the last to the first, which are found in another way. */
static inline void walk_lines(struct detail *d, size_t from, size_t width)
{
    static uint64_t hash[WALK_LINES];
    struct cells c = {0};
    bool exact;
    size_t n = 0;
    while (n < WALK_LINES && detail_draw_line(d, n, from, width, &c)) {
        walk_line(&c, width);
        hash[n++] = walk_hash(0, &c);
    }
    for (size_t i = n; i-- > 0;) {
        WALK_MUST(detail_draw_line(d, i, from, width, &c));
        WALK_MUST(walk_hash(0, &c) == hash[i]);
    }
    if (n < WALK_LINES) {
        WALK_MUST(detail_count_lines(d, &exact) == n && exact);
        WALK_MUST(detail_count_exact_lines(d) == n);
    } else {
        WALK_MUST(detail_count_lines(d, &exact) >= n || !exact);
    }
    cells_close(&c);
}

/* The lines are the same if nothing is remembered. */
static inline void walk_again(struct detail *d, size_t columns, bool ascii)
{
    struct cells c = {0};
    detail_set_width(d, columns, ascii);
    size_t n = size_min(detail_count_exact_lines(d), WALK_LINES);
    uint64_t before = 0, after = 0;
    for (size_t i = 0; i < n; i++) {
        WALK_MUST(detail_draw_line(d, i, 0, 60, &c));
        before = walk_hash(before, &c);
    }
    detail_set_width(d, columns + 1, ascii);
    detail_set_width(d, columns, ascii);
    for (size_t i = 0; i < n; i++) {
        WALK_MUST(detail_draw_line(d, i, 0, 60, &c));
        after = walk_hash(after, &c);
    }
    WALK_MUST(before == after);
    cells_close(&c);
}

/* A hit is visible, and at its column. Only one letter is sure to be: a text may be wrapped in the middle of a longer one,
 * and the n of \n is a line break in an unfolded string. */
static inline void walk_hit(struct detail *d, struct slice body, struct slice needle,
                            const struct detail_hit *hit)
{
    struct cells c = {0};
    WALK_MUST(detail_draw_line(d, hit->line, 0, SIZE_MAX, &c));
    WALK_MUST(detail_draw_line(d, hit->line, hit->column, 20, &c));
    if (needle.n == 1 && *needle.p >= 'a' && *needle.p <= 'z' &&
        memchr(body.p, '\\', body.n) == NULL)
        WALK_MUST(c.n > 0 && c.span[0].found);
    cells_close(&c);
}

/* One action; `random` decides which. */
static inline void walk_step(struct detail *d, struct slice body, uint32_t random)
{
    static const enum detail_fold hows[] = {DETAIL_TOGGLE, DETAIL_FOLD, DETAIL_UNFOLD};
    static const enum detail_copy copies[] = {DETAIL_COPY_VALUE, DETAIL_COPY_POINTER,
                                              DETAIL_COPY_BODY};
    size_t end = size_min(detail_count_exact_lines(d), WALK_LINES),
           line = (random >> 8) % (end + 1), to;
    struct detail_hit hit;
    struct buf b = {0};
    switch (random % 8) {
    case 0:
    case 1:
    case 2:
        if (detail_fold_line(d, line, hows[(random >> 4) % 3], &to) == 0)
            WALK_MUST(to <= line && to < detail_count_exact_lines(d));
        break;
    case 3:
        detail_fold_from_depth(d, (random >> 8) % 6);
        break;
    case 4:
        if (body.n > 0) {
            size_t at = (random >> 8) % body.n, n = size_min(1 + (random >> 4) % 3, body.n - at);
            struct slice needle = {body.p + at, n};
            int st = detail_search(d, needle, line, (random >> 7) % 2 == 0, &hit);
            WALK_MUST(st == 0);
            walk_hit(d, body, needle, &hit);
        }
        break;
    case 5:
        if (detail_copy(d, line, copies[(random >> 4) % 3], &b) == 0)
            WALK_MUST(!b.failed);
        break;
    case 6:
        detail_set_width(d, (random >> 8) % 100, (random >> 4) % 2 == 0);
        break;
    default:
        to = detail_get_next_part(d, line, (random >> 4) % 2 == 0);
        WALK_MUST(to == line || to < detail_count_exact_lines(d));
        WALK_MUST(detail_seq_at_line(d, line) >= 0);
        break;
    }
    buf_close(&b);
}

#endif
