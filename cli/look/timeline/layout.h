/* layout.h - which columns the lines of a timeline have, and how wide they are.
 *
 * Rules     in a pipe a line has all columns and nothing is truncated. On a terminal no line wraps, and the content of
 *           a message gets LAYOUT_CONTENT columns: until it has them, the levels are applied one after the other. A
 *           METHOD that is longer than most does not count: it takes columns of the content of its own line.
 * Blocks    never. Pure. */
#ifndef MI_CLI_LOOK_TIMELINE_LAYOUT_H
#define MI_CLI_LOOK_TIMELINE_LAYOUT_H

#include "cli/frame/out.h"

#define LAYOUT_CONTENT 24    /* columns for the content, if they can be had */
#define LAYOUT_METHOD_MAX 28 /* columns of METHOD; on a wide terminal, a quarter of it */

enum layout_level {
    LAYOUT_FULL,
    LAYOUT_SHORT_NAMES, /* without `tools/call` and `notifications/`, which WHAT and the target imply */
    LAYOUT_NO_SIZE,
    LAYOUT_NO_ID, /* nor milliseconds in the time of day */
    LAYOUT_PACKED, /* single gaps, no padding after WHAT; below 80 columns no session ID, and a shorter server */
};

struct layout_widths {
    size_t columns; /* of the terminal; OUT_UNLIMITED: none */
    bool of_many;   /* lines begin with the time of day, a session's ID and its server */
    size_t seq, time, id, arrow;
    size_t method,
        short_method;  /* the widest METHOD, and without the words that LAYOUT_SHORT_NAMES drops */
    unsigned measured; /* METHODs; 0: the widest counts */
    unsigned by_width[2][LAYOUT_METHOD_MAX +
                         1]; /* how many, without and with those words; last: all wider ones */
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

/* One more METHOD. */
void layout_add_method(struct layout_widths *w, size_t method, size_t short_method);
/* The first level that leaves enough columns for the content. */
void layout_choose(struct layout *l, const struct layout_widths *w);
/* The columns of this level. METHOD is narrowed to leave columns for the content. */
void layout_set(struct layout *l, const struct layout_widths *w, enum layout_level level);
/* The columns and gaps before WHAT. */
size_t layout_lead(const struct layout *l, const struct layout_widths *w);
/* The most columns of METHOD in a line of which `left` columns are left; took: a time follows. */
size_t layout_method_max(const struct layout *l, size_t left, bool took);

#endif
