#include "vault/search/kind.h"

#include "base/os/file.h"
#include "vault/store/dir.h"
#include "vault/store/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT 1    /* value of PRAGMA user_version; a file with another value is created again */
#define BATCH 20000 /* maximum number of messages that one transaction adds */
#define NAME_MAX_LEN 32

/* ---- a file ---- */

static int64_t search_compute_file_number(int64_t session_id)
{
    return session_id / SEARCH_SESSIONS;
}

static void search_index_close_file(struct search *s)
{
    if (s->d.kind != NULL)
        db_close(&s->d);
    s->d = (struct db){.kind = NULL};
}

static void search_index_format_file_name(int64_t number, char ret[NAME_MAX_LEN])
{
    snprintf(ret, NAME_MAX_LEN, "%04lld.db", (long long)number);
}

static void search_index_remove_file(int dir_fd, int64_t number)
{
    char name[NAME_MAX_LEN], journal[NAME_MAX_LEN + 8];
    search_index_format_file_name(number, name);
    snprintf(journal, sizeof journal, "%s-journal", name);
    (void)unlinkat(dir_fd, name, 0);
    (void)unlinkat(dir_fd, journal, 0);
}

/* Deletes the file and overwrites its bytes, because it may contain words that newer rules treat as
 * secrets. The name is removed first, because closing the descriptor releases SQLite's lock on the
 * file (POSIX). */
static void search_index_overwrite_file(int dir_fd, int64_t number)
{
    static const char zeros[1 << 16];
    char name[NAME_MAX_LEN];
    struct stat st;
    search_index_format_file_name(number, name);
    int fd = vault_dir_open_file(dir_fd, name, O_WRONLY);
    search_index_remove_file(dir_fd, number);
    if (fd < 0)
        return;
    bool plain = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 0;
    /* skip the holes of the file, which use no disk space */
    for (int64_t at = 0; plain && (at = file_find_next_data(fd, at)) < st.st_size;
         at += (int64_t)sizeof zeros)
        plain = pwrite(fd, zeros, size_min(sizeof zeros, (size_t)(st.st_size - at)), at) > 0;
    /* an error of this call is ignored, because the file is deleted anyway */
    (void)!file_sync_data(fd);
    close(fd);
}

enum { ADD, READ_DONE, WRITE_DONE, SESSIONS, MATCH, STATEMENTS };
static const char *const sql[STATEMENTS] = {
    [ADD] = "INSERT INTO words (rowid, text) VALUES (?1, ?2)",
    [READ_DONE] = "SELECT seq, uid FROM done WHERE session_id = ?1",
    [WRITE_DONE] = "INSERT OR REPLACE INTO done VALUES (?1, ?2, ?3)",
    [SESSIONS] = "SELECT session_id FROM done",
    [MATCH] = "SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY rowid DESC",
};

/* synchronous = OFF: the index need not survive a power failure, because it can be created
 * again. */
static const struct db_kind index_file = {
    .writes = true,
    .wait_ms = SEARCH_WAIT_MS,
    .settings = "PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY",
    .sql = sql,
    .n = STATEMENTS,
    .can_not = "use",
};

/* Converts an error of the index file to MI_EIO, because MI_ESTORE means an error of the vault. */
static int convert_index_error(int st)
{
    return st == MI_ESTORE ? MI_EIO : st;
}

