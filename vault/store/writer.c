#include "vault/store/writer_state.h"

#include "base/log.h"
#include "redact/sanitizer.h"
#include "vault/store/checkpoint.h"
#include "vault/store/schema.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

int writer_fail_sql(struct writer *s)
{
    s->rc = sqlite3_extended_errcode(s->db);
    snprintf(s->error, sizeof s->error, "%s", sqlite3_errmsg(s->db));
    return MI_ESTORE;
}

static int fail_body(struct writer *s)
{
    s->rc = SQLITE_FULL;
    snprintf(s->error, sizeof s->error, "cannot write a body: %s", strerror(errno));
    return MI_ESTORE;
}

static int fail_memory(struct writer *s)
{
    s->rc = SQLITE_NOMEM;
    snprintf(s->error, sizeof s->error, "out of memory");
    return MI_ESTORE;
}

/* Runs a statement without result rows. It is always reset, so that it does not hold a lock. */
static int step(struct writer *s, enum writer_query i)
{
    int rc = sqlite3_step(s->q[i]);
    int st = rc == SQLITE_DONE ? 0 : writer_fail_sql(s);
    sqlite3_reset(s->q[i]);
    return st;
}

/* Takes the lock, if writer_begin_later() left that to the first statement. */
static int begin(struct writer *s)
{
    bool begins = s->begins;
    s->begins = false;
    return begins ? step(s, Q_BEGIN) : 0;
}

static int run(struct writer *s, enum writer_query i)
{
    int st = begin(s);
    return st < 0 ? st : step(s, i);
}

static void bind_count(sqlite3_stmt *q, int i, uint64_t n)
{
    if (n != 0)
        sqlite3_bind_int64(q, i, (int64_t)n);
    else
        sqlite3_bind_null(q, i);
}

void writer_level(struct writer *s, enum record_level level)
{
    s->sanitizer.level = level;
}

void writer_want_bodies(struct writer *s)
{
    s->want_bodies = true;
}

void writer_wait(struct writer *s, int64_t wait_us)
{
    s->wait_us = wait_us;
    s->busy_until_us = 0;
}

void writer_begin_later(struct writer *s, int64_t wait_us)
{
    writer_wait(s, wait_us);
    s->begins = true;
}

int writer_begin(struct writer *s, int64_t wait_us)
{
    writer_begin_later(s, wait_us);
    return begin(s);
}

/* Inserts the rows that wait. They are forgotten even if it fails, because the transaction has failed then. */
static int insert_rows(struct writer *s)
{
    if (s->batch.n == 0)
        return 0;
    if (s->batch.usual)
        sqlite3_bind_int64(s->q[Q_ROWS_USUAL], 1, s->batch.row[0].session_id);
    int st = run(s, s->batch.usual ? Q_ROWS_USUAL : Q_ROWS);
    row_batch_clear(&s->batch);
    return st;
}

int writer_commit(struct writer *s)
{
    int st = insert_rows(s);
    return st < 0 ? st : run(s, Q_COMMIT);
}

