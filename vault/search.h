/* search.h - the index of words beside the database: VAULT/Search/NNNN.db.
 *
 * Each file has the words of the sessions 64 N to 64 N + 63, in a contentless table of FTS5 without
 * positions: it says which messages have all of some words, and nothing else. Every answer is looked at in
 * the database, so a file may be missing, old or broken: it is made again. No proxy ever touches it; whoever
 * searches brings the files up to date that he needs.
 *
 * Rules     a file's table `done` says which session (id and uid) was read up to which message, in the same
 *           transaction as their words. A session that is no longer in the database, or another one by now,
 *           makes the file void.
 * Owns      a connection to one of the files at a time.
 * Errors    a file that is broken or cannot be written is no failure: MI_EIO, and the messages are read instead.
 * Blocks    on the disk, and up to SEARCH_WAIT_MS while somebody else adds to the same file. */
#ifndef MI_VAULT_SEARCH_H
#define MI_VAULT_SEARCH_H

#include "vault/query.h"

#define SEARCH_SESSIONS 64 /* in a file */
#define SEARCH_WAIT_MS 10000

struct search;

struct search_session {
    int64_t id;
    char uid[32];
};

/* The query is borrowed. 0 or MI_ENOMEM; where nothing can be written, search_file() says so. */
MI_MUST int search_open(struct search **ret, struct query *q);
void search_close(struct search *s); /* NULL is fine */

/* Brings the file of these sessions, which all belong to it, up to date. on_read, if not NULL, is told of
 * each message that is read for it. 0; MI_EIO: there can be no index, read the messages themselves;
 * MI_ESTORE (query_error() says why), MI_ENOMEM. */
MI_MUST int search_file(struct search *s, const struct search_session *session, size_t n,
                        void (*on_read)(void *ctx), void *ctx);
/* A message that was found. false: that is enough. */
typedef bool (*search_fn)(void *ctx, int64_t session_id, int64_t seq);
/* The messages in that file that answer the query, the newest first. 0, MI_EIO: the file is broken and gone,
 * MI_ENOMEM. */
MI_MUST int search_words_of(struct search *s, const char *query, search_fn fn, void *ctx);

/* Removes the file that has this session, with every word in it, and overwrites it. 0 or MI_EIO. */
int search_forget(const char *vault, int64_t session_id);

#endif
