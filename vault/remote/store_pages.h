/* store_pages.h - rows of a store in memory: pages, some of which are cached for later look-ups.
 *
 * Cached    the pages of sessions, of messages and of calls that were read most recently, and
 *           blocks of calls and of messages without bodies. An answer's request is nearly always
 *           among the messages that were read most recently. Rows of cached pages are not requested
 *           from the store again.
 * Owns      a page is freed when its last holder calls page_release().
 * Errors    MI_ENOMEM, or those of struct remote_store.
 * Blocks    on the store. */
#ifndef MI_VAULT_REMOTE_STORE_PAGES_H
#define MI_VAULT_REMOTE_STORE_PAGES_H

#include "base/intern.h"
#include "vault/remote/remote.h"

/* Number of seqs in a block; the messages or calls of a block share a page. */
#define PAGES_BLOCK 256
#define PAGES_BLOCKS 32
/* Maximum number of rows in a page of sessions: the sessions of one statement, and the next older
 * session. */
#define PAGES_SESSIONS 65

struct page {
    int holders;
    bool last; /* true: the store has no rows after the last row of the page */
    /* true: the store has no newer sessions than those of the page; used for pages of sessions
     * only */
    bool first;
    bool gapless;      /* true: the page omits no session between its first and its last one */
    bool bounded;      /* true: older sessions may exist, but were not requested */
    size_t n, cap;     /* number of rows */
    size_t width;      /* number of cells in a row */
    struct cell *cell; /* owned */
    struct buf text;   /* owned; texts of the cells */
};

struct block {
    enum remote_table table;
    int64_t session, first; /* `session`: id of the session; `first`: the first seq of the block */
    uint64_t used;          /* number of the look-up that has used the block last */
    struct page *page;      /* reference to a page; NULL: the block is free */
};

/* A cached page. It has all messages or calls of a session with from <= seq <= to. */
struct kept {
    int64_t session, from, to; /* `session`: id of the session; `from`, `to`: the range of seqs */
    /* `backwards`: true: newest rows first; `bodies`: true: the rows have their bodies */
    bool backwards, bodies;
    struct page *page; /* reference to a page; NULL: the entry is free */
};

struct remote {
    struct remote_store store;
    /* owned; uids of sessions: the id of a session is the index of its uid + 1 */
    struct intern uids;
    struct intern vaults; /* owned */
    uint32_t *vault;      /* owned; for each uid, the index of its vault in `vaults` */
    size_t vault_cap;
    /* references to the last two pages of sessions whose rows are ordered newest first; sessions[1]
     * was read last */
    struct page *sessions[2];
    /* references to the last four pages of sessions with rows in either order; listed[0] was read
     * last */
    struct page *listed[4];
    struct page *session; /* reference to the page of the session that was last read alone */
    struct kept kept[4];  /* the pages of messages that were read most recently */
    /* number of pages that were stored in remote.kept so far; modulo 4, it is the index of the page
     * that is replaced next */
    size_t kept_next;
    /* the pages of calls that were read last; each page has calls of one session */
    struct kept calls[1 + REMOTE_SESSIONS_MORE];
    int64_t calls_session; /* id of the session whose calls were requested last */
    /* reference to the page of the summaries that were read last; summary_of has the ids of their
     * sessions */
    struct page *summaries;
    int64_t summary_of[1 + REMOTE_SESSIONS_MORE];
    struct block block[PAGES_BLOCKS];
    uint64_t lookups;
};

/* Reads the rows of a request from the store. */
MI_MUST int page_read_from_store(struct remote *r, const struct remote_ask *ask, struct page **ret);
void page_add_reference(struct page *p);
void page_release(struct page *p); /* the argument may be NULL */
static inline const struct cell *page_row(const struct page *p, size_t i)
{
    return &p->cell[i * p->width];
}
/* Finds the row with this seq; false: there is none. backwards: the page is ordered newest
 * first. */
bool page_find_seq(const struct page *p, int64_t seq, bool backwards, size_t *ret);
/* Returns the cached page that has this message or call, borrowed; NULL if there is none. */
struct page *store_pages_find_cached_by_seq(struct remote *r, enum remote_table table,
                                            int64_t session, int64_t seq, size_t *ret);

/* Finds the id of a session; a session that was not read before gets a new id. session: a row of a
 * page of sessions. Returns 0 or MI_ENOMEM. */
MI_MUST int store_pages_get_or_add_session_id(struct remote *r, const struct cell *session,
                                              int64_t *ret);
/* Sets uid and vault of the request to those of the session with this id. false: there is no such
 * session. */
MI_MUST bool store_pages_set_session(const struct remote *r, int64_t id, struct remote_ask *ask);
/* Find the row of a session, or its summary. The page stays valid until the caller releases it.
 * MI_ENOENT: there is no such row. */
MI_MUST int store_pages_find_session(struct remote *r, int64_t id, struct page **ret,
                                     size_t *ret_row);
MI_MUST int store_pages_find_summary(struct remote *r, int64_t id, struct page **ret,
                                     size_t *ret_row);
/* Finds the row of a message or of a call, as `table` says. The page stays valid until the caller
 * releases it. */
MI_MUST int store_pages_find_row_of_seq(struct remote *r, enum remote_table table, int64_t session,
                                        int64_t seq, struct page **ret, size_t *ret_row);
/* Finds the session that is the next older or next newer one after the session in `ask`, and makes
 * a page of it from cached pages. The page has no rows if there is no such session. MI_ENOENT: no
 * cached page answers this, so ask the store. */
MI_MUST int store_pages_find_adjacent_session(struct remote *r, const struct remote_ask *ask,
                                              struct page **ret);
/* Stores a page of sessions in the cache, for later look-ups. A page that was requested with a
 * maximum of one row is not stored. */
void store_pages_add_sessions_to_cache(struct remote *r, const struct remote_ask *ask,
                                       struct page *p);
/* Like page_read_from_store(), but makes a page of messages or calls from cached pages. MI_ENOENT:
 * the cached pages lack a row, so ask the store. */
MI_MUST int store_pages_make_page_from_cache(struct remote *r, int64_t session,
                                             const struct remote_ask *ask, struct page **ret);
void store_pages_cache_page(struct remote *r, int64_t session, const struct remote_ask *ask,
                            struct page *p);
/* Reads the calls of the sessions in `ask`, whose ids are in `session`. *ret has the calls of the
 * first session; the calls of the other sessions are cached. */
MI_MUST int store_pages_read_calls(struct remote *r, const struct remote_ask *ask,
                                   const int64_t *session, struct page **ret);
/* Reads a page of calls of a session from the store. Also reads, and caches, the calls of the
 * sessions that a statement will probably ask for next. */
MI_MUST int store_pages_get_calls(struct remote *r, int64_t session, const struct remote_ask *ask,
                                  struct page **ret);

#endif
