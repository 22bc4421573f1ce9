/* view.h - lines of one text: JSON, indented and foldable, or plain text, wrapped to a width.
 *
 * A line of JSON begins where its key, value or closing bracket does, a line of text after a newline or where the line
 * before was wrapped. A place is such a line. Below it may follow lines that belong to it: its notes and, if it is an
 * unfolded string, the lines of that string, which are a view of their own (struct inner).
 *
 * Index     the place of about every 32nd KiB that was passed is remembered. Lines are found from there, step by step.
 * Folding   by a depth, from which on objects and arrays are folded, and a list of exceptions.
 * Owns      the index, the exceptions, and the texts of unfolded strings. The text is borrowed.
 * Errors    MI_ENOMEM. If the index cannot grow, lines are found more slowly.
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_DETAIL_VIEW_H
#define MI_CLI_UI_DETAIL_VIEW_H

#include "cli/ui/text/cells.h"
#include "cli/ui/text/find.h"

#define VIEW_INDENT_MAX 40  /* levels; a deeper indent does not fit on a screen */
#define VIEW_INNER_DEPTH 4  /* JSON in a string in JSON in a string … */
#define VIEW_LONG_STRING 96 /* bytes from which on any string can be unfolded */
#define VIEW_EXCEPTIONS_MAX 65536
#define VIEW_NOTES_MAX 256
#define VIEW_LEVELS_MAX 512 /* deeper values have no pointer */
#define VIEW_CACHE 64
#define VIEW_WIDTH_MIN 24 /* of a text in a string, however deep */

enum view_kind { VIEW_TEXT, VIEW_JSON };

struct view_place {
    size_t at;    /* in the text */
    size_t depth; /* open objects and arrays */
    size_t line;
    size_t below; /* 0: the place's own line; else the number of a line that belongs to it */
};

struct view_note {
    size_t at; /* of the value */
    struct slice text;
    enum cells_style style;
};

/* A string that is unfolded. */
struct inner {
    size_t at;         /* of its quote */
    size_t indent;     /* columns before its lines */
    struct view *view; /* owned */
};

/* The end of an object, array or long string. */
struct view_end {
    size_t at, end, children; /* end 0: free */
};

struct view {
    enum view_kind kind;
    struct slice text; /* borrowed, or of `own` */
    struct buf own;    /* owned */
    size_t nested;     /* 0: of a message; else how many strings it is in */
    size_t width;      /* text is wrapped to it; 0: not */
    bool ascii;
    bool fixed;         /* nothing can be folded: lines have no markers */
    size_t folded_from; /* depth */
    size_t *exception;  /* owned; sorted places of objects and arrays */
    size_t exceptions_n, exceptions_cap;
    struct inner *inner; /* owned; sorted */
    size_t inner_n, inner_cap;
    struct view_note *note; /* owned; sorted */
    size_t notes_n, notes_cap;
    struct view_place *mark; /* owned; the index */
    size_t marks_n, marks_cap;
    struct view_place last; /* found last */
    bool whole;             /* the number of lines is known: */
    size_t lines;
    struct view_end end[VIEW_CACHE];
};

void view_open(struct view *v, enum view_kind kind, struct slice text);
void view_close(struct view *v);
void view_layout(struct view *v, size_t width, bool ascii);

/* ---- lines ---- */

/* false: there are fewer lines. */
bool view_seek(struct view *v, size_t line, struct view_place *ret);
/* To the next line. false: this is the last one. */
bool view_step(struct view *v, struct view_place *p);
size_t view_lines(struct view *v, bool *exact); /* an estimate if not exact */
size_t view_count(struct view *v);              /* exact; reads the whole text */
/* Adds the line to c, after `indent` columns. */
void view_draw(struct view *v, const struct view_place *p, size_t indent, struct cells *c);

/* ---- folding ---- */

