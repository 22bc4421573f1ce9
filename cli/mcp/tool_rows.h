/* tool_rows.h - one page of a list: an array in structuredContent, and lines of text.
 *
 * A page ends after `limit` rows, or before both forms together would have more than ROWS_BYTES.
 * The rows after the page are only counted, for at most ROWS_COUNT_US, so that the page can say
 * how many rows there are. The cursor of the next page names its first row: a session, and a
 * number within it. The tool that reads the cursor continues there.
 *
 *     rows_open(&r, c, "calls", ROWS_LIMIT);
 *     for (each row; rows_begin_row(&r, session, seq) …)
 *         { … write the row to c->j and c->text … }
 *         if (!rows_end_row(&r)) break;
 *     rows_close(&r, "no matching call");
 *
 * Owns      nothing.
 * Blocks    never, except in tool_should_continue(). */
#ifndef MI_CLI_MCP_TOOL_ROWS_H
#define MI_CLI_MCP_TOOL_ROWS_H

#include "cli/mcp/tool.h"
#include "show/show.h"

#define ROWS_BYTES ((size_t)16 << 10)
#define ROWS_LIMIT 20 /* rows of a page if the argument `limit` is missing */
#define ROWS_LIMIT_MAX 100
#define ROWS_COUNT_US ((int64_t)300000)

struct rows_place {
    int64_t session, n;
};

struct rows {
    struct tool_call *c;
    const char *name; /* the name of the array */
    int64_t limit, n;
    int64_t before; /* the number of rows on the pages before this one */
    /* the number of matching rows, without the rows on the pages before this one */
    int64_t counted;
    struct rows_place first; /* position at which this page begins; session 0: the first row */
    struct rows_place next;  /* position at which the next page begins; session 0: no next page */
    struct rows_place row;   /* position of the current row */
    struct json_out mark; /* state of c->j before the current row; restored if the row is removed */
    size_t json_n, text_n; /* lengths of c->json and c->text before the current row */
    /* time on the monotonic clock at which the rows after the page are no longer counted; 0: the
     * page is not full */
    int64_t count_until_us;
    /* rows_should_end_page() was called: from now on, it ends a page that takes too long */
    bool worked;
    bool skipped; /* the current row is after this page, so it is only counted */
    bool stopped; /* the reading ended before the last row, so there may be more rows */
};

/* Begins the array `name`. limit: maximum number of rows of a page if the argument `limit` of the
 * tool is missing. Returns MI_EINVAL if the cursor is invalid. */
MI_MUST int rows_open(struct rows *r, struct tool_call *c, const char *name, int64_t limit);
/* Whether the page is full, so that all further rows are only counted. */
bool rows_page_is_full(const struct rows *r);
/* Begins a row, which is an object. Returns false if the row is only counted. */
MI_MUST bool rows_begin_row(struct rows *r, int64_t session, int64_t n);
/* Ends the row. Call it even if rows_begin_row() returned false. If the row does not fit, it is
 * removed. Returns false if no further row is wanted. */
MI_MUST bool rows_end_row(struct rows *r);
/* Adds a complete row. Its values come from `row`, which is a row of the list `l`. */
MI_MUST bool rows_add_row(struct rows *r, int64_t session, int64_t n, const struct show_list *l,
                          const void *row);
/* Call this before the work for a row, or for the rows of a session. Returns true if the page ends
 * here, because it has taken too long or the client has cancelled the call. The first call for a
 * page never returns true because of the time. */
MI_MUST bool rows_should_end_page(struct rows *r, int64_t session, int64_t n);
/* For a caller that has not passed all rows of its list: sets the number of rows of the whole list,
 * including the rows on earlier pages. If `all` is false, the number is only a lower limit. */
void rows_set_total(struct rows *r, int64_t total, bool all);
/* Ends the array, and adds which rows the page has, and how many rows the list has. `none`: the
 * text for an empty list. */
void rows_close(struct rows *r, const char *none);

#endif
