/* tail_page.h - what `tail` prints: lines of several sessions, made session by session and printed by time.
 *
 * Rules     a line waits in the page until tail_page_print(). On a terminal the last line names the calls that are
 *           open; it is taken back before another line is printed.
 * Owns      the output, the lines that wait, scratch buffers; tail_page_close() frees them.
 * Errors    MI_ENOMEM, or what query.h says of a session that is looked at.
 * Blocks    on standard output, in tail_page_print(), tail_page_show_open() and tail_page_close(). */
#ifndef MI_CLI_TAIL_PAGE_H
#define MI_CLI_TAIL_PAGE_H

#include "cli/followed.h"
#include "cli/timeline.h"

/* A line that was made, and has to wait for its turn. */
struct tail_line {
    int64_t at_us;
    size_t from, to; /* in page.b */
};

struct tail_page {
    struct query *q; /* borrowed */
    bool json;
    bool shows_open; /* set by who follows; only on a terminal that can take a line back */
    bool open_shown; /* the last line names the open calls */
    struct out out;
    struct out page;        /* only its buffer: lines that are not in order yet */
    struct tail_line *line; /* owned */
    size_t line_n, line_cap;
    struct timeline timeline;
    struct session_view view;       /* all zero: a line needs nothing of it */
    struct buf text;                /* owned; a large body, the open calls */
    const struct query_session *of; /* borrowed; whose lines are being made */
};

void tail_page_open(struct tail_page *p, struct query *q, bool json);
/* EXIT_FINE or EXIT_TROUBLE, which stderr is told. */
MI_MUST int tail_page_close(struct tail_page *p);

/* The lines that come now are of this session, which stays the caller's. */
void tail_page_of(struct tail_page *p, const struct query_session *s);
MI_MUST int tail_page_message(struct tail_page *p, const struct query_message *m);
MI_MUST int tail_page_event(struct tail_page *p, const struct query_event *e);
/* It began or, as this row of it says, ended: `what` is "started" or "ended". */
MI_MUST int tail_page_session(struct tail_page *p, const struct query_session *now,
                              const char *what);

/* Names of the columns, in front of everything. */
void tail_page_titles(struct tail_page *p);
/* The last `max` of the lines that wait; the others are dropped. */
MI_MUST int tail_page_print(struct tail_page *p, size_t max);
void tail_page_show_open(struct tail_page *p, const struct followed *f);
void tail_page_hide_open(struct tail_page *p);

#endif