/* The object, array or string that begins at the line, or contains it. */
struct view_target {
    struct view *view; /* v, or that of an unfolded string */
    size_t at;         /* of its first byte */
    size_t depth;
    size_t line; /* in v */
    bool folded;
};
/* false: the root is not an object or array. */
bool view_target(struct view *v, const struct view_place *p, struct view_target *ret);
/* The object or array around the target, or the string that the target is in. false: it is the root. */
bool view_around(struct view *v, const struct view_target *t, struct view_target *ret);
/* Folds or unfolds it. 0, MI_ENOMEM, MI_EFULL (unfolded strings need more than `room` bytes, or too many exceptions),
 * or MI_ENOENT (not a valid string). */
MI_MUST int view_toggle(struct view *v, const struct view_target *t, size_t room);
/* Folds JSON as it is shown at first: short JSON not at all, other JSON so that it has few lines. */
void view_overview(struct view *v);
void view_fold_from(struct view *v, size_t depth);
size_t view_unfolded(const struct view *v); /* bytes of unfolded strings */
/* Is it useful to unfold this string? It has lines, is JSON, or is long. */
bool view_is_text(const struct view *v, size_t at);
bool view_is_json(struct slice s); /* a valid object or array */
/* Unfolds what the byte `at` is folded in. */
MI_MUST int view_reveal(struct view *v, size_t at);
MI_MUST int view_add_note(struct view *v, const struct view_note *n);

/* ---- places ---- */

/* The way from the root to a place. */
struct view_level {
    size_t at;        /* of the object or array */
    size_t index;     /* of the element that contains the place */
    struct slice key; /* of the member that contains it, raw; {NULL, 0}: in an array */
};
struct view_path {
    struct view_level level[VIEW_LEVELS_MAX];
    size_t n; /* may be more than VIEW_LEVELS_MAX in invalid JSON: only those are stored */
};
void view_path(const struct view *v, size_t at, struct view_path *ret);
/* The value that a JSON Pointer names. false: none. */
bool view_pointer(const struct view *v, struct slice pointer, size_t *ret_at);
/* Line and column of a byte. Reads the text up to there. Call view_reveal() first. */
void view_locate(struct view *v, size_t at, size_t *ret_line, size_t *ret_column);
/* The value of a place, after its key; or its closing bracket. v->text.n: the text is empty. */
size_t view_at(const struct view *v, const struct view_place *p);
/* Appends the value of the line: a string unescaped, other values as they are written. */
MI_MUST int view_value(struct view *v, const struct view_place *p, struct buf *b);
MI_MUST int view_write_pointer(struct view *v, const struct view_place *p, struct buf *b);

void view_write_path(const struct view *v, const struct view_path *path, struct buf *b);

/* ---- for the other files of this module ---- */

bool view_text_step(struct view *v, struct view_place *p);
void view_text_draw(struct view *v, const struct view_place *p, struct cells *c);
/* Adds a token as it is written, except that an escaped character that is visible and not ASCII becomes itself. */
void view_add_token(struct cells *c, enum cells_style style, struct slice token);
bool view_json_step(struct view *v, struct view_place *p);
void view_json_draw(struct view *v, const struct view_place *p, struct cells *c);
/* The end of the value at `at`; remembered if it is far away. */
size_t view_value_end(struct view *v, size_t at, size_t *ret_children);
bool view_is_folded(const struct view *v, size_t at, size_t depth);
/* The index of the first one at this place or behind it. */
size_t view_first_exception(const struct view *v, size_t at);
size_t view_first_inner(const struct view *v, size_t at);
size_t view_first_note(const struct view *v, size_t at);
struct inner *view_inner(const struct view *v, size_t at); /* of the string there; NULL: folded */
size_t view_notes(const struct view *v, size_t at);        /* how many it has */
void view_changed(struct view *v, size_t at); /* what begins at this byte has other lines now */
/* The byte of the unescaped text that byte `to` of the string at `at`, which is valid, becomes. */
size_t view_unescaped_n(const struct view *v, size_t at, size_t to);
/* Appends the text of a string that is written at `at`. false: it is not a valid string. */
bool view_unescape(const struct view *v, size_t at, size_t end, struct buf *b);
size_t view_inner_width(const struct view *v, size_t indent);
size_t view_indent(size_t depth); /* columns before the marker of a line */

#endif
