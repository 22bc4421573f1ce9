/* detail_parts.h - struct detail: the parts of a document. Internal to cli/ui/detail/. Nothing
 * blocks. */
#ifndef MI_CLI_UI_DETAIL_DETAIL_PARTS_H
#define MI_CLI_UI_DETAIL_DETAIL_PARTS_H

#include "cli/ui/detail/detail.h"
#include "cli/ui/detail/view.h"

#define ROW_INDENT 2
#define ROW_LABEL 10 /* width in columns of a label and of the gap after it */

/* A line of a part that has no view (view.h). */
struct row {
    const char *label; /* static; label of the row; NULL: the row has no label */
    int64_t t_us;      /* a time that is shown as the label of the row; -1: no time */
    struct slice text; /* borrowed; {NULL, 0}: the text is at offset `at` of head_rows.text */
    size_t at, n;      /* if text.p is NULL: offset and length of the text in head_rows.text */
    enum cells_style style;
};

struct head_rows {
    struct row *row; /* owned */
    size_t n, cap;
    struct buf text; /* owned */
    bool failed;
};

#define PART_TITLE 48
#define PART_POINTER 64

enum part_kind {
    PART_HEAD,
    PART_VALUE,    /* a value of a call: its arguments, a content of its result, or its error */
    PART_FINDINGS, /* findings of a call; a single message has its findings in its head */
    PART_ABOUT,    /* less important facts about a call, such as its times */
    PART_MESSAGE,
    PART_POST_MORTEM,
    PART_STDERR
};

struct part {
    enum part_kind kind;
    size_t message; /* index of the message in detail_subject.message */
    /* For PART_VALUE: range of the value in the message, in bytes; its title and JSON Pointer; if
     * the value is a string, its unescaped text (owned). */
    size_t from, to;
    char title[PART_TITLE], pointer[PART_POINTER];
    struct buf text;
    bool folded;
    bool has_view; /* true: the part uses `view`; false: the part uses `rows` */
    struct view view;
    struct head_rows rows;
};

struct detail {
    struct detail_subject s; /* the subject; the texts and arrays to which it points are borrowed */
    struct part *part;       /* owned */
    size_t n, cap;
    size_t columns;
    bool ascii;
    struct buf needle;         /* owned; the text of the last search */
    struct buf escaped_needle; /* owned; the needle as JSON text */
    /* owned; escaped_needle with \u escapes for characters beyond ASCII */
    struct buf ascii_needle;
    bool has_hit; /* true: hit_part and hit_at tell where the last match is */
    /* hit_part: index of the part with the last match. hit_at: if this part has a view, offset of
     * the match in the view; otherwise index of the row with the match. */
    size_t hit_part, hit_at;
};

/* A line of the document, and the part that has it. */
struct spot {
    struct part *part;
    size_t base; /* number of the line with the part's title */
    bool title;
    size_t row;              /* index of the row, if the part has rows */
    struct view_place place; /* position in the view, if the part has a view */
};
bool detail_find_part_of_line(struct detail *d, size_t line, struct spot *ret);
/* returns the exact number of the line with the part's title */
size_t detail_find_part_title_line(struct detail *d, size_t part);
/* Adds a part to d, which must have room for the part: d->n < d->cap. */
static inline struct part *detail_add_part(struct detail *d, enum part_kind kind)
{
    struct part *p = &d->part[d->n++];
    *p = (struct part){.kind = kind};
    return p;
}
/* Returns 1 if the part hides the brackets around its value, because the part's title replaces
 * them; otherwise 0. */
size_t detail_count_hidden_brackets(const struct part *p);
/* Converts a line number of the part's view to a line number that counts from the part's title. */
size_t detail_get_line_below_title(struct part *p, size_t line);

void head_close(struct head_rows *r);
void head_add_text(struct head_rows *r, const char *label, enum cells_style style,
                   struct slice borrowed);
struct slice head_get_row_text(const struct head_rows *r, size_t i);
void head_write_label(const struct head_rows *r, size_t i, struct buf *b);
/* returns the column at which the row's text begins */
size_t head_get_value_column(const struct head_rows *r, size_t i);

/* Makes the rows of a part of the kind PART_HEAD, PART_FINDINGS or PART_ABOUT, and replaces the
 * rows that the part had before. */
void head_make_rows(const struct detail *d, struct part *p);
/* Adds the title of a part to c, after its fold marker. */
void head_draw_part_title(const struct detail *d, const struct part *p, struct cells *c);

/* values.c: adds parts for the values of a call. */
void values_add_parts_of_call(struct detail *d);
/* If byte `at` of the message is in a value that has its own part, returns the end of that value
 * or, if `forward` is false, the beginning of that value. If the byte is in no such value, returns
 * SIZE_MAX. */
size_t values_find_end_of_value(const struct detail *d, size_t message, size_t at, bool forward);

#endif
