#include "vault/store_inner.h"

#include "base/log.h"
#include "vault/schema.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

int store_fail_sql(struct store *s)
{
    s->rc = sqlite3_extended_errcode(s->db);
    snprintf(s->error, sizeof s->error, "%s", sqlite3_errmsg(s->db));
    return MI_ESTORE;
}

static int fail_body(struct store *s)
{
    s->rc = SQLITE_FULL;
    snprintf(s->error, sizeof s->error, "cannot write a body: %s", strerror(errno));
    return MI_ESTORE;
}

static int fail_memory(struct store *s)
{
    s->rc = SQLITE_NOMEM;
    snprintf(s->error, sizeof s->error, "out of memory");
    return MI_ESTORE;
}

/* For a statement without rows. Reset on every path: it keeps no lock. */
static int run(struct store *s, enum store_query i)
{
    int rc = sqlite3_step(s->q[i]);
    int st = rc == SQLITE_DONE ? 0 : store_fail_sql(s);
    sqlite3_reset(s->q[i]);
    return st;
}

static void bind_count(sqlite3_stmt *q, int i, uint64_t n)
{
    if (n != 0)
        sqlite3_bind_int64(q, i, (int64_t)n);
    else
        sqlite3_bind_null(q, i);
}

void store_level(struct store *s, enum keep_level level)
{
    s->keep.level = level;
}

void store_want_bodies(struct store *s)
{
    s->want_bodies = true;
}

void store_wait(struct store *s, int64_t wait_us)
{
    s->wait_us = wait_us;
    s->busy_until_us = 0;
}

int store_begin(struct store *s, int64_t wait_us)
{
    store_wait(s, wait_us);
    return run(s, Q_BEGIN);
}

int store_commit(struct store *s)
{
    return run(s, Q_COMMIT);
}

