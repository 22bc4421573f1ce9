/* pages.h - rows of a store in memory: pages, and those that are kept for later look-ups.
 *
 * Kept      the last page of sessions, and blocks of messages without bodies: an answer's request is nearly always
 *           among the messages that were read last.
 * Owns      a page belongs to those who hold it: page_hold(), page_drop().
 * Errors    MI_ENOMEM, or those of struct remote_store.
 * Blocks    on the store. */
#ifndef MI_VAULT_REMOTE_PAGES_H
#define MI_VAULT_REMOTE_PAGES_H

#include "base/intern.h"
#include "vault/remote/remote.h"

#define PAGES_BLOCK 256 /* messages in a block, by seq */
#define PAGES_BLOCKS 32

struct page {
    int holders;
    bool last;         /* the store has no more rows after these */
    size_t n, cap;     /* rows */
    size_t width;      /* cells in a row */
    struct cell *cell; /* owned */
    struct buf text;   /* owned; of the cells */
};

struct block {
    int64_t session, first; /* a number, and a seq */
    uint64_t used;          /* when it was used last, in look-ups */
    struct page *page;      /* held; NULL: the block is free */
};

struct remote {
    struct remote_store store;
    struct intern uids;   /* owned; the number of a session is its place + 1 */
    struct intern vaults; /* owned */
    uint32_t *vault;      /* owned; of each uid, in vaults */
    size_t vault_cap;
    struct page *sessions; /* held; the last page of sessions, newest first */
    bool sessions_are_all; /* it has all sessions between its first and last one */
    struct page *session;  /* held; the last session that was read alone */
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

/* The session's number, which it gets now if it has none. MI_ENOMEM. */
MI_MUST int pages_number(struct remote *r, const struct cell *session, int64_t *ret);
/* Completes the ask for a session with this number: its uid and vault. false: there is none. */
MI_MUST bool pages_of(const struct remote *r, int64_t number, struct remote_ask *ask);
/* One row; the page is held for the caller. MI_ENOENT. */
MI_MUST int pages_session(struct remote *r, int64_t number, struct page **ret, size_t *ret_row);
MI_MUST int pages_message(struct remote *r, int64_t session, int64_t seq, struct page **ret,
                          size_t *ret_row);
/* A page with the next older or the next newer session, if the last page of sessions has it. MI_ENOENT: ask the store. */
MI_MUST int pages_neighbour(struct remote *r, const struct remote_ask *ask, struct page **ret);

#endif
