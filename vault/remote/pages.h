/* pages.h - rows of a store in memory: pages, and those that are kept for later look-ups.
 *
 * Kept      the last pages of sessions, of messages and of calls, and blocks of messages without bodies and of calls: an
 *           answer's request is nearly always among the messages that were read last. Messages that are kept are not asked for again.
 * Owns      a page belongs to those who hold it: page_drop().
 * Errors    MI_ENOMEM, or those of struct remote_store.
 * Blocks    on the store. */
#ifndef MI_VAULT_REMOTE_PAGES_H
#define MI_VAULT_REMOTE_PAGES_H

#include "base/intern.h"
#include "vault/remote/remote.h"

#define PAGES_BLOCK 256 /* messages in a block, or the calls that they begin, by seq */
#define PAGES_BLOCKS 32
#define PAGES_SESSIONS 65 /* in a page: those of one statement, and the next older one */

struct page {
    int holders;
    bool last;         /* the store has no more rows after these */
    bool first;        /* of sessions, newest first: none is newer than these */
    bool whole;        /* the same: none between these is left out */
    bool bounded;      /* the same: there may be older ones, which were not asked for */
    size_t n, cap;     /* rows */
    size_t width;      /* cells in a row */
    struct cell *cell; /* owned */
    struct buf text;   /* owned; of the cells */
};

struct block {
    enum remote_table table;
    int64_t session, first; /* an id, and a seq */
    uint64_t used;          /* when it was used last, in look-ups */
    struct page *page;      /* held; NULL: the block is free */
};

/* A page that has all messages or calls of a session with from <= seq <= to. */
struct kept {
    int64_t session, from, to; /* an id, and seqs */
    bool backwards, bodies;    /* of its page */
    struct page *page;         /* held; NULL: free */
};

struct remote {
    struct remote_store store;
    struct intern uids;   /* owned; the id of a session is its place + 1 */
    struct intern vaults; /* owned */
    uint32_t *vault;      /* owned; of each uid, in vaults */
    size_t vault_cap;
    struct page *sessions[2]; /* held; the last pages of sessions, newest first */
    struct page *listed[4];   /* held; the last pages of sessions in any order, newest first */
    struct page *session;     /* held; the last session that was read alone */
    struct kept kept[4];      /* the last pages of messages */
    size_t kept_next;         /* the one that is replaced next */
    struct kept calls
        [1 + REMOTE_SESSIONS_MORE]; /* the last pages of calls that end with a session's last one */
    int64_t calls_session;          /* id of the last session whose calls were asked for */
    struct page *summaries;         /* held; the last ones, and the ids of their sessions */
    int64_t summary_of[1 + REMOTE_SESSIONS_MORE];
    struct block block[PAGES_BLOCKS];
    uint64_t lookups;
};

/* The rows that are asked for. */
MI_MUST int page_read(struct remote *r, const struct remote_ask *ask, struct page **ret);
void page_hold(struct page *p);
void page_drop(struct page *p); /* NULL is fine */
static inline const struct cell *page_row(const struct page *p, size_t i)
{
    return &p->cell[i * p->width];
}
/* The row with this seq. backwards: the page is newest first. */
bool page_find_seq(const struct page *p, int64_t seq, bool backwards, size_t *ret);
/* The kept page that has this message or call, borrowed; NULL: none. */
struct page *pages_find_kept(struct remote *r, enum remote_table table, int64_t session,
                             int64_t seq, size_t *ret);

/* The session's id, which it gets now if it has none. MI_ENOMEM. */
MI_MUST int pages_id(struct remote *r, const struct cell *session, int64_t *ret);
/* Completes the ask for the session with this id: its uid and vault. false: there is none. */
MI_MUST bool pages_of(const struct remote *r, int64_t id, struct remote_ask *ask);
/* One row; the page is held for the caller. MI_ENOENT. */
MI_MUST int pages_session(struct remote *r, int64_t id, struct page **ret, size_t *ret_row);
MI_MUST int pages_summary(struct remote *r, int64_t id, struct page **ret, size_t *ret_row);
/* A message or a call, by the table. */
MI_MUST int pages_seq(struct remote *r, enum remote_table table, int64_t session, int64_t seq,
                      struct page **ret, size_t *ret_row);
/* A page with the next older or the next newer session, without a row if there is none. MI_ENOENT: ask the store. */
MI_MUST int pages_neighbour(struct remote *r, const struct remote_ask *ask, struct page **ret);
void pages_keep_sessions(struct remote *r, const struct remote_ask *ask, struct page *p);
/* A page of messages or calls as page_read() makes it, from what is kept. MI_ENOENT: ask the store. */
MI_MUST int pages_kept(struct remote *r, int64_t session, const struct remote_ask *ask,
                       struct page **ret);
void pages_keep(struct remote *r, int64_t session, const struct remote_ask *ask, struct page *p);
/* Calls of the sessions in `ask`, whose ids are in `session`; those of the first one are the page, the others are kept. */
MI_MUST int pages_read_calls(struct remote *r, const struct remote_ask *ask, const int64_t *session,
                             struct page **ret);
/* A page of calls that are not kept, read with those of the sessions that a statement will probably ask for next. */
MI_MUST int pages_calls(struct remote *r, int64_t session, const struct remote_ask *ask,
                        struct page **ret);

#endif
