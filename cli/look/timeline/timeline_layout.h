/* timeline_layout.h - which columns the lines of a timeline have, and how wide they are.
 *
 * Rules     in a pipe, a line has all columns and nothing is truncated. On a terminal, no line
 *           wraps, and the content of a message should have LAYOUT_CONTENT columns: the first level
 *           that leaves so many columns is chosen. An unusually long METHOD is not considered: its
 *           line has fewer columns for the content.
 * Blocks    never. Pure. */
#ifndef MI_CLI_LOOK_TIMELINE_TIMELINE_LAYOUT_H
#define MI_CLI_LOOK_TIMELINE_TIMELINE_LAYOUT_H

#include "cli/frame/out.h"

#define LAYOUT_CONTENT 24 /* columns that the content should have */
/* maximum columns of METHOD; on a terminal, a quarter of its width if that is more */
#define LAYOUT_METHOD_MAX 28

enum layout_level {
    LAYOUT_FULL,
    /* METHOD without `tools/call` and `notifications/`, which WHAT and the target imply */
    LAYOUT_SHORT_NAMES,
    LAYOUT_NO_SIZE,
    LAYOUT_NO_ID, /* no ID column, and no milliseconds in the time of day */
    /* one blank between columns, a narrower WHAT, and no padding of METHOD and TOOK; on a terminal
     * with fewer than 80 columns, lines of several sessions have no session ID, and a narrower
     * column SERVER */
    LAYOUT_PACKED,
};

struct layout_widths {
    size_t columns; /* width of the terminal; OUT_UNLIMITED: no limit */
    bool of_many;   /* lines begin with the time of day, a session's ID and its server */
    size_t seq, time, id, arrow;
    /* method: width of the widest METHOD; short_method: width of the widest METHOD with
     * LAYOUT_SHORT_NAMES */
    size_t method, short_method;
    /* number of METHODs that were measured; 0: only the widest METHOD is known */
    unsigned measured;
    /* by_width[0][n]: number of METHODs that are n columns wide; by_width[1][n]: the same with
     * LAYOUT_SHORT_NAMES. The last element also counts all wider METHODs. */
    unsigned by_width[2][LAYOUT_METHOD_MAX + 1];
};

struct layout {
    enum layout_level level;
    size_t gap;          /* number of blanks between columns */
    size_t time;         /* width of the column TIME */
    size_t server;       /* width of the column SERVER; 0: no such column */
    size_t session, seq; /* widths of the columns of the session ID and SEQ; 0: no such column */
    size_t what, method, took; /* widths; with LAYOUT_PACKED, method and took are 0 (not padded) */
    size_t id, size;           /* widths of the columns ID and SIZE; 0: no such column */
};

/* Counts the METHOD of one message. method, short_method: its widths in columns. */
void layout_add_method(struct layout_widths *w, size_t method, size_t short_method);
/* Sets *l to the columns of the first level that leaves enough columns for the content. If no level
 * does, sets *l to those of LAYOUT_PACKED. */
void layout_choose_level(struct layout *l, const struct layout_widths *w);
/* Sets *l to the columns of this level. Unless the level is LAYOUT_PACKED, METHOD is narrowed to
 * leave columns for the content. */
void layout_set_columns(struct layout *l, const struct layout_widths *w, enum layout_level level);
/* Returns the columns and gaps before WHAT. */
size_t layout_count_leading_columns(const struct layout *l, const struct layout_widths *w);
/* Returns the maximum width of METHOD in a line in which `left` columns are free. took: the column
 * TOOK follows METHOD. */
size_t layout_max_method_width(const struct layout *l, size_t left, bool took);

#endif
