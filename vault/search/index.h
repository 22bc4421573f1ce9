/* index.h - the index of words of a vault, in files VAULT/Search/NNNN.db. A store has its own
 * index.
 *
 * Each file indexes the sessions 64 N to 64 N + 63 in a contentless FTS5 table without positions:
 * it finds the messages that contain all given words. The caller verifies every result in the
 * database. A search creates a missing, outdated or broken file again. Proxies never use the index;
 * a search updates the files that it needs.
 *
 * Rules     the table `done` of a file has the last indexed message of each session (id and uid);
 *           it is updated in the same transaction as the words. A session that was removed from the
 *           database, or whose id was given to another session, invalidates the file.
 * Owns      a connection to one file at a time.
 * Errors    MI_EIO if a file is broken or cannot be written: then read the messages instead.
 * Blocks    on the disk, and up to SEARCH_WAIT_MS while another process adds to the same file; for
 *           a store, on the network. */
#ifndef MI_VAULT_SEARCH_INDEX_H
#define MI_VAULT_SEARCH_INDEX_H

#include "vault/query/reader.h"
#include "vault/search/search_terms.h"

#define SEARCH_SESSIONS 64 /* number of sessions that one file indexes */
#define SEARCH_WAIT_MS 10000

struct search;

struct search_session {
    int64_t id;
    char uid[32];
};

/* Opens the index. `q` is borrowed. Returns 0 or MI_ENOMEM. If the index cannot be written, later
 * calls of search_index_update_file() fail. */
MI_MUST int search_open(struct search **ret, struct query *q);
void search_close(struct search *s); /* the argument may be NULL */

/* Returns the number of the index file of a session. In a store, which has no files, the number is
 * that of the group of sessions that are searched together. s may be NULL. */
int64_t search_get_file_of_session(const struct search *s, int64_t session_id);
/* Appends a query for search_find_messages() that matches every text with all terms, and possibly
 * other texts. false: there is no such query. */
bool search_index_make_query(const struct search *s, const struct search_terms *t, struct buf *b);

/* Updates the index file of these sessions, which must be all sessions of the file, newest first.
 * Does nothing for a store. on_read, if not NULL, is called for each message that is indexed.
 * Returns 0; MI_EIO if there is no index, so the caller must search the messages; MI_ESTORE (see
 * query_error()); or MI_ENOMEM. */
MI_MUST int search_index_update_file(struct search *s, const struct search_session *session,
                                     size_t n, void (*on_read)(void *ctx), void *ctx);
/* Called for each message that is found. Returns false to stop the search. */
typedef bool (*search_fn)(void *ctx, int64_t session_id, int64_t seq);
/* Calls fn for each message that matches the query, newest first. The sessions must be those of the
 * last search_index_update_file(). Returns 0, MI_EIO (the index file was damaged and is deleted),
 * MI_ESTORE (see query_error()) or MI_ENOMEM. */
MI_MUST int search_find_messages(struct search *s, const struct search_session *session, size_t n,
                                 const char *query, search_fn fn, void *ctx);

/* Returns the size of the file that search_delete_index() deletes for this session; 0: there is no
 * file. vault: descriptor of the vault's directory. */
int64_t search_get_file_size_of_session(int vault, int64_t session_id);
/* Deletes the index file of this session, and overwrites its content. Returns 0 or MI_EIO. */
int search_delete_index(const char *vault, int64_t session_id);

#endif
