/* listing.h - the calls, or the messages, of one session that match a filter, and the figures of all its calls.
 *
 * A session may have millions of messages. The caller reads them backwards from the newest in parts, and adds each
 * message; so the end of the list is complete at once. Messages that are recorded meanwhile are added at the other end.
 * A message in the list is represented by its number; the screen reads the rows that it shows (row_cache.h).
 *
 * Calls     requests of both sides. The first message that closes a request decides how it ended, as in
 *           vault/query/reader.h. A call matches if its request or the message that closed it does. Figures are those of
 *           the client's calls, whether they match or not.
 * Messages  without a filter the list needs no memory: its rows are all numbers up to the last.
 * Owns      its rows: 32 bytes each, at most LISTING_MAX; listing_close() frees them.
 * Errors    MI_ENOMEM; MI_EFULL: the list is full, older messages cannot be added.
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_MODEL_LISTING_H
#define MI_CLI_UI_MODEL_LISTING_H

#include "cli/ui/model/figures.h"

#define LISTING_MAX ((size_t)4 << 20)
#define LISTING_OPEN_MAX                                                                           \
    ((size_t)1 << 16) /* open calls, and answers whose request was not added yet */

enum listing_mode { LISTING_CALLS, LISTING_MESSAGES };

struct listed {
    int64_t seq;     /* of the request or the message */
    int64_t answer;  /* of the message that closed the call; 0: it is open, or this is a message */
    int64_t took_us; /* -1: unknown */
    enum call_status status;
};

/* An open request, or the message that closes one. */
struct listing_end {
    int64_t request; /* its seq */
    int64_t seq, t_us;
    enum call_status status;
    bool matches, counted;
};

struct listing_ends {
    struct listing_end *end; /* owned; sorted by request */
    size_t n, cap;
};

struct listing {
    enum listing_mode mode;
    bool every;                 /* no filter */
    int64_t first, last;        /* the messages first..last were added; first 1: that is all */
    struct listed *old, *young; /* owned; newest first, and in order */
    size_t old_n, old_cap, young_n, young_cap;
    struct listing_ends open;    /* requests that were added and not closed */
    struct listing_ends closing; /* messages that close a request before `first` */
    struct figures figures;
};

/* last: the newest message now; 0: none. */
void listing_open(struct listing *l, enum listing_mode mode, bool every, int64_t last);
void listing_close(struct listing *l); /* safe to call twice */

/* The message before the first, or after the last; numbers may be missing. */
MI_MUST int listing_older(struct listing *l, const struct query_message *m, bool matches);
MI_MUST int listing_newer(struct listing *l, const struct query_message *m, bool matches);
/* All messages from this number on were added, or up to this one, if the vault does not have some of them. */
void listing_added(struct listing *l, int64_t first, int64_t last);

size_t listing_n(const struct listing *l);
struct listed listing_row(const struct listing *l, size_t at);
/* The place of the first row with this number or a higher one; listing_n(): none. */
size_t listing_place(const struct listing *l, int64_t seq);

#endif
