/* cells.h - one line of the screen: pieces of text in styles, cut to a window of columns.
 *
 * Text      recorded text is hostile: only characters that are visible and have a known width are shown as they are
 *           (width_printable()). All others, and invalid bytes, become escapes such as \n, \x1b or \u{202e} in the style
 *           CELLS_ESCAPE. A combining character joins the character before it; at the beginning of a text, and after
 *           CELLS_MARKS_MAX others, it becomes an escape. In ASCII mode every other character than ASCII does.
 * Window    columns [from, from + width) of the line. Blanks replace the half of a wide character at its ends.
 *           Adding a text costs time for its columns up to the end of the window, not for its length.
 * Owns      the text in the window; cells_close() frees it.
 * Errors    sticky, also over cells_begin(): `failed` is set when memory runs out; the line is incomplete then.
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_TEXT_CELLS_H
#define MI_CLI_UI_TEXT_CELLS_H

#include "base/buf.h"

#define CELLS_MARKS_MAX 3 /* ncurses has room for four */
#define CELLS_TAB 8

/* What a piece of text is; the screen has attributes for each. */
enum cells_style {
    CELLS_PLAIN,
    CELLS_DIM,    /* less important: brackets, units */
    CELLS_TITLE,  /* begins a part */
    CELLS_LABEL,  /* of a field */
    CELLS_ESCAPE, /* stands for a character that is not shown */
    CELLS_KEY,    /* of an object */
    CELLS_STRING, /* JSON values by type, with the next two */
    CELLS_NUMBER,
    CELLS_WORD,  /* true, false, null */
    CELLS_FOLD,  /* marks what can be folded, and stands for what is folded */
    CELLS_GOOD,  /* ok */
    CELLS_BAD,   /* an error */
    CELLS_WAIT,  /* a warning; open, cancelled */
    CELLS_NOTE,  /* a finding at its place */
    CELLS_ADDED, /* in a comparison, with the next two */
    CELLS_REMOVED,
    CELLS_CHANGED,
    CELLS_STYLES
};

struct cells_span {
    size_t at, n;   /* bytes in cells.text: printable characters */
    size_t columns; /* that they take */
    enum cells_style style;
    bool found; /* by cells_mark() */
};

/* What a combining character may do. */
enum cells_join { CELLS_JOIN_NONE, CELLS_JOIN_HIDDEN, CELLS_JOIN };

struct cells {
    struct buf text;         /* owned */
    struct cells_span *span; /* owned; one after the other, without gaps */
    size_t n, cap;
    size_t from, width; /* the window */
    size_t column; /* of the line, where the next character goes; at most the end of the window */
    size_t origin; /* the column from which tabs are counted */
    enum cells_join join; /* HIDDEN: with a character on the left of the window */
    unsigned marks;       /* that joined the last character */
    bool ascii;
    bool tabs; /* a tab is shown as blanks, not as \t */
    bool more; /* some text is on the right of the window */
    bool failed;
};

/* Begins a line, and keeps the memory of the line before. Zeros are a valid initial value. */
void cells_begin(struct cells *c, size_t from, size_t width, bool ascii);
void cells_close(struct cells *c);
void cells_add(struct cells *c, enum cells_style style, struct slice text); /* recorded text */
void cells_adds(struct cells *c, enum cells_style style, const char *text);
/* At most 255 bytes. */
void cells_addf(struct cells *c, enum cells_style style, const char *fmt, ...) MI_FORMAT(3, 4);
void cells_blank(struct cells *c, size_t columns);
bool cells_full(const struct cells *c); /* what is added now is not visible */
/* If some text is on the right of the window, an ellipsis takes its last column. */
void cells_ellipsis(struct cells *c);
/* Sets `found` for each place of the needle in the window, regardless of case. */
void cells_mark(struct cells *c, struct slice needle);
struct slice cells_text(const struct cells *c, size_t span);

/* The columns of a text without tabs, or `max` if it has more. */
size_t cells_columns(struct slice text, bool ascii, size_t max);
size_t cells_tabbed(struct slice text, bool ascii); /* with tabs, which are blanks */
/* The bytes of the longest beginning of a text that fits in `columns`, at least one character. It ends before a newline;
 * tabs are blanks. */
size_t cells_fit(struct slice text, bool ascii, size_t columns);
/* The bytes of the first line of a text that is wrapped between words; *ret_next: where the next line begins. */
size_t cells_line(struct slice text, bool ascii, size_t columns, size_t *ret_next);

#endif