void store_rollback(struct store *s)
{
    /* A full disk makes SQLite roll back by itself; other errors leave the transaction open. */
    if (!sqlite3_get_autocommit(s->db))
        (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

int store_session_add(struct store *s, const struct store_session *n, int64_t *ret_id)
{
    sqlite3_stmt *q = s->q[Q_SESSION];
    struct slice command;
    struct buf name = {0};
    if (keep_json(&s->keep, slice_of(n->command), &command) < 0 ||
        keep_text(slice_of(n->name), &name) < 0) {
        buf_close(&name);
        return fail_memory(s);
    }
    connect_bind(q, 1, slice_of(n->uid));
    connect_bind(q, 2, buf_slice(&name));
    connect_bind(q, 3, command);
    sqlite3_bind_int64(q, 4, n->started_at_us);
    sqlite3_bind_int64(q, 5, n->pid);
    connect_bind(q, 6, slice_of(n->host));
    connect_bind(q, 7, slice_of(n->record_level));
    connect_bind(q, 8, slice_of(MI_VERSION));
    connect_bind(q, 9, n->redact_rules != NULL ? slice_of(n->redact_rules) : (struct slice){0});
    int rc = sqlite3_step(q);
    int64_t id = rc == SQLITE_ROW ? sqlite3_column_int64(q, 0) : 0;
    if (rc == SQLITE_ROW)
        rc = sqlite3_step(q);
    int st = rc == SQLITE_DONE ? 0 : store_fail_sql(s);
    sqlite3_reset(q);
    sqlite3_clear_bindings(q);
    buf_close(&name);
    if (st == 0)
        *ret_id = id;
    return st;
}

int store_session_update(struct store *s, int64_t id, const struct store_update *u)
{
    const struct slice told[] = {u->client_name,    u->client_version,   u->server_name,
                                 u->server_version, u->protocol_version, u->end_reason};
    struct buf text[MI_COUNT(told)] = {0};
    sqlite3_stmt *q = s->q[Q_UPDATE];
    int st = 0;
    sqlite3_bind_int64(q, 1, id);
    for (size_t i = 0; i < MI_COUNT(told); i++) {
        if (told[i].p != NULL && st == 0)
            st = keep_text(told[i], &text[i]);
        connect_bind(q, 2 + (int)i, told[i].p != NULL ? buf_slice(&text[i]) : told[i]);
    }
    if (u->has_exit_status)
        sqlite3_bind_int64(q, 8, u->exit_status);
    else
        sqlite3_bind_null(q, 8);
    bind_count(q, 9, (uint64_t)u->ended_at_us);
    st = st < 0 ? fail_memory(s) : run(s, Q_UPDATE);
    sqlite3_clear_bindings(q);
    for (size_t i = 0; i < MI_COUNT(told); i++)
        buf_close(&text[i]);
    return st;
}

int store_running(struct store *s, int64_t session_id, const struct running *r)
{
    enum store_query i = r != NULL ? Q_RUNNING : Q_ENDED;
    sqlite3_stmt *q = s->q[i];
    sqlite3_bind_int64(q, 1, session_id);
    if (r != NULL) {
        const uint64_t number[] = {(uint64_t)r->pid_namespace,
                                   (uint64_t)r->pid,
                                   r->pid_start,
                                   (uint64_t)r->client_pid,
                                   r->client_start,
                                   (uint64_t)r->server_pid,
                                   r->server_start,
                                   (uint64_t)r->server_group,
                                   (uint64_t)r->server_session};
        connect_bind(q, 2, slice_of(r->boot));
        for (size_t k = 0; k < MI_COUNT(number); k++)
            bind_count(q, 3 + (int)k, number[k]);
    }
    int st = run(s, i);
    sqlite3_clear_bindings(q);
    return st;
}

static int add_event(struct store *s, int64_t session_id, const struct row *r)
{
    sqlite3_stmt *q = s->q[Q_EVENT];
    struct slice detail;
    if (keep_json(&s->keep, r->body, &detail) < 0)
        return fail_memory(s);
    sqlite3_bind_int64(q, 1, session_id);
    sqlite3_bind_int64(q, 2, r->t_us);
    connect_bind(q, 3, slice_of(r->kind));
    connect_bind(q, 4, detail);
    int st = run(s, Q_EVENT);
    sqlite3_clear_bindings(q);
    return st;
}

/* The body goes into the row, or, when it is long, to the file of bodies. Where that cannot be written at
 * all, the row is kept without it, unless it is wanted whole: it must not hold up all others. */
static int bind_body(struct store *s, sqlite3_stmt *q, const char *uid, struct slice body,
                     findings *found)
{
    if (body.n <= STORE_BODY_MAX) {
        connect_bind(q, 11, body);
        sqlite3_bind_null(q, 12);
        sqlite3_bind_null(q, 13);
        return 0;
    }
    int64_t offset;
    sqlite3_bind_null(q, 11);
    if (bodies_add(&s->bodies, uid, body, &offset) < 0) {
        if (s->want_bodies || errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
            return fail_body(s);
        if (!s->body_lost)
            log_warn("cannot write to " VAULT_BODIES
                     ", long messages are recorded without their text: %s",
                     strerror(errno));
        s->body_lost = true;
        *found |= FINDING(FIND_BODY_LOST);
        sqlite3_bind_null(q, 12);
        sqlite3_bind_null(q, 13);
        return 0;
    }
    s->body_lost = false;
    sqlite3_bind_int64(q, 12, offset);
    sqlite3_bind_int64(q, 13, (int64_t)body.n);
    return 0;
}

int store_add(struct store *s, int64_t session_id, const char *uid, const struct row *r)
{
    static const struct slice directions[] = {{"c2s", 3}, {"s2c", 3}};
    static const struct slice origins[] = {{"peer", 4}, {"interposer", 10}};
    static const struct slice actions[] = {{"forwarded", 9}, {"refused", 7}, {"swallowed", 9}};
    if (r->is_event)
        return add_event(s, session_id, r);
    struct kept k;
    if (keep_row(&s->keep, r, &k) < 0)
        return fail_memory(s);
    char names[2048];
    struct buf found = {.p = names, .cap = sizeof names, .max = sizeof names};
    findings set = r->findings;
    sqlite3_stmt *q = s->q[Q_MESSAGE];
    sqlite3_bind_int64(q, 1, schema_message_id(session_id, r->seq));
    sqlite3_bind_int64(q, 2, session_id);
    sqlite3_bind_int64(q, 3, (int64_t)r->seq);
    sqlite3_bind_int64(q, 4, r->t_us);
    connect_bind(q, 5, directions[r->direction]);
    connect_bind(q, 6, origins[r->origin]);
    connect_bind(q, 7, slice_of(r->kind));
    connect_bind(q, 8, k.rpc_id);
    connect_bind(q, 9, k.method);
    connect_bind(q, 10, k.target);
    int st = bind_body(s, q, uid, k.body, &set);
    if (set != 0 || r->rules != 0)
        finding_list(&found, set, r->rules);
    sqlite3_bind_int64(q, 14, (int64_t)r->size);
    sqlite3_bind_int64(q, 20, (int64_t)k.redactions);
    connect_bind(q, 15, actions[r->action]);
    bind_count(q, 16, r->request_seq);
    if (r->has_error_code)
        sqlite3_bind_int64(q, 17, r->error_code);
    else
        sqlite3_bind_null(q, 17);
    bind_count(q, 18, r->batch_seq);
    connect_bind(q, 19, found.n > 0 ? buf_slice(&found) : (struct slice){0});
    /* bindings are not cleared here: each is bound anew for the next row, before it is looked at */
    return st < 0 ? st : run(s, Q_MESSAGE);
}

void store_keep_lock(struct store *s, bool keep)
{
    if (s->locks != NULL)
        s->locks->keep = keep;
    if (!keep)
        store_rest(s);
}

bool store_keeps_lock(const struct store *s)
{
    return s->locks != NULL && wal_locks_kept(s->locks);
}

void store_rest(struct store *s)
{
    if (s->locks != NULL)
        wal_locks_rest(s->locks);
}

bool store_new_bodies(struct store *s, int64_t *ret_from, int64_t *ret_to)
{
    return bodies_new(&s->bodies, ret_from, ret_to);
}

const char *store_error(const struct store *s)
{
    return s->error;
}

bool store_busy(const struct store *s)
{
    return (s->rc & 0xFF) == SQLITE_BUSY || (s->rc & 0xFF) == SQLITE_LOCKED;
}

bool store_full(const struct store *s)
{
    return (s->rc & 0xFF) == SQLITE_FULL || (s->rc & 0xFF) == SQLITE_NOMEM;
}

bool store_vanished(const struct store *s, const char *vault)
{
    struct stat st;
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", vault, VAULT_DB);
    return n < 0 || (size_t)n >= sizeof path || lstat(path, &st) != 0 || st.st_ino != s->ino ||
           st.st_dev != s->dev;
}

int64_t store_wal_pages(const struct store *s)
{
    return s->wal_pages;
}

int store_checkpoint(struct store *s)
{
    int left = 0, moved = 0;
    store_wait(s, 0);
    if (sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &left, &moved) !=
        SQLITE_OK)
        return store_fail_sql(s);
    if (left == moved)
        s->wal_pages = 0; /* the next commit starts the log anew and tells its length */
    return 0;
}
