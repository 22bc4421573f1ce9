/* cells.h - one line of the screen: pieces of text in styles, cut to a window of columns.
 *
 * Text      recorded text is hostile. So only characters that are visible and have a known width
 *           are shown as they are (width_char_is_printable()). All other characters, and invalid
 *           bytes, become escapes such as \n, \x1b or \u{202e} in the style CELLS_ESCAPE. A
 *           combining character joins the character before it. At the beginning of a text, and
 *           after CELLS_MARKS_MAX combining characters, a combining character becomes an escape. In
 *           ASCII mode, every character outside ASCII becomes an escape.
 * Window    columns [from, from + width) of the line. If an end of the window cuts a wide
 *           character in half, a blank replaces the half. The time to add a text depends on its
 *           columns up to the end of the window, not on its length.
 * Owns      the text in the window; cells_close() frees it.
 * Errors    if memory runs out, `failed` is set and the line is incomplete. cells_begin_line() does
 *           not reset `failed`.
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_TEXT_CELLS_H
#define MI_CLI_UI_TEXT_CELLS_H

#include "base/buf.h"

/* maximum number of combining characters of a character; ncurses stores three */
#define CELLS_MARKS_MAX 3
#define CELLS_TAB 8

/* Styles of text. screen/paint.c defines how each style is drawn. */
enum cells_style {
    CELLS_PLAIN,
    CELLS_DIM,     /* less important text, such as brackets and units */
    CELLS_TITLE,   /* a title, such as that of a pane */
    CELLS_LABEL,   /* name of a field */
    CELLS_ESCAPE,  /* an escape, which replaces a character that cannot be shown */
    CELLS_KEY,     /* a key of an object in JSON, or a JSON pointer */
    CELLS_STRING,  /* a string in JSON */
    CELLS_NUMBER,  /* a number in JSON */
    CELLS_WORD,    /* true, false or null in JSON */
    CELLS_FOLD,    /* a fold marker, or the text shown in place of folded content */
    CELLS_GOOD,    /* a successful status */
    CELLS_BAD,     /* an error */
    CELLS_WAIT,    /* a warning, or the status of an open or cancelled call */
    CELLS_NOTE,    /* a finding, shown at the value to which it belongs */
    CELLS_ADDED,   /* in a comparison: a text that was added */
    CELLS_REMOVED, /* in a comparison: a text that was removed */
    CELLS_CHANGED, /* in a comparison: a text that was changed */
    CELLS_STYLES
};

struct cells_span {
    size_t at, n;   /* at: offset in cells.text; n: number of bytes, which are all printable */
    size_t columns; /* number of columns that this span takes */
    enum cells_style style;
    bool found; /* the span is part of a match; set by cells_mark_matches() */
};

/* How the next combining character is added. CELLS_JOIN_NONE: as an escape. CELLS_JOIN_HIDDEN: it
 * is left out, because the character before it is not visible. CELLS_JOIN: joined to the last
 * character. */
enum cells_join { CELLS_JOIN_NONE, CELLS_JOIN_HIDDEN, CELLS_JOIN };

struct cells {
    struct buf text;         /* owned */
    struct cells_span *span; /* owned; the spans of the line, without gaps between them */
    size_t n, cap;
    size_t from, width; /* the visible columns are from..from + width - 1 */
    /* column of the character that is added next; at most the end of the visible columns */
    size_t column;
    size_t origin;        /* column at which tab stops begin */
    enum cells_join join; /* how the next combining character is added */
    unsigned marks;       /* number of combining characters of the last character */
    bool ascii;
    bool tabs; /* true: a tab is shown as blanks; false: as \t */
    bool more; /* some text is to the right of the visible columns */
    bool failed;
};

/* Begins a new line, and uses the memory of the previous line again. `c` may be zeroed. */
void cells_begin_line(struct cells *c, size_t from, size_t width, bool ascii);
void cells_close(struct cells *c);
void cells_add_text(struct cells *c, enum cells_style style, struct slice text); /* recorded text */
void cells_add_str(struct cells *c, enum cells_style style, const char *text);
/* Adds formatted text, at most 255 bytes. */
void cells_add_format(struct cells *c, enum cells_style style, const char *fmt, ...)
    MI_FORMAT(3, 4);
void cells_add_blanks(struct cells *c, size_t columns);
/* returns whether text added now would be right of the visible columns */
bool cells_are_full(const struct cells *c);
/* If some text is right of the window, puts an ellipsis in the last column. */
void cells_cut_with_ellipsis(struct cells *c);
/* Marks each match of the needle in the window, by setting `found` of the spans of the match.
 * Ignores case. */
void cells_mark_matches(struct cells *c, struct slice needle);
struct slice cells_get_styled_text(const struct cells *c, size_t span);

/* Returns the columns of a text without tabs, at most `max`. */
size_t cells_count_text_columns(struct slice text, bool ascii, size_t max);
/* returns the number of columns of the text, tabs included */
size_t cells_count_columns_with_tabs(struct slice text, bool ascii);
/* Returns how many leading bytes of the text fit into `columns`; the first character always fits.
 * Stops before a newline. Tabs count as blanks. */
size_t cells_count_fitting_bytes(struct slice text, bool ascii, size_t columns);
/* Wraps the text between words. Returns how many bytes the first line has. *ret_next: offset of the
 * next line. */
size_t cells_line_len(struct slice text, bool ascii, size_t columns, size_t *ret_next);

#endif
