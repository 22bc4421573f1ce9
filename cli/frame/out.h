/* out.h - output of commands to stdout, without control characters from recordings.
 *
 * Rules     recorded text is added with out_add_text(), out_add_fixed_cell() or
 *           out_add_fitting_text(). They make control characters visible. Colour is used only on a
 *           terminal, if NO_COLOR is not set and TERM is not `dumb`. Arrows and ellipses are ASCII
 *           unless the locale (LC_ALL, LC_CTYPE, LANG) is UTF-8.
 * Owns      a buffer, written to stdout in blocks.
 * Errors    after a failed write everything is dropped. A closed pipe is not an error.
 * Blocks    as long as stdout does. From out_open() on, SIGPIPE is ignored. */
#ifndef MI_CLI_FRAME_OUT_H
#define MI_CLI_FRAME_OUT_H

#include "base/buf.h"
#include "show/style.h"

struct out {
    struct buf b;    /* owned; output that is not written yet */
    struct buf text; /* owned; scratch of out_add_text() and out_add_fixed_cell() */
    bool is_terminal, coloured, utf8;
    /* columns of the terminal; OUT_UNLIMITED (nothing is truncated) if stdout is not a terminal */
    size_t columns;
    bool controlled; /* the terminal has escape sequences, such as to erase a line */
    bool held;       /* true: output is written only by out_flush() */
    bool closed;     /* the reader has closed the pipe */
    int error;       /* errno of a failed write; 0: none */
};

#define OUT_UNLIMITED SIZE_MAX

void out_open(struct out *o);
/* Writes the buffered output and frees the buffers. Returns EXIT_FINE or, after a message on
 * stderr, EXIT_TROUBLE. */
int out_close(struct out *o);
void out_flush(struct out *o);           /* writes the buffer */
bool out_has_ended(const struct out *o); /* returns true if further output is dropped */

void out_add_raw(struct out *o, const char *text); /* writes text of this program, unescaped */
/* Writes text of this program. */
void out_printf(struct out *o, const char *fmt, ...) MI_FORMAT(2, 3);
void out_add_text(struct out *o, struct slice text); /* writes recorded text, escaped */
/* Sets the style of the following output, until the next call. OUT_PLAIN ends a style. */
void out_style(struct out *o, enum out_style style);
/* Writes text of this program in a style, such as OUT_BOLD. */
void out_print_styled_words(struct out *o, enum out_style style, const char *text);
/* Writes recorded text, escaped, in a style. */
void out_write_styled(struct out *o, enum out_style style, struct slice text);
void out_end_line(struct out *o); /* writes a newline, and the buffer if it is large */
/* Returns an arrow to the server or to the client; the arrow takes one column, or two columns
 * without UTF-8. */
const char *out_direction_arrow(const struct out *o, bool to_server);

/* Adds a cell of `width` columns. On a terminal longer text is truncated with an ellipsis. Shorter
 * text is padded on the right; if `right`, on the left. */
void out_add_fixed_cell(struct out *o, enum out_style style, struct slice text, size_t width,
                        bool right);
/* Adds text like out_add_fixed_cell(), but without padding. Returns the number of columns that were
 * printed. */
size_t out_add_fitting_text(struct out *o, enum out_style style, struct slice text, size_t width);
/* Ends the current line, whose last part is text that may be wrapped: the bytes of o->b from offset
 * `from` on. This text has no styles, and begins at column `indent`. On a terminal it is wrapped
 * between words, and each further line also begins at column `indent`. */
void out_fill_line(struct out *o, size_t from, size_t indent);
/* Prints each line of the text as a paragraph, which is wrapped as in out_fill_line(). */
void out_print_paragraphs(struct out *o, size_t indent, struct slice text);
/* Returns the width of the text in columns. */
size_t out_width(struct out *o, struct slice text);

#endif
