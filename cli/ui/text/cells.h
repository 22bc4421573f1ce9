/* cells.h - one line of the screen: pieces of text in styles, cut to a window of columns.
 *
 * Text      recorded text is hostile: only characters that have a known width and are visible are shown as they are
 *           (width_printable()). All others, and invalid bytes, become escapes such as \n, \x1b or \u{202e} in the style
 *           CELLS_ESCAPE. A combining character joins the character before it; the first ones of a line, and those after
 *           CELLS_MARKS_MAX of one character, become escapes. In ASCII mode everything else than ASCII does.
 * Window    columns [from, from + width) of the line. A wide character that does not fit at an end becomes blanks.
 *           Adding costs time for the columns up to the end of the window, not for the length of the text.
 * Owns      the text in the window; cells_close() frees it.
 * Errors    sticky: `failed` is set when memory runs out, and the line is incomplete.
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_TEXT_CELLS_H
#define MI_CLI_UI_TEXT_CELLS_H

#include "base/buf.h"

#define CELLS_MARKS_MAX 3 /* ncurses has room for four */
#define CELLS_TAB 8

/* What a piece of text is; the screen has an attribute for each. */
enum cells_style {
    CELLS_PLAIN,
    CELLS_DIM,         /* punctuation, units, what is less important */
    CELLS_TITLE,       /* begins a part */
    CELLS_LABEL,       /* of a field */
    CELLS_ESCAPE,      /* stands for a character that is not shown */
    CELLS_KEY,         /* of an object */
    CELLS_STRING,      /* JSON values by type */
    CELLS_NUMBER,
    CELLS_WORD,        /* true, false, null */
    CELLS_FOLD,        /* a marker of something that can be folded, and what stands for the folded part */
    CELLS_GOOD,        /* ok */
    CELLS_BAD,         /* an error */
    CELLS_WAIT,        /* a warning, open, cancelled */
    CELLS_NOTE,        /* a finding at its place */
    CELLS_ADDED,       /* of a comparison */
    CELLS_REMOVED,
    CELLS_CHANGED,
    CELLS_STYLES
};

struct cells_span {
    size_t at, n;   /* bytes in cells.text: printable UTF-8, or ASCII */
    size_t columns; /* that it takes */
    enum cells_style style;
    bool found; /* part of what was searched for */
};

struct cells {
    struct buf text;         /* owned */
    struct cells_span *span; /* owned; they follow each other without a gap */
    size_t n, cap;
    size_t from, width; /* the window */
    size_t column;      /* of the line, where the next character goes; not counted beyond the window */
    unsigned marks;     /* combining characters after the last character; CELLS_MARKS_MAX: no more can join */
    bool ascii;
    bool tabs;   /* a tab is blanks up to the next multiple of CELLS_TAB, counted from `origin` */
    size_t origin;
    bool more;   /* there is text to the right of the window */
    bool failed;
};

/* Initialize with zeros. Begins a line, and keeps the memory of the last one. */
void cells_begin(struct cells *c, size_t from, size_t width, bool ascii);
void cells_close(struct cells *c);
void cells_add(struct cells *c, enum cells_style style, struct slice text); /* recorded text */
void cells_adds(struct cells *c, enum cells_style style, const char *text);
void cells_addf(struct cells *c, enum cells_style style, const char *fmt, ...) MI_FORMAT(3, 4);
void cells_blank(struct cells *c, size_t columns);
bool cells_full(const struct cells *c); /* what is added now is not visible */
/* Marks what was searched for, regardless of case, in the text of the window. */
void cells_mark(struct cells *c, struct slice needle);
struct slice cells_text(const struct cells *c, size_t span); /* of a span */

/* The columns of a text, counted up to `max`. */
size_t cells_columns(struct slice text, bool ascii, size_t max);
/* The bytes of the longest beginning of a text that fits in `columns`, at least one character; does not go beyond a
 * newline. Tabs and escapes count as cells_add() shows them. */
size_t cells_fit(struct slice text, bool ascii, size_t columns);

#endif
