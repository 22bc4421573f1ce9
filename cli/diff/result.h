/* result.h - what the comparison of one row found, kept for text, JSON and JUnit.
 *
 * Rules     values are cut (excerpt.h). All differences are counted, but only the first
 *           RESULT_LISTED are kept.
 * Owns      the texts; result_close() frees them.
 * Errors    those of diff_compare_row().
 * Blocks    like diff_compare_row(). */
#ifndef MI_CLI_DIFF_RESULT_H
#define MI_CLI_DIFF_RESULT_H

#include "cli/diff/excerpt.h"
#include "replay/compare/diff.h"

#define RESULT_LISTED 100
#define RESULT_POINTER_MAX 1000 /* maximum number of bytes kept of a pointer or a name */

enum result_change {
    RESULT_SAME,
    RESULT_CHANGED, /* the params, the answer or the status differ, or the call was slower */
    RESULT_MOVED,   /* the recordings have the call at different positions */
    RESULT_MISSING, /* the call is only in the first recording */
    RESULT_ADDED,   /* the call is only in the second recording */
    RESULT_CHANGES
};

/* A part of result.text. */
struct result_span {
    size_t at, n;
    bool exists;
};

struct result_difference {
    enum diff_part part;
    bool is_entry; /* a whole entry of a list was added or removed */
    /* texts from struct diff_difference: the path, the name of the entry in a list, the path below
     * the entry, both values */
    struct result_span pointer, entry, below, value[DIFF_SIDES];
    size_t at;               /* the number of bytes left out at the beginning of both values */
    bool cut[DIFF_SIDES];    /* the end of the value is left out */
    size_t size[DIFF_SIDES]; /* size of the whole value in bytes */
};

struct result {
    enum result_change change;
    struct diff_call call[DIFF_SIDES]; /* the calls of both recordings, borrowed from the diff */
    bool has[DIFF_SIDES];
    struct diff_look look;
    /* borrowed from the diff; the sanitized params of a call that only one recording has */
    struct slice params;
    struct result_difference difference[RESULT_LISTED];
    size_t listed;
    struct buf text; /* owned */
};

/* Compares the calls of a row, and replaces the contents of *r. */
MI_MUST int result_compare_row(struct result *r, struct diff *d, uint32_t row);
void result_close(struct result *r);
struct slice result_get_stored_text(const struct result *r, struct result_span s);
/* Returns the call whose method and target are the name of the row. */
const struct diff_call *result_get_call_for_row_name(const struct result *r);
bool result_has_failed_call(const struct result *r); /* whether a call of the row failed */
/* Whether a call of the row took at least `us` microseconds. */
bool result_has_slow_call(const struct result *r, int64_t us);

const char *result_name_of_change(enum result_change c); /* returns "same", "changed", … */
/* returns "request", "result", "error", or "answer" */
const char *result_name_of_diff_part(enum diff_part p);
/* Returns the kind of an entry in a list: "tool", "prompt", "resource" or "template". */
const char *result_entry_kind(const struct result *r, const struct result_difference *d);

/* ---- all rows ---- */

struct result_counts {
    uint64_t rows[RESULT_CHANGES]; /* number of rows, by change */
    uint64_t tools[DIFF_ENTRIES];  /* number of new, changed and removed tools in lists */
    uint64_t unread;               /* number of rows whose answers were not compared */
    /* number of session facts that differ; facts that are only mentioned are not counted */
    uint64_t facts;
};

void result_add_to_counts(struct result_counts *c, const struct result *r);
bool result_has_differences(const struct result_counts *c);

#endif
