#include "vault/store/writer_state.h"

#include "base/log.h"
#include "redact/sanitizer.h"
#include "vault/store/checkpoint.h"
#include "vault/store/commitment.h"
#include "vault/store/damaged_db.h"
#include "vault/store/failure.h"
#include "vault/store/schema.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

int writer_fail_sql(struct writer *s)
{
    s->rc = failure_get_sqlite_code(s->db);
    snprintf(s->error, sizeof s->error, "%s", failure_text(s->db));
    return MI_ESTORE;
}

int writer_fail_no_memory(struct writer *s)
{
    s->rc = SQLITE_NOMEM;
    snprintf(s->error, sizeof s->error, "out of memory");
    return MI_ESTORE;
}

/* Runs a statement without result rows. The statement is always reset, so that it holds no lock. */
static int writer_run_rowless_query(struct writer *s, enum writer_query i)
{
    int rc = sqlite3_step(s->q[i]);
    int st = rc == SQLITE_DONE ? 0 : writer_fail_sql(s);
    sqlite3_reset(s->q[i]);
    return st;
}

int writer_take_lock(struct writer *s)
{
    bool begins = s->begins;
    s->begins = false;
    return begins ? writer_run_rowless_query(s, Q_BEGIN) : 0;
}

int writer_run_query(struct writer *s, enum writer_query i)
{
    int st = writer_take_lock(s);
    return st < 0 ? st : writer_run_rowless_query(s, i);
}

void writer_set_record_level(struct writer *s, enum record_level level)
{
    s->sanitizer.level = level;
}

void writer_make_lost_bodies_fatal(struct writer *s)
{
    s->want_bodies = true;
}

void writer_set_lock_timeout(struct writer *s, int64_t wait_us)
{
    s->wait_us = wait_us;
    s->busy_until_us = 0;
}

void writer_defer_transaction(struct writer *s, int64_t wait_us)
{
    writer_set_lock_timeout(s, wait_us);
    s->begins = true;
}

int writer_begin(struct writer *s, int64_t wait_us)
{
    writer_defer_transaction(s, wait_us);
    return writer_take_lock(s);
}

/* Inserts the waiting rows. After an error they are dropped too, because the transaction has
 * failed. */
static int writer_insert_rows(struct writer *s)
{
    if (s->batch.n == 0)
        return 0;
    if (s->batch.usual)
        sqlite3_bind_int64(s->q[Q_ROWS_USUAL], 1, s->batch.row[0].session_id);
    int st = writer_run_query(s, s->batch.usual ? Q_ROWS_USUAL : Q_ROWS);
    if (st == 0 && (st = call_batch_flush(&s->calls, s->db)) < 0)
        st = writer_mark_coverage_failed(s, st);
    row_batch_clear(&s->batch);
    return st;
}

int writer_mark_coverage_failed(struct writer *s, int st)
{
    if (st == MI_ESTORE)
        return writer_fail_sql(s);
    if (st == MI_ENOMEM)
        return writer_fail_no_memory(s);
    s->rc = SQLITE_IOERR;
    snprintf(s->error, sizeof s->error, "cannot get random bytes");
    return MI_ESTORE;
}

int writer_commit(struct writer *s)
{
    int st = writer_insert_rows(s);
    if (st == 0 && (st = coverage_save(&s->coverage, s->db)) < 0)
        st = writer_mark_coverage_failed(s, st);
    return st < 0 ? st : writer_run_query(s, Q_COMMIT);
}

int writer_begin_unlocked_transaction(struct writer *s, bool *ret_own)
{
    *ret_own = !s->begins && sqlite3_get_autocommit(s->db) != 0;
    return *ret_own ? writer_run_rowless_query(s, Q_BEGIN) : 0;
}

int writer_end_unlocked_transaction(struct writer *s, bool own, int st)
{
    if (!own)
        return st;
    if (st == 0)
        st = writer_commit(s);
    if (st < 0)
        writer_rollback(s);
    return st;
}

int writer_switch_coverage_session(struct writer *s, int64_t session_id)
{
    /* first save the evidence of the session that was written before, which needs the write lock */
    bool other = s->coverage.session_id != session_id && s->coverage.changed;
    int st = other ? writer_take_lock(s) : 0;
    if (st == 0 && (st = coverage_switch_to_session(&s->coverage, s->db, session_id)) < 0)
        st = writer_mark_coverage_failed(s, st);
    return st;
}