static const char tables[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS done (session_id INTEGER PRIMARY KEY, uid TEXT NOT NULL,"
    " seq INTEGER NOT NULL) STRICT;"
    "CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (text, content = '', columnsize = 0,"
    " detail = none, tokenize = 'unicode61');"
    "PRAGMA user_version = 1;"
    "COMMIT";

static int search_index_connect_to_file(struct search *s, int64_t number)
{
    char name[NAME_MAX_LEN], path[PATH_MAX];
    search_index_format_file_name(number, name);
    /* The file is created here, because SQLite would not create it with mode 0600. */
    int fd = vault_dir_open_file(s->dir_fd, name, O_RDWR | O_CREAT);
    if (fd < 0)
        return MI_EIO;
    close(fd);
    int n = snprintf(path, sizeof path, "%s/%s", s->path, name);
    if (n < 0 || (size_t)n >= sizeof path)
        return MI_EIO;
    int64_t version = 0;
    int st = db_open(&s->d, &index_file, path, &s->why);
    if (st == 0 && connect_read_number(s->d.db, "PRAGMA user_version", 0, &version) != SQLITE_OK)
        st = MI_EIO;
    if (st == 0 && version == 0)
        st = db_exec(&s->d, tables);
    return st == 0 && version != 0 && version != FORMAT ? MI_EIO : convert_index_error(st);
}

/* Opens an index file. If the file cannot be opened, deletes it and tries once more. */
static int search_index_open_file(struct search *s, int64_t number)
{
    if (s->d.db != NULL && s->number == number)
        return 0;
    search_index_close_file(s);
    s->number = number;
    int st = search_index_connect_to_file(s, number);
    if (st < 0) {
        search_index_close_file(s);
        search_index_remove_file(s->dir_fd, number);
        st = search_index_connect_to_file(s, number);
    }
    if (st < 0)
        search_index_close_file(s);
    return st;
}

/* ---- indexing ---- */

struct adding {
    struct search *s;
    const struct search_session *session;
    void (*on_read)(void *ctx);
    void *ctx;
    /* `last`: seq of the last message added in this transaction; `n`: number of messages added in
     * it */
    int64_t last, n;
    int status;
};

static bool search_index_add_body(void *ctx, const struct query_message *m)
{
    struct adding *a = ctx;
    struct search *s = a->s;
    struct slice body = m->body;
    if (m->is_large) {
        buf_clear(&s->large);
        /* if the file of the body is missing, the body stays empty and no words are indexed */
        if (query_body(s->q, slice_of(a->session->uid), m, SEARCH_BODY_MAX, &s->large) == 0)
            body = buf_slice(&s->large);
    }
    struct slice text = search_get_text_of_body(m->kind, body, &s->text);
    int64_t id = schema_message_id(a->session->id, (uint64_t)m->seq);
    a->status =
        text.n > 0
            ? convert_index_error(db_run_statement(&s->d, ADD, DB_WITH(db_int(id), db_text(text))))
            : 0;
    a->last = m->seq;
    a->n++;
    if (a->on_read != NULL)
        a->on_read(a->ctx);
    return a->status == 0;
}

/* Reads the seq of the last indexed message of a session; 0 if there is none. Returns MI_EIO if the
 * file has another session with this id. */
static int read_last_indexed_seq(struct search *s, const struct search_session *x, int64_t *ret)
{
    sqlite3_stmt *q;
    *ret = 0;
    int st = db_begin_query(&s->d, READ_DONE, &q, DB_WITH(db_int(x->id)));
    if (st < 0)
        return convert_index_error(st);
    int rc = sqlite3_step(q);
    bool other = rc == SQLITE_ROW && !slice_is(connect_column(q, 1), x->uid);
    *ret = rc == SQLITE_ROW ? sqlite3_column_int64(q, 0) : 0;
    st = convert_index_error(db_finish_statement(&s->d, q, rc));
    return st == 0 && other ? MI_EIO : st;
}

/* Indexes up to BATCH messages of a session in one transaction. *ret_more: whether the session may
 * have more messages to index. */
static int search_index_add_batch(struct search *s, const struct search_session *x,
                                  struct adding *a, bool *ret_more)
{
    int64_t done = 0;
    int st = convert_index_error(db_begin(&s->d));
    if (st < 0)
        return st;
    /* Read the seq of the last indexed message within the transaction, because another process may
     * have added messages before it began. */
    st = read_last_indexed_seq(s, x, &done);
    a->n = a->status = 0;
    a->last = done;
    if (st == 0)
        st = query_read_message_bodies(s->q, x->id, done, BATCH, search_index_add_body, a);
    if (st == 0)
        st = a->status;
    if (st == 0 && a->n > 0)
        st = convert_index_error(db_run_statement(
            &s->d, WRITE_DONE, DB_WITH(db_int(x->id), db_text(slice_of(x->uid)), db_int(a->last))));
    int ended = db_end(&s->d, st);
    st = st < 0 ? st : convert_index_error(ended);
    *ret_more = a->n == BATCH;
    return st;
}

/* Returns MI_EIO if the file has a session that no longer exists. */
static int search_index_check_sessions(struct search *s, const struct search_session *session,
                                       size_t n)
{
    sqlite3_stmt *q;
    int rc = SQLITE_DONE, st = convert_index_error(db_begin_query(&s->d, SESSIONS, &q, NULL, 0));
    if (st < 0)
        return st;
    while (st == 0 && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        size_t i = 0;
        while (i < n && session[i].id != sqlite3_column_int64(q, 0))
            i++;
        st = i < n ? 0 : MI_EIO;
    }
    int ended = convert_index_error(db_finish_statement(&s->d, q, rc));
    return st < 0 ? st : ended;
}

/* Indexes all messages of these sessions that are not indexed yet. Returns MI_EIO if the index file
 * is invalid. */
static int search_index_fill_file(struct search *s, const struct search_session *session, size_t n,
                                  struct adding *a)
{
    int st = search_index_open_file(s, search_compute_file_number(session[0].id));
    if (st == 0)
        st = search_index_check_sessions(s, session, n);
    for (size_t i = 0; st == 0 && i < n; i++) {
        int64_t last, event, done;
        st = query_read_last_seq_and_event(s->q, session[i].id, &last, &event);
        if (st == 0)
            st = read_last_indexed_seq(s, &session[i], &done);
        a->session = &session[i];
        for (bool more = st == 0 && done < last; more && st == 0;)
            st = search_index_add_batch(s, &session[i], a, &more);
    }
    return st;
}

static int search_index_update(struct search *s, const struct search_session *session, size_t n,
                               void (*on_read)(void *ctx), void *ctx)
{
    struct adding a = {.s = s, .on_read = on_read, .ctx = ctx};
    if (s->path == NULL)
        return MI_EIO;
    int st = search_index_fill_file(s, session, n, &a);
    if (st == MI_EIO) {
        search_index_close_file(s);
        search_index_remove_file(s->dir_fd, search_compute_file_number(session[0].id));
        st = search_index_fill_file(s, session, n, &a);
    }
    return st;
}

/* ---- searching ---- */

static int search_index_find_words(struct search *s, const struct search_session *session, size_t n,
                                   const char *query, search_fn fn, void *ctx)
{
    /* `session` and `n` are not used: the open index file has no other sessions than these */
    (void)session, (void)n;
    sqlite3_stmt *q;
    bool more = true, damaged = false;
    int64_t last = INT64_MAX;
    int rc = SQLITE_DONE, st = db_begin_query(&s->d, MATCH, &q, DB_WITH(db_text(slice_of(query))));
    while (st == 0 && more && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        int64_t id = sqlite3_column_int64(q, 0);
        /* in a damaged file, the ids may not decrease from row to row, and rows may repeat for
         * ever */
        damaged = id >= last;
        more = !damaged && fn(ctx, id >> SCHEMA_SEQ_BITS, id & SCHEMA_SEQ_MAX);
        last = id;
    }
    st = st == 0 ? db_finish_statement(&s->d, q, rc) : st;
    if (st == 0 && damaged)
        st = db_fail_damaged(&s->d);
    if (st == MI_ESTORE) {
        search_index_close_file(s);
        search_index_remove_file(s->dir_fd, s->number);
    }
    return convert_index_error(st);
}

static const struct search_kind files = {search_compute_file_number, search_terms_write_fts_query,
                                         search_index_update, search_index_find_words};

/* ---- the folder ---- */

/* Opens VAULT/Search. Returns 0 or MI_ENOMEM. Returns 0 also if the folder cannot be opened: then
 * search_index_update_file() fails later. */
static int search_index_open_folder(struct search *s)
{
    struct buf path = {0};
    s->dir_fd = vault_dir_open_sub(query_dir_fd(s->q), VAULT_SEARCH, true);
    if (s->dir_fd < 0)
        return 0;
    buf_printf(&path, "%s/" VAULT_SEARCH, query_vault(s->q));
    s->path = path.failed ? NULL : strdup(buf_str(&path));
    buf_close(&path);
    return s->path != NULL ? 0 : MI_ENOMEM;
}

int search_open(struct search **ret, struct query *q)
{
    bool store = query_is_store(q);
    struct search *s = calloc(1, sizeof *s);
    if (s == NULL)
        return MI_ENOMEM;
    *s = (struct search){.kind = store ? &search_store : &files, .q = q, .dir_fd = -1};
    int st = store ? 0 : search_index_open_folder(s);
    if (st == 0)
        *ret = s;
    else
        search_close(s);
    return st;
}

void search_close(struct search *s)
{
    if (s == NULL)
        return;
    search_index_close_file(s);
    if (s->dir_fd >= 0)
        close(s->dir_fd);
    free(s->path);
    buf_close(&s->why);
    buf_close(&s->text);
    buf_close(&s->large);
    free(s);
}

int64_t search_get_file_size_of_session(int vault, int64_t session_id)
{
    char name[NAME_MAX_LEN];
    struct stat st;
    int dir = vault_dir_open_sub(vault, VAULT_SEARCH, false);
    search_index_format_file_name(search_compute_file_number(session_id), name);
    int64_t bytes = dir >= 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_size : 0;
    if (dir >= 0)
        close(dir);
    return bytes;
}

/* Before it deletes the file, waits up to SEARCH_WAIT_MS for a process that adds to the file.
 * Otherwise that process could leave a journal, which SQLite would apply to the next file with this
 * name. */
int search_delete_index(const char *vault, int64_t session_id)
{
    struct search s = {.dir_fd = -1};
    char path[PATH_MAX];
    char *real = realpath(vault, NULL);
    int n = real != NULL ? snprintf(path, sizeof path, "%s/" VAULT_SEARCH, real) : -1;
    free(real);
    if (n < 0 || (size_t)n >= sizeof path)
        return MI_EIO;
    s.dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (s.dir_fd < 0)
        return errno == ENOENT ? 0 : MI_EIO;
    char name[NAME_MAX_LEN];
    int64_t number = search_compute_file_number(session_id);
    search_index_format_file_name(number, name);
    s.path = path;
    if (file_exists(s.dir_fd, name)) {
        if (search_index_connect_to_file(&s, number) == 0)
            /* ignore an error: the file is removed in any case */
            (void)!db_exec(&s.d, "BEGIN EXCLUSIVE");
        search_index_overwrite_file(s.dir_fd, number);
        search_index_close_file(&s);
    }
    buf_close(&s.why);
    bool deleted = !file_exists(s.dir_fd, name);
    close(s.dir_fd);
    return deleted ? 0 : MI_EIO;
}

/* ---- files and store ---- */

int64_t search_get_file_of_session(const struct search *s, int64_t session_id)
{
    return s != NULL ? s->kind->file_of(session_id) : search_compute_file_number(session_id);
}

bool search_index_make_query(const struct search *s, const struct search_terms *t, struct buf *b)
{
    return s->kind->query(t, b);
}

int search_index_update_file(struct search *s, const struct search_session *session, size_t n,
                             void (*on_read)(void *ctx), void *ctx)
{
    return s->kind->update(s, session, n, on_read, ctx);
}

int search_find_messages(struct search *s, const struct search_session *session, size_t n,
                         const char *query, search_fn fn, void *ctx)
{
    return s->kind->ask(s, session, n, query, fn, ctx);
}
