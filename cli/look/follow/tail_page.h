/* tail_page.h - the output of `tail`: lines of several sessions, sorted by time.
 *
 * Rules     a line says which call its message continues or ends (vault/query/operation_list.h),
 *           but not if the vault is a store. The operations of a session are read before its first
 *           line, and read again after tail_page_mark_session_stale(). Lines are kept until
 *           tail_page_print(). On a terminal, the last line lists the open calls; that line is
 *           erased before other lines are printed.
 * Owns      the output, the pending lines, the operations of the last TAIL_KNOWN sessions, and
 *           scratch buffers; tail_page_close() frees them.
 * Errors    MI_ENOMEM, and those of vault/query/reader.h.
 * Blocks    on standard output, in tail_page_print(), tail_page_show_open_calls() and
 *           tail_page_close(). */
#ifndef MI_CLI_LOOK_FOLLOW_TAIL_PAGE_H
#define MI_CLI_LOOK_FOLLOW_TAIL_PAGE_H

#include "cli/look/follow/followed.h"
#include "cli/look/timeline/timeline.h"
#include "vault/query/operation_list.h"

#define TAIL_KNOWN 8 /* maximum number of sessions whose operations are in memory */

/* A line that is not printed yet. */
struct tail_line {
    int64_t at_us;
    size_t from, to; /* range of the line's text in page.b */
};

/* The operations of a session. */
struct tail_operations {
    int64_t session_id;         /* id of the session; 0: the entry is unused */
    bool stale;                 /* the session may have new operations */
    struct operation_list list; /* owned */
};

struct tail_page {
    struct query *q; /* borrowed */
    bool json;
    /* set by the caller; true: the open calls are shown, which needs a terminal that can erase a
     * line */
    bool shows_open;
    bool open_shown; /* the last line lists the open calls */
    struct out out;
    struct out page;        /* page.b has the pending lines, which are not sorted yet */
    struct tail_line *line; /* owned */
    size_t line_n, line_cap;
    struct timeline timeline;
    /* borrowed by `timeline`; all members are zero, because the lines do not show a summary */
    struct session_view view;
    struct buf text; /* owned; the line of open calls */
    struct tail_operations known[TAIL_KNOWN];
    size_t next_known;              /* index in `known` of the entry that is replaced next */
    const struct query_session *of; /* borrowed; the session of the next lines */
};

void tail_page_open(struct tail_page *p, struct query *q, bool json);
/* Returns EXIT_FINE, or EXIT_TROUBLE after a message on stderr. */
MI_MUST int tail_page_close(struct tail_page *p);

/* Sets the session of the next lines. The session is borrowed. */
void tail_page_set_session(struct tail_page *p, const struct query_session *s);
/* Must be called before new messages of a session are added, so that the operations of the session
 * are read again. */
void tail_page_mark_session_stale(struct tail_page *p, int64_t session_id);
MI_MUST int tail_page_add_message(struct tail_page *p, const struct query_message *m);
MI_MUST int tail_page_add_event(struct tail_page *p, const struct query_event *e);
/* Adds a line for the start or the end of the session. */
MI_MUST int tail_page_add_session(struct tail_page *p, const struct query_session *now, bool ended);

/* Prints the column titles. Must be called before the first line. */
void tail_page_print_titles(struct tail_page *p);
/* Prints the pending lines. */
MI_MUST int tail_page_print(struct tail_page *p);
/* Shows the line of open calls, if p->shows_open, and writes the output. */
void tail_page_show_open_calls(struct tail_page *p, const struct followed *f);
/* Erases the line of open calls. */
void tail_page_erase_open_calls(struct tail_page *p);

#endif