void writer_rollback(struct writer *s)
{
    row_batch_clear(&s->batch);
    call_batch_forget_session(&s->calls);
    coverage_forget_session(&s->coverage);
    s->begins = false;
    /* On a full disk SQLite rolls back on its own; other errors leave the transaction open. */
    if (!sqlite3_get_autocommit(s->db))
        (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

int writer_find_session_of_event(struct writer *s, const char *kind, struct slice detail,
                                 int64_t *ret_id, char ret_uid[UID_LEN + 1])
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

static int writer_insert_event(struct writer *s, int64_t session_id, struct covered_event *e)
{
    sqlite3_stmt *q = s->q[Q_EVENT];
    int st = writer_take_lock(s);
    if (st == 0)
        st = writer_switch_coverage_session(s, session_id);
    if (st == 0 && (st = coverage_add_event(&s->coverage, e)) < 0)
        st = writer_mark_coverage_failed(s, st);
    if (st < 0)
        return st;
    sqlite3_bind_int64(q, 1, session_id);
    sqlite3_bind_int64(q, 2, e->t_us);
    connect_bind(q, 3, e->kind);
    connect_bind(q, 4, e->detail);
    if (e->covered) {
        sqlite3_bind_int64(q, 5, e->place);
        connect_bind_blob(q, 6, commitment_get_salt_bytes(&e->salt));
        connect_bind_blob(q, 7, commitment_get_digest_bytes(&e->commitment));
    }
    st = writer_run_query(s, Q_EVENT);
    sqlite3_clear_bindings(q);
    return st;
}

/* Writes a long body to the file of bodies. If this fails for another reason than a full disk, and
 * the caller has not called writer_make_lost_bodies_fatal(), the row is stored without its body: a
 * body that cannot be written must not block all other rows. */
static int writer_move_body_to_file(struct writer *s, const char *uid, struct batch_row *b,
                                    findings *found)
{
    struct slice body = b->body;
    if (body.n <= WRITER_BODY_MAX)
        return 0;
    /* Take the lock first. Otherwise, while another process has the lock, each retry of the caller
     * would write the body again. */
    int st = writer_take_lock(s);
    if (st < 0)
        return st;
    b->body = (struct slice){0};
    if (bodies_append_body(&s->bodies, uid, body, &b->body_offset) < 0) {
        if (s->want_bodies || errno == ENOSPC || errno == EDQUOT || errno == EFBIG) {
            s->rc = SQLITE_FULL;
            snprintf(s->error, sizeof s->error, "cannot write a body: %s", strerror(errno));
            return MI_ESTORE;
        }
        if (!s->body_lost)
            log_warn("cannot write to " VAULT_BODIES
                     ", long messages are recorded without their bodies: %s",
                     strerror(errno));
        s->body_lost = true;
        *found |= FINDING(FIND_BODY_LOST);
        return 0;
    }
    s->body_lost = false;
    b->is_large = true;
    b->body_length = (int64_t)body.n;
    return 0;
}

/* Switches to a session. Waiting rows of another session are inserted first. */
static int writer_switch_to_session(struct writer *s, int64_t session_id)
{
    int st = writer_switch_coverage_session(s, session_id);
    if (st == 0 && s->calls.session_id != session_id)
        st = writer_insert_rows(s);
    if (st == 0 && (st = call_batch_switch_to_session(&s->calls, s->db, session_id)) < 0)
        st = writer_mark_coverage_failed(s, st);
    return st;
}

/* Returns the message of a row for call_batch_add_message(). Its texts, except the body, are those
 * of `copy`, the copy of the row in the batch; they are valid until the batch is inserted. The body
 * is that of the row `r`; it is empty if r->result is set. */
static struct call_message call_message_of_added_row(const struct row *r,
                                                     const struct batch_row *copy)
{
    return (struct call_message){
        .seq = copy->seq,
        .t_us = copy->t_us,
        .size = copy->size,
        .request_seq = copy->request_seq,
        .direction = r->direction,
        .origin = r->origin,
        .kind = r->kind,
        .action = r->action,
        .has_error_code = copy->has_error_code,
        .error_code = copy->error_code,
        .method = copy->method,
        .target = copy->target,
        .rpc_id = copy->rpc_id,
        .finding = copy->finding,
        /* measure the result in the original body, not in the sanitized one, because the client's
         * model reads the original */
        .body = r->result == NULL ? r->body : (struct slice){0},
        .read = r->read,
        .result = r->result != NULL ? *r->result : CONTEXT_NO_RESULT,
    };
}

/* Reads the link of a message from its original text, because the sanitizer may replace the
 * requestState that links requests. */
static struct link read_link_of_received_row(const struct row *r)
{
    struct rpc m;
    if (!r->may_link || r->body.p == NULL)
        return (struct link){0};
    if (r->read != NULL)
        return link_read_from_message(r->read);
    return rpc_read(r->body, &m) == 0 ? link_read_from_message(&m) : (struct link){0};
}

_Static_assert(ROW_BATCH_ROWS <= CALL_BATCH_MAX, "each row may belong to a call");

static int writer_add_to_batch(struct writer *s, const struct row *r, const struct batch_row *b)
{
    if (row_batch_add_row(&s->batch, b) < 0)
        return writer_fail_no_memory(s);
    if (r->kind == KIND_REQUEST || r->request_seq != 0 || r->action == ROW_SWALLOWED ||
        r->may_link) {
        struct call_message m = call_message_of_added_row(r, &s->batch.row[s->batch.n - 1]);
        m.link = read_link_of_received_row(r);
        int st = call_batch_add_message(&s->calls, s->db, &m);
        if (st < 0)
            return writer_mark_coverage_failed(s, st);
    }
    return row_batch_is_full(&s->batch) ? writer_insert_rows(s) : 0;
}

static int writer_add_message(struct writer *s, int64_t session_id, const char *uid,
                              const struct row *r)
{
    struct sanitized_row k;
    if (sanitize_row(&s->sanitizer, r, &k) < 0)
        return writer_fail_no_memory(s);
    s->body = k.body;
    s->left_body = k.body.p != NULL && k.body.p == r->body.p && k.body.n == r->body.n;
    int st = writer_switch_to_session(s, session_id);
    if (st < 0)
        return st;
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
        .direction = value_get_word_as_slice(&row_directions, r->direction),
        .origin = value_get_word_as_slice(&row_origins, r->origin),
        .kind = value_get_word_as_slice(&row_kinds, r->kind),
        .action = value_get_word_as_slice(&row_actions, r->action),
        .rpc_id = k.rpc_id,
        .method = k.method,
        .target = k.target,
        .body = k.body,
        .revision = k.revision,
    };
    if ((st = writer_move_body_to_file(s, uid, &b, &set)) < 0)
        return st;
    if (set != 0 || r->rules != 0)
        finding_append_names(&found, set, r->rules);
    if (found.n > 0)
        b.finding = buf_slice(&found);
    bool kept = b.body.p != NULL || b.is_large;
    if ((st = coverage_add_message(&s->coverage, &b, kept ? k.body : (struct slice){0})) < 0)
        return writer_mark_coverage_failed(s, st);
    s->covered = b.covered;
    s->commitment = b.commitment;
    return writer_add_to_batch(s, r, &b);
}

int writer_add_row(struct writer *s, int64_t session_id, const char *uid, const struct row *r)
{
    bool own;
    int st = writer_begin_unlocked_transaction(s, &own);
    if (st == 0 && r->event != NULL) {
        struct covered_event e = {.t_us = r->t_us, .kind = slice_of(r->event)};
        st = sanitize_json(&s->sanitizer, r->body, &e.detail) < 0
                 ? writer_fail_no_memory(s)
                 : writer_insert_event(s, session_id, &e);
    } else if (st == 0) {
        st = writer_add_message(s, session_id, uid, r);
    }
    return writer_end_unlocked_transaction(s, own, st);
}

bool writer_last_body_is_unchanged(const struct writer *s)
{
    return s->left_body;
}

struct slice writer_get_last_body(const struct writer *s)
{
    return s->body;
}

bool writer_get_last_commitment(const struct writer *s, char ret[WRITER_COMMITMENT])
{
    if (s->covered)
        digest_hex(&s->commitment, ret);
    return s->covered;
}

bool writer_read_stored_commitment(struct writer *s, int64_t session_id, uint64_t seq,
                                   char ret[WRITER_COMMITMENT])
{
    struct digest d;
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(s->db, "SELECT commitment FROM messages WHERE id = ?1", -1, &q, NULL) !=
        SQLITE_OK)
        return false;
    sqlite3_bind_int64(q, 1, schema_message_id(session_id, seq));
    bool has = sqlite3_step(q) == SQLITE_ROW && commitment_read_digest(q, 0, &d);
    sqlite3_finalize(q);
    if (has)
        digest_hex(&d, ret);
    return has;
}

