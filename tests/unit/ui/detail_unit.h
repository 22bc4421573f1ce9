/* detail_unit.h - documents for the tests of cli/ui/detail, and their lines as text. */
#ifndef MI_TESTS_DETAIL_UNIT_H
#define MI_TESTS_DETAIL_UNIT_H

#include "cli/ui/detail/detail.h"
#include "tests/support/unit.h"

/* A line as text, without trailing blanks. */
static inline const char *unit_line(struct detail *d, size_t line, struct cells *c)
{
    static char text[1024];
    assert_true(detail_draw_line(d, line, 0, 500, c));
    assert_false(c->failed);
    size_t n = size_min(c->text.n, sizeof text - 1);
    while (n > 0 && c->text.p[n - 1] == ' ')
        n--;
    if (n > 0)
        memcpy(text, c->text.p, n);
    text[n] = '\0';
    return text;
}

/* All lines from `from` on are these; each ends with a newline. */
static inline void unit_expect(struct detail *d, size_t from, const char *want)
{
    struct cells c = {0};
    struct buf got = {0};
    size_t n = detail_count_exact_lines(d);
    for (size_t i = from; i < n; i++)
        buf_printf(&got, "%s\n", unit_line(d, i, &c));
    assert_string_equal(buf_str(&got), want);
    assert_false(detail_draw_line(d, n, 0, 80, &c));
    assert_int_equal(c.n, 0);
    cells_close(&c);
    buf_close(&got);
}

/* One message as a document; its own copy of the body. */
struct unit_doc {
    struct detail *d;
    struct detail_message m;
    struct detail_subject s;
    char *copy;
    size_t first; /* the line of the message's title */
};

static inline void unit_doc_bytes(struct unit_doc *u, enum row_kind kind, const char *body,
                                  size_t n)
{
    *u = (struct unit_doc){.copy = unit_copy(body, n)};
    u->m = (struct detail_message){.seq = 7,
                                   .t_us = 1500000,
                                   .from_client = true,
                                   .kind = kind,
                                   .size = (int64_t)n,
                                   .body = {u->copy, n}};
    u->s = (struct detail_subject){.message = &u->m, .messages_n = 1, .duration_us = -1};
    assert_int_equal(detail_open(&u->d, &u->s), 0);
    detail_set_width(u->d, 80, true);
    u->first = detail_get_next_part(u->d, 0, true);
}

static inline void unit_doc(struct unit_doc *u, enum row_kind kind, const char *body)
{
    unit_doc_bytes(u, kind, body, strlen(body));
}

static inline void unit_doc_close(struct unit_doc *u)
{
    detail_close(u->d);
    free(u->copy);
}

#endif
