/* page.h - rows copied out of the database, so that no transaction is open while a reader handles
 * them.
 *
 * Owns      the caller owns a page: page_free().
 * Limits    messages: QUERY_PAGE_ROWS, and about QUERY_PAGE_BYTES. Events: QUERY_PAGE_ROWS.
 * Errors    MI_ESTORE, with a sentence in query_error(), or MI_ENOMEM. */
#ifndef MI_VAULT_QUERY_PAGE_H
#define MI_VAULT_QUERY_PAGE_H

#include "vault/query/reader.h"

struct page_row {
    struct page_row *next;
    union {
        struct query_session session;
        struct query_message message;
        struct query_event event;
    };
    char text[]; /* texts of the row's columns */
};

/* Reads sessions with from <= id <= to that match w (NULL: all), newest first, at most `limit`. */
MI_MUST int page_read_sessions(struct query *q, const struct where *w, int64_t from, int64_t to,
                               int64_t limit, struct page_row **ret);
/* Reads messages with from <= seq <= to that match w (NULL: all), in the order of seq. */
MI_MUST int page_read_messages(struct query *q, const struct where *w, int64_t session_id,
                               int64_t from, int64_t to, struct page_row **ret);
/* Reads events with id > after that match w (NULL: all), in the order of id. */
MI_MUST int page_read_events(struct query *q, const struct where *w, int64_t session_id,
                             int64_t after, struct page_row **ret);
/* Reads events with id <= to, newest first. */
MI_MUST int page_read_events_backward(struct query *q, int64_t session_id, int64_t to,
                                      struct page_row **ret);
void page_free(struct page_row *row); /* frees `row` and all rows after it in the list */

#endif
