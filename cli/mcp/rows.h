/* rows.h - one page of a list: an array in structuredContent, and lines of text.
 *
 * A page ends after `limit` rows, or before both forms together would have more than ROWS_BYTES. Behind it, rows are only
 * counted, for at most ROWS_COUNT_US, so that the page can say how much it shows of how much. The cursor of the next page names
 * its first row: a session, and a number within it; whoever reads it continues there.
 *
 *     rows_open(&r, c, "calls", ROWS_LIMIT);
 *     for (each row; rows_begin(&r, session, seq) …)
 *         { … write the row to c->j and c->text … }
 *         if (!rows_end(&r)) break;
 *     rows_close(&r, "no matching call");
 *
 * Owns      nothing.
 * Blocks    never, but for tool_goes_on(). */
#ifndef MI_CLI_MCP_ROWS_H
#define MI_CLI_MCP_ROWS_H

#include "cli/mcp/tool.h"
#include "show/show.h"

#define ROWS_BYTES ((size_t)16 << 10)
#define ROWS_LIMIT 20 /* without the argument `limit` */
#define ROWS_LIMIT_MAX 100
#define ROWS_COUNT_US ((int64_t)300000)

struct rows_place {
    int64_t session, n;
};

struct rows {
    struct tool_call *c;
    const char *name; /* of the array */
    int64_t limit, n;
    int64_t before;          /* rows on the pages before */
    int64_t counted;         /* rows that match, without those */
    struct rows_place first; /* where this page begins; session 0: at the first row */
    struct rows_place next;  /* where the next one begins; session 0: none */
    struct rows_place row;   /* the current row */
    struct json_out mark;    /* before the current row */
    size_t json_n, text_n;
    int64_t count_until_us; /* monotonic clock; 0: the page is not full */
    bool worked;            /* rows_is_late() was called */
    bool skipped;           /* the current row is only counted */
    bool stopped;           /* before the last row: there may be more */
};

/* Begins the array `name`. `limit`: without the argument. MI_EINVAL: the cursor is invalid. */
MI_MUST int rows_open(struct rows *r, struct tool_call *c, const char *name, int64_t limit);
/* Whether rows are only counted from here on. */
bool rows_is_full(const struct rows *r);
/* Begins a row, an object. false: it is only counted. */
MI_MUST bool rows_begin(struct rows *r, int64_t session, int64_t n);
/* Ends it, also if rows_begin() was false. If it does not fit, it is removed. false: no further row is wanted. */
MI_MUST bool rows_end(struct rows *r);
/* Both, with a row of a list. */
MI_MUST bool rows_add(struct rows *r, int64_t session, int64_t n, const struct show_list *l,
                      const void *row);
/* Call it before the work for a row, or for the rows of a session. true: the page has taken long, and ends before this
 * place. Each page does at least one piece of work. */
MI_MUST bool rows_is_late(struct rows *r, int64_t session, int64_t n);
/* For a list whose rows were not all passed: how many there are, with those before this page; or, if they are not all, how many
 * there are at least. */
void rows_set_total(struct rows *r, int64_t total, bool all);
/* Ends the array, and says which rows these are of how many. `none`: the text for an empty list. */
void rows_close(struct rows *r, const char *none);

#endif
