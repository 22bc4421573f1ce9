/* parts.h - struct detail: the parts of a document. Internal to cli/ui/detail/. Nothing here blocks. */
#ifndef MI_CLI_UI_DETAIL_PARTS_H
#define MI_CLI_UI_DETAIL_PARTS_H

#include "cli/ui/detail/detail.h"
#include "cli/ui/detail/view.h"

#define ROW_INDENT 2
#define ROW_LABEL 10 /* columns of a label and the gap after it */

/* A line of a part without a view. */
struct row {
    const char *label; /* static; NULL: none */
    int64_t t_us;      /* the label is this time; -1: not */
    struct slice text; /* borrowed; {NULL, 0}: at `at` */
    size_t at, n;      /* in rows.text */
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
    PART_VALUE,    /* of a message of a call: its arguments, a content of its result, its error */
    PART_FINDINGS, /* of a call, as the next one; those of a message are in its head */
    PART_ABOUT,    /* when it was, and what is less important */
    PART_MESSAGE,
    PART_POST_MORTEM,
    PART_STDERR
};

struct part {
    enum part_kind kind;
    size_t message; /* of the subject */
    /* Of a value: its bytes in the message, its place, and the text of a string, which is owned. */
    size_t from, to;
    char title[PART_TITLE], pointer[PART_POINTER];
    struct buf text;
    bool folded;
    bool has_view; /* else it has rows */
    struct view view;
    struct head_rows rows;
};

struct detail {
    struct detail_subject s; /* what it points to is borrowed */
    struct part *part;       /* owned */
    size_t n, cap;
    size_t columns;
    bool ascii;
    struct buf needle;         /* owned; what was searched for last */
    struct buf escaped_needle; /* owned; as it is written in JSON */
    struct buf ascii_needle;   /* owned; the same without characters beyond ASCII */
    bool has_hit;              /* the last place that was found: */
    size_t hit_part, hit_at;   /* a byte of the view, or a row */
};

/* A line of the document. */
struct spot {
    struct part *part;
    size_t base; /* line of the part's title */
    bool title;
    size_t row;              /* of a part with rows */
    struct view_place place; /* of a part with a view */
};
bool detail_spot(struct detail *d, size_t line, struct spot *ret);
size_t detail_base(struct detail *d, size_t part); /* the line of its title; exact */
/* d->n < d->cap */
static inline struct part *detail_add(struct detail *d, enum part_kind kind)
{
    struct part *p = &d->part[d->n++];
    *p = (struct part){.kind = kind};
    return p;
}
/* 1: the brackets around the value are not shown, as the title stands for them. */
size_t detail_bare(const struct part *p);
/* The line below the title that shows this line of the part's view. */
size_t detail_shown(struct part *p, size_t line);

void head_close(struct head_rows *r);
void head_add(struct head_rows *r, const char *label, enum cells_style style,
              struct slice borrowed);
struct slice head_text(const struct head_rows *r, size_t i);
void head_label(const struct head_rows *r, size_t i, struct buf *b);
size_t head_column(const struct head_rows *r, size_t i); /* where its text begins */

/* The rows of a head, of findings, or about a call, replacing those of the part. */
void head_rows(const struct detail *d, struct part *p);
/* Adds the title of a part, after its marker. */
void head_title(const struct detail *d, const struct part *p, struct cells *c);

/* values.c: adds the values of a call. */
void values_open(struct detail *d);
/* If the byte of the message is in a value that has a part: where that ends or, backwards, begins. SIZE_MAX: it is not. */
size_t values_around(const struct detail *d, size_t message, size_t at, bool forward);

#endif