void writer_rollback(struct writer *s)
{
    row_batch_clear(&s->batch);
    s->begins = false;
    /* On a full disk SQLite rolls back on its own; other errors leave the transaction open. */
    if (!sqlite3_get_autocommit(s->db))
        (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

int writer_session_add(struct writer *s, const struct writer_session *n, int64_t *ret_id)
{
    sqlite3_stmt *q = s->q[Q_SESSION];
    struct slice command;
    struct buf name = {0};
    if (begin(s) < 0)
        return MI_ESTORE;
    if (sanitize_json(&s->sanitizer, slice_of(n->command), &command) < 0 ||
        redact_append(slice_of(n->name), &name) < 0) {
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
    sqlite3_set_last_insert_rowid(s->db, 0);
    int rc = sqlite3_step(q);
    int64_t id = rc == SQLITE_ROW ? sqlite3_column_int64(q, 0) : 0;
    if (rc == SQLITE_ROW)
        rc = sqlite3_step(q);
    int st = rc == SQLITE_DONE ? 0 : writer_fail_sql(s);
    sqlite3_reset(q);
    sqlite3_clear_bindings(q);
    buf_close(&name);
    /* The id of a new session may have belonged to one that was removed: its position must not be taken over. */
    if (st == 0 && sqlite3_last_insert_rowid(s->db) == id)
        st = writer_position_remove(s, id);
    if (st == 0)
        *ret_id = id;
    return st;
}

int writer_session_update(struct writer *s, int64_t id, const struct session_update *u)
{
    const struct slice known[] = {u->client_name,    u->client_version,   u->server_name,
                                  u->server_version, u->protocol_version, u->end_reason};
    struct buf text[MI_COUNT(known)] = {0};
    sqlite3_stmt *q = s->q[Q_UPDATE];
    int st = 0;
    sqlite3_bind_int64(q, 1, id);
    for (size_t i = 0; i < MI_COUNT(known); i++) {
        if (known[i].p != NULL && st == 0)
            st = redact_append(known[i], &text[i]);
        connect_bind(q, 2 + (int)i, known[i].p != NULL ? buf_slice(&text[i]) : known[i]);
    }
    if (u->has_exit_status)
        sqlite3_bind_int64(q, 8, u->exit_status);
    else
        sqlite3_bind_null(q, 8);
    bind_count(q, 9, (uint64_t)u->ended_at_us);
    st = st < 0 ? fail_memory(s) : run(s, Q_UPDATE);
    sqlite3_clear_bindings(q);
    for (size_t i = 0; i < MI_COUNT(known); i++)
        buf_close(&text[i]);
    return st;
}

int writer_running(struct writer *s, int64_t session_id, const struct running *r)
{
    enum writer_query i = r != NULL ? Q_RUNNING : Q_ENDED;
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

int writer_position(struct writer *s, int64_t session_id, uint64_t position)
{
    sqlite3_bind_int64(s->q[Q_POSITION], 1, session_id);
    sqlite3_bind_int64(s->q[Q_POSITION], 2, (int64_t)position);
    return run(s, Q_POSITION);
}

int writer_position_read(struct writer *s, int64_t session_id, uint64_t *ret)
{
    sqlite3_stmt *q = s->q[Q_POSITION_READ];
    if (begin(s) < 0)
        return MI_ESTORE;
    sqlite3_bind_int64(q, 1, session_id);
    int rc = sqlite3_step(q);
    int st = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : writer_fail_sql(s);
    if (st == 0)
        *ret = rc == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(q, 0) : 0;
    sqlite3_reset(q);
    return st;
}

int writer_position_remove(struct writer *s, int64_t session_id)
{
    sqlite3_bind_int64(s->q[Q_POSITION_REMOVE], 1, session_id);
    return run(s, Q_POSITION_REMOVE);
}

int writer_event_session(struct writer *s, const char *kind, struct slice detail, int64_t *ret_id,
                         char ret_uid[UID_LEN + 1])
{
    sqlite3_stmt *q = s->q[Q_EVENT_SESSION];
    connect_bind(q, 1, slice_of(kind));
    connect_bind(q, 2, detail);
    int rc = sqlite3_step(q);
    int st = rc == SQLITE_ROW ? 0 : rc == SQLITE_DONE ? MI_ENOENT : writer_fail_sql(s);
    if (rc == SQLITE_ROW) {
        const char *uid = (const char *)sqlite3_column_text(q, 1);
        *ret_id = sqlite3_column_int64(q, 0);
        snprintf(ret_uid, UID_LEN + 1, "%s", uid != NULL ? uid : "");
    }
    sqlite3_reset(q);
    sqlite3_clear_bindings(q);
    return st;
}

static int add_event(struct writer *s, int64_t session_id, const struct row *r)
{
    sqlite3_stmt *q = s->q[Q_EVENT];
    struct slice detail;
    if (sanitize_json(&s->sanitizer, r->body, &detail) < 0)
        return fail_memory(s);
    sqlite3_bind_int64(q, 1, session_id);
    sqlite3_bind_int64(q, 2, r->t_us);
    connect_bind(q, 3, slice_of(r->event));
    connect_bind(q, 4, detail);
    int st = run(s, Q_EVENT);
    sqlite3_clear_bindings(q);
    return st;
}

/* Writes a long body to the file of bodies. If the file cannot be written for a reason other than a full disk, the row
 * is stored without its body unless bodies are wanted: it must not block all other rows. */
static int place_body(struct writer *s, const char *uid, struct batch_row *b, findings *found)
{
    struct slice body = b->text[BATCH_BODY];
    if (body.n <= WRITER_BODY_MAX)
        return 0;
    int st = begin(s); /* not written again and again while another process holds the lock */
    if (st < 0)
        return st;
    b->text[BATCH_BODY] = (struct slice){0};
    if (bodies_add(&s->bodies, uid, body, &b->body_offset) < 0) {
        if (s->want_bodies || errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
            return fail_body(s);
        if (!s->body_lost)
            log_warn("cannot write to " VAULT_BODIES
                     ", long messages are recorded without their bodies: %s",
                     strerror(errno));
        s->body_lost = true;
        *found |= FINDING(FIND_BODY_LOST);
        return 0;
    }
    s->body_lost = false;
    b->body_length = (int64_t)body.n;
    return 0;
}

/* A row outside a transaction is one of its own. */
static int add_to_batch(struct writer *s, const struct batch_row *b)
{
    if (row_batch_add(&s->batch, b) < 0)
        return fail_memory(s);
    bool in_transaction = s->begins || !sqlite3_get_autocommit(s->db);
    return row_batch_is_full(&s->batch) || !in_transaction ? insert_rows(s) : 0;
}

int writer_add(struct writer *s, int64_t session_id, const char *uid, const struct row *r)
{
    if (r->event != NULL)
        return add_event(s, session_id, r);
    struct sanitized_row k;
    if (sanitize_row(&s->sanitizer, r, &k) < 0)
        return fail_memory(s);
    s->left_body = k.body.p != NULL && k.body.p == r->body.p && k.body.n == r->body.n;
    char names[2048];
    struct buf found = {.p = names, .cap = sizeof names, .max = sizeof names};
    findings set = r->findings;
    struct batch_row b = {
        .id = schema_message_id(session_id, r->seq),
        .session_id = session_id,
        .seq = (int64_t)r->seq,
        .t_us = r->t_us,
        .size = (int64_t)r->size,
        .redactions = (int64_t)k.redactions,
        .request_seq = (int64_t)r->request_seq,
        .batch_seq = (int64_t)r->batch_seq,
        .has_error_code = r->has_error_code,
        .error_code = r->error_code,
        .word = {[BATCH_DIRECTION] = row_direction_name(r->direction),
                 [BATCH_ORIGIN] = row_origin_name(r->origin),
                 [BATCH_KIND] = row_kind_name(r->kind),
                 [BATCH_ACTION] = row_action_name(r->action)},
        .text = {[BATCH_RPC_ID] = k.rpc_id,
                 [BATCH_METHOD] = k.method,
                 [BATCH_TARGET] = k.target,
                 [BATCH_BODY] = k.body},
    };
    int st = place_body(s, uid, &b, &set);
    if (set != 0 || r->rules != 0)
        finding_list(&found, set, r->rules);
    if (found.n > 0)
        b.text[BATCH_FINDING] = buf_slice(&found);
    return st < 0 ? st : add_to_batch(s, &b);
}

bool writer_left_body(const struct writer *s)
{
    return s->left_body;
}

int writer_add_rules(struct writer *s, int64_t session_id, uint64_t seq, breaches rules)
{
    char names[2048];
    struct buf found = {.p = names, .cap = sizeof names, .max = sizeof names};
    sqlite3_stmt *q = s->q[Q_RULES];
    finding_list(&found, 0, rules);
    if (found.n == 0)
        return 0;
    int st = insert_rows(s); /* the message may be one of those that wait */
    if (st < 0)
        return st;
    sqlite3_bind_int64(q, 1, schema_message_id(session_id, seq));
    connect_bind(q, 2, buf_slice(&found));
    st = run(s, Q_RULES);
    sqlite3_clear_bindings(q);
    return st;
}

bool writer_new_bodies(struct writer *s, int64_t *ret_from, int64_t *ret_to)
{
    return bodies_new(&s->bodies, ret_from, ret_to);
}

const char *writer_error(const struct writer *s)
{
    return s->error;
}

bool writer_busy(const struct writer *s)
{
    return (s->rc & 0xFF) == SQLITE_BUSY || (s->rc & 0xFF) == SQLITE_LOCKED;
}

bool writer_full(const struct writer *s)
{
    return (s->rc & 0xFF) == SQLITE_FULL || (s->rc & 0xFF) == SQLITE_NOMEM;
}

bool writer_vanished(const struct writer *s, const char *vault)
{
    struct stat st;
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", vault, VAULT_DB);
    return n < 0 || (size_t)n >= sizeof path || lstat(path, &st) != 0 || st.st_ino != s->ino ||
           st.st_dev != s->dev;
}

int64_t writer_wal_pages(const struct writer *s)
{
    return s->wal_pages;
}

int writer_checkpoint(struct writer *s)
{
    writer_wait(s, CHECKPOINT_WAIT_US);
    if (checkpoint_run(s->db) != SQLITE_OK)
        return writer_fail_sql(s);
    s->wal_pages = 0; /* the next commit restarts the log and reports its size */
    return 0;
}
