/* out.h - what a reading command prints: text that a terminal shows and never obeys.
 *
 * Rules     text of a record goes through out_text() or out_cell(), which make control characters
 *           visible. Colour only on a terminal, without NO_COLOR and with a TERM that is not `dumb`.
 *           Arrows and dots are ASCII unless the locale (LC_ALL, LC_CTYPE, LANG) is UTF-8.
 * Owns      a buffer, written to stdout in blocks.
 * Errors    sticky: after a failed write everything is dropped. A reader that went away is no error.
 * Blocks    as long as stdout does. SIGPIPE is ignored from out_open() on. */
#ifndef MI_CLI_OUT_H
#define MI_CLI_OUT_H

#include "base/buf.h"

enum out_style { OUT_PLAIN, OUT_DIM, OUT_BOLD, OUT_RED, OUT_GREEN, OUT_YELLOW, OUT_CYAN };

struct out {
    struct buf b;    /* owned; not written yet */
    struct buf text; /* owned; scratch of out_text() and out_cell() */
    bool is_terminal, coloured, utf8;
    size_t columns;  /* of the terminal; OUT_COLUMNS_PIPED otherwise */
    bool controlled; /* the terminal knows escape sequences: a line can be taken back */
    bool held;       /* nothing is written before out_flush() */
    bool closed;     /* nobody reads any more */
    int error;       /* errno of a failed write; 0 */
};

#define OUT_COLUMNS_PIPED 120

void out_open(struct out *o);
/* Writes what is left and frees. EXIT_FINE or EXIT_TROUBLE, which stderr is told. */
int out_close(struct out *o);
void out_flush(struct out *o);       /* writes what there is */
bool out_ended(const struct out *o); /* what is printed from here on reaches nobody */

void out_raw(struct out *o, const char *text); /* our own words */
void out_printf(struct out *o, const char *fmt, ...)
    MI_FORMAT(2, 3);                                 /* our own words and numbers */
void out_text(struct out *o, struct slice text);     /* a record's */
void out_style(struct out *o, enum out_style style); /* until the next call; OUT_PLAIN ends it */
void out_words(struct out *o, enum out_style style, const char *text); /* our own, in a style */
void out_end_line(struct out *o);
/* An arrow to the server or to the client; one column, or two where there is no UTF-8. */
const char *out_arrow(const struct out *o, bool to_server);

/* A cell of `width` columns: cut with an ellipsis when the text is longer, filled with blanks on the
 * right or, with `right`, on the left. */
void out_cell(struct out *o, struct slice text, size_t width, bool right);
/* As much of the text as fits into `width` columns, without filling. */
void out_fit(struct out *o, struct slice text, size_t width);
/* Columns that the text takes when it is printed. */
size_t out_width(struct out *o, struct slice text);

#endif
