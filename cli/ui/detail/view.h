/* view.h - lines of one text: JSON, indented and foldable, or plain text, wrapped to a width.
 *
 * A line of JSON begins where its key, value or closing bracket begins. A line of text begins after
 * a newline, or where the previous line was wrapped. More lines may follow such a line and belong
 * to it: notes and, if the value is an unfolded string, the lines of that string. The lines of the
 * string are another view (struct inner).
 *
 * Index     while the view steps through the text, it remembers about one line in 32 KiB. Other
 *           lines are found step by step from the nearest remembered line before them.
 * Folding   objects and arrays are folded if they are at least `folded_from` levels deep. A list
 *           contains the exceptions from this rule.
 * Owns      the index, the exceptions, and the texts of unfolded strings. The text is borrowed.
 * Errors    MI_ENOMEM. If the index cannot grow, lines are found more slowly.
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_DETAIL_VIEW_H
#define MI_CLI_UI_DETAIL_VIEW_H

#include "cli/ui/text/cells.h"
#include "cli/ui/text/find.h"

/* maximum number of indented levels; a deeper indentation does not fit on a screen */
#define VIEW_INDENT_MAX 40
#define VIEW_INNER_DEPTH 4 /* maximum number of levels of JSON within strings that are unfolded */
/* length in bytes; a longer string can be unfolded, whatever it contains */
#define VIEW_LONG_STRING 96
#define VIEW_EXCEPTIONS_MAX 65536
#define VIEW_NOTES_MAX 256
#define VIEW_LEVELS_MAX 512 /* maximum number of levels; values nested deeper have no pointer */
#define VIEW_CACHE 64
/* minimum number of columns for the text of a string, even if the string is deeply indented */
#define VIEW_WIDTH_MIN 24

enum view_kind { VIEW_TEXT, VIEW_JSON };

struct view_place {
    size_t at;    /* offset in the text at which the line begins */
    size_t depth; /* number of objects and arrays that contain the line */
    size_t line;
    /* 0: this place is a line of the text itself. Otherwise this place is one of the lines that
     * belong to that line: its notes, then the lines of its unfolded string. `below` is the number
     * of this place among them, from 1. */
    size_t below;
};

struct view_note {
    size_t at; /* offset of the value to which the note belongs */
    struct slice text;
    enum cells_style style;
};

/* A string value of the JSON that is unfolded: its text is shown as several lines. */
struct inner {
    size_t at;         /* offset of the string's opening quote */
    size_t indent;     /* number of blank columns before each line of the unfolded string */
    struct view *view; /* owned */
};

/* An entry of a cache: the end of an object, array or long string. */
struct view_end {
    size_t at, end, children; /* if `end` is 0, this entry is free */
};

struct view {
    enum view_kind kind;
    struct slice text; /* text of the view: borrowed, or the text of `own` */
    struct buf own;    /* owned */
    /* nesting level of strings that contain the text; 0: the text is a message */
    size_t nested;
    size_t width; /* columns at which text is wrapped; 0: text is not wrapped */
    bool ascii;
    bool fixed;         /* true if nothing can be folded; lines then have no fold markers */
    size_t folded_from; /* objects and arrays at this depth, and below it, are folded */
    /* owned; sorted offsets of the exceptions: objects and arrays that are folded or unfolded
     * against the rule of `folded_from` */
    size_t *exception;
    size_t exceptions_n, exceptions_cap;
    struct inner *inner; /* owned; sorted */
    size_t inner_n, inner_cap;
    struct view_note *note; /* owned; sorted */
    size_t notes_n, notes_cap;
    /* owned; the index of the view: remembered lines, the first line first */
    struct view_place *mark;
    size_t marks_n, marks_cap;
    struct view_place last; /* the line that was found last */
    bool whole;             /* true: the whole text was read, so `lines` is known */
    size_t lines;
    struct view_end end[VIEW_CACHE];
};

void view_open(struct view *v, enum view_kind kind, struct slice text);
void view_close(struct view *v);
void view_set_width(struct view *v, size_t width, bool ascii);

/* ---- lines ---- */

/* Finds a line by its number. Returns false if the view has fewer lines. */
bool view_find_line_by_number(struct view *v, size_t line, struct view_place *ret);
/* Moves p to the next line. Returns false if there is no next line. */
bool view_step_to_next_line(struct view *v, struct view_place *p);
/* returns the number of lines; an estimate if *exact is false */
size_t view_estimate_lines(struct view *v, bool *exact);
size_t
view_count_lines(struct view *v); /* returns the exact number of lines; reads the whole text */
/* Adds the line to c, indented by `indent` columns. */
void view_draw_line(struct view *v, const struct view_place *p, size_t indent, struct cells *c);

/* ---- folding ---- */

/* The object, array or string that begins at a line or, if none does, contains the line. */
struct view_target {
    struct view *view; /* the view itself, or the view of an unfolded string in it */
    size_t at;         /* offset of the first byte of the object, array or string */
    size_t depth;
    size_t line; /* number of the line in the outer view */
    bool folded;
};
/* Returns false if nothing can be folded: in plain text, or if the root is not an object or
 * array. */
