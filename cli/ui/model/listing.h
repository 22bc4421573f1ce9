/* listing.h - the calls, or the messages, of one session that match a filter, and the figures of
 * all calls of the session.
 *
 * A session may have millions of messages. So the caller reads them in parts, from the newest to
 * the oldest. For each part, it adds the messages (if the list has a filter or shows messages),
 * then the calls that began among these messages. So the newest rows are complete at once. Messages
 * that are recorded meanwhile are added at the newer end. The list has only the seqs of messages;
 * the screen reads the rows that it shows (row_cache.h).
 *
 * Calls     requests of both sides, as vault/query/reader.h gives them. A call matches if its
 *           request, or the message that ended it, matches. If a call consisted of several
 *           requests, it matches if one of these requests matches. The figures count all calls of
 *           the client, also those that do not match.
 * Messages  without a filter, the list needs no memory: its rows are all seqs from 1 to the last.
 * Owns      the rows: 32 bytes each, at most LISTING_MAX; listing_close() frees them.
 * Errors    MI_ENOMEM; MI_EFULL: the list is full, so older messages cannot be added.
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_MODEL_LISTING_H
#define MI_CLI_UI_MODEL_LISTING_H

#include "cli/ui/model/figures.h"

#define LISTING_MAX ((size_t)4 << 20)
/* Maximum size of each table: the table of open calls, and the table of matching requests whose
 * calls were not added yet. */
#define LISTING_OPEN_MAX ((size_t)1 << 16)

enum listing_mode { LISTING_CALLS, LISTING_MESSAGES };

struct listed {
    int64_t seq;     /* seq of the request or the message */
    int64_t answer;  /* seq of the message that closed the call; 0: an open call, or a message */
    int64_t took_us; /* duration of the call; -1: unknown */
    enum call_status status;
};

/* An open call, or a matching message whose call was not added yet. */
struct listing_request {
    int64_t seq;  /* seq of the request, or of a notification that may end a task */
    bool counted; /* listing.figures counts this request as an open call */
};

struct listing_requests {
    struct listing_request *request; /* owned; the requests, sorted by seq */
    size_t n, cap;
};

struct listing {
    enum listing_mode mode;
    bool every; /* true: no filter is set, so every message matches */
    /* seqs of the first and last message that were added; `first` is 1 if no older messages are
     * left to add */
    int64_t first, last;
    /* owned; the rows in `old` begin with the newest, the rows in `young` with the oldest */
    struct listed *old, *young;
    size_t old_n, old_cap, young_n, young_cap;
    struct listing_requests open;    /* calls that were added and are still open */
    struct listing_requests matched; /* matching messages whose calls were not added yet */
    struct figures figures;
};

/* last: seq of the session's newest message; 0: the session has no messages. */
void listing_open(struct listing *l, enum listing_mode mode, bool every, int64_t last);
void listing_close(struct listing *l); /* safe to call twice */

/* The end of the list to which a message or call is added. */
enum listing_end { LISTING_OLDER, LISTING_NEWER };

/* Adds a message that is older or newer than all messages in the listing. Messages may be missing
 * between them. If `matches` is true, the call that the message begins or ends will match when it
 * is added. */
MI_MUST int listing_add_message(struct listing *l, const struct query_message *m, bool matches,
                                enum listing_end end);
/* Returns whether this message is a notification that may end the task of a call. The notification
 * does not name the call. */
static inline bool listing_may_end_task(const struct query_message *m)
{
    return m->kind == KIND_NOTIFICATION && m->request_seq == 0 &&
           slice_begins(m->method, "notifications/tasks");
}
/* Adds a call that is older or newer than all calls in the listing. If a filter is set, the call
 * gets a row only if one of its messages matches and was added before the call. */
MI_MUST int listing_add_call(struct listing *l, const struct query_call *c, enum listing_end end);
/* Declares that request `seq` continues the call of request `first`. If the request matches, the
 * call matches. Call this function before the call is added or updated. */
MI_MUST int listing_link_request_to_call(struct listing *l, int64_t seq, int64_t first);
/* Updates a call that was open when it was added, or that had no match until now. */
MI_MUST int listing_update_call(struct listing *l, const struct query_call *c);
/* Declares that all messages first..last were added. Some of them may be missing in the vault. */
void listing_extend_message_range(struct listing *l, int64_t first, int64_t last);

size_t listing_count_rows(const struct listing *l);
struct listed listing_get_row_at(const struct listing *l, size_t at);
/* Returns the index of the first row with this seq or a higher one; listing_count_rows() if there
 * is none. */
size_t listing_find_row_of_seq(const struct listing *l, int64_t seq);

#endif
