/* kind.h - the two implementations of index.h: files in a vault (index.c), and the index of a store
 * (search_store.c). */
#ifndef MI_VAULT_SEARCH_KIND_H
#define MI_VAULT_SEARCH_KIND_H

#include "vault/search/index.h"
#include "vault/store/db.h"

/* Implementations of the functions of index.h, for one kind of index. */
struct search_kind {
    int64_t (*file_of)(int64_t session_id);                     /* search_get_file_of_session() */
    bool (*query)(const struct search_terms *t, struct buf *b); /* search_index_make_query() */
    /* search_index_update_file() */
    int (*update)(struct search *s, const struct search_session *session, size_t n,
                  void (*on_read)(void *ctx), void *ctx);
    /* search_find_messages() */
    int (*ask)(struct search *s, const struct search_session *session, size_t n, const char *query,
               search_fn fn, void *ctx);
};
extern const struct search_kind search_store;

struct search {
    const struct search_kind *kind;
    struct query *q; /* borrowed */
    /* The following members are used for the index files of a vault: */
    /* owned; path of VAULT/Search; NULL: the folder cannot be opened or created */
    char *path;
    int dir_fd;     /* owned; descriptor of VAULT/Search; -1: not open */
    int64_t number; /* number of the open index file */
    /* owned; the connection to the open index file; if d.db is NULL, no file is open */
    struct db d;
    /* Owned; errors of `d`. They are not reported, because a broken file is created again. */
    struct buf why;
    struct buf text;  /* owned; buffer for the text of a message */
    struct buf large; /* owned; buffer for a large body */
};

#endif