bool view_find_innermost_fold_target(struct view *v, const struct view_place *p,
                                     struct view_target *ret);
/* Finds the object or array around the target, or the string that contains the target. Returns
 * false if the target is the root. */
bool view_find_enclosing_value(struct view *v, const struct view_target *t,
                               struct view_target *ret);
/* Folds or unfolds the object, array or string `t`. Returns 0 or MI_ENOMEM. Returns MI_EFULL if
 * `t` is a string of more than `room` bytes, or if there are too many exceptions. Returns MI_ENOENT
 * if `t` is a string that is not valid. */
MI_MUST int view_toggle_fold(struct view *v, const struct view_target *t, size_t room);
/* Folds JSON for its first display: short JSON is not folded; other JSON is folded to few lines. */
void view_fold_for_first_display(struct view *v);
void view_fold_from_depth(struct view *v, size_t depth);
/* returns the size of all unfolded strings in bytes */
size_t view_count_unfolded_bytes(const struct view *v);
/* Whether unfolding this string is useful: it has several lines, is JSON, or is long. */
bool view_should_unfold_string(const struct view *v, size_t at);
bool view_is_json(struct slice s); /* whether the text is a valid JSON object or array */
/* Unfolds the objects and arrays that contain byte `at`. */
MI_MUST int view_unfold_to_show_byte(struct view *v, size_t at);
MI_MUST int view_add_note(struct view *v, const struct view_note *n);

/* ---- positions ---- */

/* One level of the path from the root of the JSON to a value: an object or array that contains the
 * value. */
struct view_level {
    size_t at;    /* offset of the object or array */
    size_t index; /* if the level is an array: index of the element that the path goes through */
    /* if the level is an object: key, with its escapes, of the member that the path goes through;
     * {NULL, 0}: the level is an array */
    struct slice key;
};
struct view_path {
    struct view_level level[VIEW_LEVELS_MAX];
    /* number of levels of the path; `level` has only the first VIEW_LEVELS_MAX of these levels */
    size_t n;
};
void view_find_path_at_offset(const struct view *v, size_t at, struct view_path *ret);
/* Finds the value that a JSON Pointer names. Returns false if there is none. */
bool view_find_pointer(const struct view *v, struct slice pointer, size_t *ret_at);
/* Finds the line and column of a byte. Reads the text up to the byte. Call
 * view_unfold_to_show_byte() before this function. */
void view_find_line_and_column(struct view *v, size_t at, size_t *ret_line, size_t *ret_column);
/* Returns the offset of the value in this line, which follows its key, or of the closing bracket.
 * Returns v->text.n if the text is empty. */
size_t view_value_offset(const struct view *v, const struct view_place *p);
/* Appends the value of the line: a string is unescaped, other values are copied as they are
 * written. */
MI_MUST int view_copy_value(struct view *v, const struct view_place *p, struct buf *b);
MI_MUST int view_write_pointer(struct view *v, const struct view_place *p, struct buf *b);

void view_write_path(const struct view *v, const struct view_path *path, struct buf *b);

/* ---- for the other files of this module ---- */

bool view_text_step_line(struct view *v, struct view_place *p);
void view_text_draw(struct view *v, const struct view_place *p, struct cells *c);
/* Adds a token as it is written, except that visible characters beyond ASCII are unescaped. */
void view_add_token(struct cells *c, enum cells_style style, struct slice token);
bool view_json_step_line(struct view *v, struct view_place *p);
void view_json_draw(struct view *v, const struct view_place *p, struct cells *c);
/* Returns the end of the value at `at`. A far end is cached. */
size_t view_find_value_end(struct view *v, size_t at, size_t *ret_children);
bool view_is_folded(const struct view *v, size_t at, size_t depth);
/* Each function returns an index in one of the sorted lists of the view: the index of the first
 * exception, unfolded string or note at or after offset `at`. */
size_t view_find_first_exception(const struct view *v, size_t at);
size_t view_find_first_unfolded_string(const struct view *v, size_t at);
size_t view_find_first_value_note(const struct view *v, size_t at);
/* returns the unfolded string at `at`; NULL if the string is folded */
struct inner *view_find_unfolded_string(const struct view *v, size_t at);
/* returns the number of notes of the value at this offset */
size_t view_count_notes(const struct view *v, size_t at);
/* Removes all lines that begin after byte `at` from the index. Call this function when the number
 * of lines of the value at `at` has changed. */
void view_forget_lines(struct view *v, size_t at);
/* Converts an offset `to` in the valid string at `at` to an offset in its unescaped text. */
size_t view_get_unescaped_offset(const struct view *v, size_t at, size_t to);
/* Appends the unescaped text of the string at [at, end). Returns false if the string is invalid. */
bool view_unescape_string(const struct view *v, size_t at, size_t end, struct buf *b);
size_t view_inner_width(const struct view *v, size_t indent);
/* returns the number of columns before the fold marker of a line */
size_t view_count_indent_columns(size_t depth);

#endif
