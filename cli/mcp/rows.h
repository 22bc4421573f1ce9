/* rows.h - one page of a list: an array in structuredContent, and lines of text.
 *
 * A page ends after `limit` rows, or before both forms together would have more than ROWS_BYTES. The cursor of the next
 * page names its first row: a session, and a number within it; whoever reads it continues there.
 *
 *     rows_open(&r, c, "calls");
 *     if (rows_begin(&r, session, seq)) { … write the row to c->j and c->text … }
 *     more = rows_end(&r);                      false: the page is full
 *     rows_close(&r, "no matching call");
 *
 * Owns      nothing.
 * Blocks    never. Pure. */
#ifndef MI_CLI_MCP_ROWS_H
#define MI_CLI_MCP_ROWS_H

#include "cli/mcp/tool.h"

#define ROWS_BYTES ((size_t)16 << 10)
#define ROWS_LIMIT 20 /* without the argument `limit` */
#define ROWS_LIMIT_MAX 100

struct rows_place {
    int64_t session, n;
};

struct rows {
    struct tool_call *c;
    int64_t limit, n;
    struct rows_place first; /* where this page begins; session 0: at the first row */
    struct rows_place next;  /* where the next one begins; session 0: none */
    struct rows_place row;   /* the current row */
    struct json_out mark;    /* before the current row */
    size_t json_n, text_n;
    bool worked;  /* rows_is_late() was called */
    bool skipped; /* the page was full when the row began */
};

/* Begins the array `name`. `limit`: without the argument. MI_EINVAL: the cursor is invalid. */
MI_MUST int rows_open(struct rows *r, struct tool_call *c, const char *name, int64_t limit);
/* Begins a row, an object. false: the page is full. */
MI_MUST bool rows_begin(struct rows *r, int64_t session, int64_t n);
/* Ends it, also if rows_begin() was false. If it does not fit, it is removed. false: the page is full. */
MI_MUST bool rows_end(struct rows *r);
/* Call it before the work for a row, or for the rows of a session. true: the page has taken long, and ends before this
 * place. Each page does at least one piece of work. */
MI_MUST bool rows_is_late(struct rows *r, int64_t session, int64_t n);
/* Ends the array and adds the cursor. `none`: the text for an empty list. */
void rows_close(struct rows *r, const char *none);

#endif
