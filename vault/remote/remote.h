/* remote.h - presents a store of many vaults like one vault: sessions, messages, events, leaves,
 * calls and summaries are virtual tables of SQLite, so that the statements of vault/query read a
 * store as they read a vault.
 *
 * Rules     A session's uid is its key in a store. In this module, each session also gets an `id`,
 *           in the order in which sessions are first read. Its id in its own vault is its `number`.
 *           Sessions are sorted by uid, newest first: a statement for sessions with an id below N
 *           gets the sessions that are older than session N. Rows are requested in pages of at most
 *           REMOTE_ROWS rows and about REMOTE_BYTES of bodies; a page of messages or events also
 *           ends after REMOTE_TEXTS of other texts. A large body is not part of its row:
 *           remote_read_body() reads it. A request has one range of the key and one order (struct
 *           remote_ask); SQLite evaluates all other conditions. Messages, events and calls are
 *           requested for one session, so a statement without a condition on their id or session
 *           fails. If a statement reads the calls of many sessions, as in a join with sessions, the
 *           calls of up to REMOTE_SESSIONS_MORE further sessions are requested together. Summaries,
 *           of which there is one row for each session, are requested in the same way.
 * Owns      pages, and the ids of all sessions that were read: less than 100 bytes each.
 * Lifetime  texts that `read` and `search` pass to the callback are borrowed for the call; the
 *           store is used until remote_free().
 * Errors    if `read` fails, SQLite returns SQLITE_ERROR with the sentence of `error`.
 * Blocks    on `read`. */
#ifndef MI_VAULT_REMOTE_REMOTE_H
#define MI_VAULT_REMOTE_REMOTE_H

#include "base/buf.h"
#include "model/fields.h"

#include <sqlite3.h>

#define REMOTE_ROWS 2048
#define REMOTE_BYTES ((int64_t)1 << 20)
#define REMOTE_TEXTS ((int64_t)8 << 20)

#define REMOTE_SESSIONS_MORE 64

enum remote_table {
    REMOTE_SESSIONS,
    REMOTE_MESSAGES,
    REMOTE_EVENTS,
    REMOTE_LEAVES,
    REMOTE_CALLS,
    REMOTE_SUMMARIES,
    REMOTE_TABLES
};

/* The cells of a row, in the order in which the function `read` of a store returns them. In
 * `cells`, `i` stands for CELL_INT and `t` for CELL_TEXT. Each cell may also be CELL_NULL. */
struct remote_shape {
    const char *name;  /* name of the virtual table */
    const char *cells; /* types of the cells, one letter for each: "iitt" */
    /* SQL that selects the columns: an id that this module makes, the cells, and derived values */
    const char *sql;
};
extern const struct remote_shape remote_shape[REMOTE_TABLES];

/* Indexes of some cells in a row of sessions or of messages. */
enum { REMOTE_SESSION_VAULT = 0, REMOTE_SESSION_UID = 1 };
enum { REMOTE_MESSAGE_SEQ = 0, REMOTE_MESSAGE_BODY = 8 };
#define REMOTE_CELLS_MAX 32 /* maximum number of cells of a row */

struct remote_ask {
    enum remote_table table;
    bool backwards;
    int64_t rows;                /* maximum number of rows to read */
    struct slice vault, session; /* session whose messages, events, calls or summary are read */
    /* messages and calls: from <= seq <= to; events: from <= id <= to */
    int64_t from, to;
    /* calls and summaries: uids of further sessions, whose rows follow in the order of this
     * array */
    const struct slice *more;
    size_t more_n;
    bool bodies; /* true: read the bodies of messages, about REMOTE_BYTES of them at most */
    /* sessions: first <= uid < before; leaves: those that begin with `first`. {NULL, 0}: no
     * limit */
    struct slice first, before;
    struct slice name; /* name of the server whose sessions are read; {NULL, 0}: any server */
    /* id of the requested sessions in their own vaults; 0: sessions with any id */
    int64_t number;
};

/* Searches messages with words that match, in sessions with first <= uid <= last, newest first. In
 * session `last`, only messages with a seq below `before` are searched. */
struct remote_words {
    struct slice first, last;
    int64_t before;
    const char *match; /* search condition, as written by search_terms_write_tsquery() */
    int64_t rows;      /* maximum number of rows to read */
};

/* Called for each row. Returns 0 to continue, or an error. A row of calls or summaries begins with
 * an additional cell that tells to which session the row belongs: 0 stands for remote_ask.session,
 * N for remote_ask.more[N - 1]. */
typedef int (*remote_row_fn)(void *ctx, const struct cell *cell);

/* The functions of a store. Each returns 0 or an error: MI_ENOMEM, or MI_ESTORE with a sentence in
 * error(). */
struct remote_store {
    void *ctx;
    int (*read)(void *ctx, const struct remote_ask *ask, remote_row_fn fn, void *fn_ctx);
    /* Appends at most `max` bytes of the body of a message to `ret`. */
    int (*body)(void *ctx, struct slice vault, struct slice session, int64_t seq, size_t max,
                struct buf *ret);
    /* *ret: whether several vaults have sessions in the store. */
    int (*several)(void *ctx, bool *ret);
    /* Searches messages. Passes two cells for each message that is found: uid and seq. */
    int (*search)(void *ctx, const struct remote_words *ask, remote_row_fn fn, void *fn_ctx);
    const char *(*error)(void *ctx);
    void (*close)(void *ctx);
};

struct remote;

/* Makes the virtual tables of a store in `db`. Close `db` before remote_free(). After an error,
 * *ret is NULL and the store is closed. Returns SQLite's code. */
MI_MUST int remote_open(struct remote **ret, sqlite3 *db, const struct remote_store *store);
void remote_free(struct remote *r); /* closes the store; the argument may be NULL */
/* Forgets the rows that were read, so that they are read again. Ids of sessions stay valid. */
void remote_forget_pages(struct remote *r);

/* Finds the sessions that have this id in their own vaults. *ret_id: id of one of these sessions in
 * the store; *ret_n: number of these sessions, at most 2. */
MI_MUST int remote_find_session_by_number(struct remote *r, int64_t number, int64_t *ret_id,
                                          int *ret_n);
/* Whether session `a` is newer than session `b`, by their uids; false if one of them was not
 * read. */
bool remote_session_is_newer(const struct remote *r, int64_t a, int64_t b);
/* Finds out whether several vaults have sessions in the store. */
MI_MUST int remote_has_several_vaults(struct remote *r, bool *ret);
/* Reads the body of a message from the store. MI_ENOENT: the session was not read. */
MI_MUST int remote_read_body(struct remote *r, struct slice uid, int64_t seq, size_t max,
                             struct buf *ret);
/* Calls fn for every message with words that match, in sessions with first <= uid <= last, newest
 * first. The callback may read the store. It returns false to stop the search. */
typedef bool (*remote_found_fn)(void *ctx, struct slice uid, int64_t seq);
MI_MUST int remote_search_messages(struct remote *r, struct slice first, struct slice last,
                                   const char *match, remote_found_fn fn, void *ctx);
const char *remote_error(const struct remote *r); /* returns the store's sentence for MI_ESTORE */

#endif