/* Appends the names of rules to the finding of a message. *ret_t_us: time of the message; -1: there
 * is no such message. */
static int writer_add_finding(struct writer *s, int64_t id, struct slice names, int64_t *ret_t_us)
{
    sqlite3_stmt *q = s->q[Q_RULES];
    int st = writer_take_lock(s);
    if (st < 0)
        return st;
    sqlite3_bind_int64(q, 1, id);
    connect_bind(q, 2, names);
    int rc = sqlite3_step(q);
    *ret_t_us = rc == SQLITE_ROW ? sqlite3_column_int64(q, 0) : -1;
    if (rc == SQLITE_ROW)
        rc = sqlite3_step(q);
    st = rc == SQLITE_DONE ? 0 : writer_fail_sql(s);
    sqlite3_reset(q);
    sqlite3_clear_bindings(q);
    return st;
}

/* Adds the names of rules to the finding of a message. Also adds an event, which records this
 * change. */
static int add_rules_in_transaction(struct writer *s, int64_t session_id, uint64_t seq,
                                    struct slice names)
{
    char text[2200];
    struct covered_event e = {.kind = slice_of(EVENT_FINDING_ADDED)};
    /* insert the waiting rows first, because the message may be one of them */
    int st = writer_insert_rows(s);
    if (st == 0)
        st = writer_add_finding(s, schema_message_id(session_id, seq), names, &e.t_us);
    if (st < 0 || e.t_us < 0)
        return st;
    int n = snprintf(text, sizeof text, "{\"seq\":%llu,\"finding\":\"%.*s\"}",
                     (unsigned long long)seq, (int)names.n, names.p);
    e.detail = (struct slice){text, (size_t)n};
    return writer_insert_event(s, session_id, &e);
}

