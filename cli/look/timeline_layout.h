/* timeline_layout.h - which columns the lines of a timeline have, and how wide they are.
 *
 * Rules     in a pipe a line has all columns and nothing is truncated. On a terminal no line wraps, and the content of
 *           a message gets LAYOUT_CONTENT columns: until it has them, the levels are applied one after the other.
 * Blocks    never. Pure. */
#ifndef MI_CLI_LOOK_TIMELINE_LAYOUT_H
#define MI_CLI_LOOK_TIMELINE_LAYOUT_H

#include "cli/frame/out.h"

#define LAYOUT_CONTENT 24 /* columns for the content, if they can be had */

enum layout_level {
    LAYOUT_FULL,
    LAYOUT_SHORT_NAMES, /* without `tools/call` and `notifications/`, which WHAT and the target imply */
    LAYOUT_NO_SIZE,
    LAYOUT_NO_ID,  /* nor milliseconds in the time of day */
    LAYOUT_PACKED, /* single gaps, no padding after WHAT; below 80 columns no session ID, and a shorter server */
};

struct layout_widths {
    size_t columns; /* of the terminal; OUT_UNLIMITED: none */
    bool of_many;   /* lines begin with the time of day, a session's ID and its server */
    size_t seq, time, id, arrow;
    size_t method, short_method; /* the widest METHOD, and without the words that LAYOUT_SHORT_NAMES drops */
};

struct layout {
    enum layout_level level;
    size_t gap;    /* between columns */
    size_t time;   /* TIME */
    size_t server; /* SERVER; 0: no such column, as with the next two */
    size_t session, seq;
    size_t what, method, took; /* with LAYOUT_PACKED method and took are 0: not padded */
    size_t id, size;           /* 0: no such column */
};

/* The first level that leaves enough columns for the content. */
void layout_choose(struct layout *l, const struct layout_widths *w);
/* The columns of this level. METHOD is narrowed to leave columns for the content. */
void layout_set(struct layout *l, const struct layout_widths *w, enum layout_level level);
/* The columns and gaps before WHAT. */
size_t layout_lead(const struct layout *l, const struct layout_widths *w);
/* With LAYOUT_PACKED: the most columns of METHOD if `left` columns are left of the line. */
size_t layout_method_max(size_t left, bool took);

#endif