int writer_add_rules_to_message(struct writer *s, int64_t session_id, uint64_t seq, breaches rules)
{
    char names[2048];
    struct buf found = {.p = names, .cap = sizeof names, .max = sizeof names};
    bool own;
    finding_append_names(&found, 0, rules);
    if (found.n == 0)
        return 0;
    int st = writer_begin_unlocked_transaction(s, &own);
    if (st == 0)
        st = add_rules_in_transaction(s, session_id, seq, buf_slice(&found));
    return writer_end_unlocked_transaction(s, own, st);
}

bool writer_take_new_bodies_range(struct writer *s, int64_t *ret_from, int64_t *ret_to)
{
    return bodies_take_new_range(&s->bodies, ret_from, ret_to);
}

const char *writer_error(const struct writer *s)
{
    return s->error;
}

bool writer_is_busy(const struct writer *s)
{
    return (s->rc & 0xFF) == SQLITE_BUSY || (s->rc & 0xFF) == SQLITE_LOCKED;
}

bool writer_is_damaged(const struct writer *s)
{
    return damaged_db_is_damage_code(s->rc);
}

bool writer_is_full(const struct writer *s)
{
    return (s->rc & 0xFF) == SQLITE_FULL || (s->rc & 0xFF) == SQLITE_NOMEM;
}

bool writer_database_vanished(const struct writer *s, const char *vault)
{
    struct stat st;
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", vault, VAULT_DB);
    return n < 0 || (size_t)n >= sizeof path || lstat(path, &st) != 0 || st.st_ino != s->ino ||
           st.st_dev != s->dev;
}

int64_t writer_get_wal_pages(const struct writer *s)
{
    return s->wal_pages;
}

int writer_checkpoint_wal(struct writer *s)
{
    writer_set_lock_timeout(s, CHECKPOINT_WAIT_US);
    if (checkpoint_run(s->db) != SQLITE_OK)
        return writer_fail_sql(s);
    /* the size of the log is unknown until the next commit, which restarts the log and reports its
     * size */
    s->wal_pages = 0;
    return 0;
}
