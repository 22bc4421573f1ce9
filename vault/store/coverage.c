#include "vault/store/coverage.h"

#include "base/clock.h"
#include "base/text.h"
#include "vault/store/columns.h"
#include "vault/store/commitment.h"
#include "vault/store/connect.h"
#include "vault/store/failure.h"
#include "vault/store/ledger.h"
#include "vault/store/schema.h"

void coverage_forget_session(struct coverage *c)
{
    c->session_id = 0;
    c->changed = false;
}

void coverage_close(struct coverage *c)
{
    sqlite3_finalize(c->save);
    c->save = NULL;
    buf_close(&c->packed);
}

/* Prepares a statement whose ?1 is the session. */
static sqlite3_stmt *coverage_prepare_statement(sqlite3 *db, const char *sql, int64_t session_id)
{
    sqlite3_stmt *q = columns_prepare_statement(db, sql);
    if (q != NULL)
        sqlite3_bind_int64(q, 1, session_id);
    return q;
}

/* Runs a statement without result rows, and finalizes it. */
static int coverage_run_statement(sqlite3 *db, sqlite3_stmt *q)
{
    int rc = sqlite3_step(q);
    sqlite3_finalize(q);
    return rc == SQLITE_DONE ? 0 : failure_keep(db);
}

/* ---- a session that was begun before -------------------------------------------------------- */

/* Selects the first commitment of a record. If the record was redacted later, the table `replaced`
 * has it. */
#define FIRST(record, commitment)                                                                  \
    "coalesce((SELECT commitment FROM replaced WHERE session_id = ?1 AND record = " record         \
    " ORDER BY leaf LIMIT 1), " commitment ")"

/* State of reading the commitments of a session's last, incomplete group. */
struct slots {
    struct session_tree *to;
    /* index of the first commitment of the group among all commitments of the session */
    uint64_t from;
    bool filled[SESSION_TREE_GROUP]; /* true: the commitment was read */
};

static void store_record_commitment(struct slots *s, sqlite3_stmt *q, int i, uint64_t place)
{
    if (place < s->from || place >= s->to->n || s->filled[place - s->from])
        return;
    struct digest *d = &s->to->rest[place - s->from];
    s->filled[place - s->from] = true;
    /* If the column has no digest, the vault was changed: verification will report a removed
     * record. */
    if (!commitment_read_digest(q, i, d))
        memset(d, 0, sizeof *d);
}

static int load_event_commitments(struct slots *s, sqlite3 *db, int64_t session_id)
{
    /* clang-format off */
    static const char sql[] = "SELECT place, " FIRST("'event ' || place", "e.commitment")
                              " FROM events e WHERE session_id = ?1 ORDER BY id DESC";
    /* clang-format on */
    sqlite3_stmt *q = coverage_prepare_statement(db, sql, session_id);
    int rc;
    while ((rc = sqlite3_step(q)) == SQLITE_ROW && sqlite3_column_int64(q, 0) >= (int64_t)s->from)
        store_record_commitment(s, q, 1, (uint64_t)sqlite3_column_int64(q, 0));
    sqlite3_finalize(q);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : failure_keep(db);
}

/* Reads the commitments of messages, newest message first. Stores each commitment at the highest
 * index of the group that has no commitment yet. The commitments of events were stored before. */
static int load_message_commitments(struct slots *s, sqlite3 *db, int64_t session_id)
{
    uint64_t place = s->to->n;
    /* clang-format off */
    static const char sql[] = "SELECT " FIRST("'message ' || seq", "m.commitment")
                              " FROM messages m WHERE id BETWEEN ?1 << 36"
                              " AND (?1 << 36) + 68719476735 ORDER BY id DESC";
    /* clang-format on */
    sqlite3_stmt *q = coverage_prepare_statement(db, sql, session_id);
    int rc = SQLITE_DONE;
    for (;;) {
        while (place > s->from && s->filled[place - 1 - s->from])
            place--;
        if (place == s->from || (rc = sqlite3_step(q)) != SQLITE_ROW)
            break;
        store_record_commitment(s, q, 0, place - 1);
    }
    sqlite3_finalize(q);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : failure_keep(db);
}

/* Reads the commitments of the last, incomplete group. */
static int load_last_commitment_group(struct coverage *c, sqlite3 *db)
{
    struct slots s = {.to = &c->places,
                      .from = c->places.n - session_tree_count_ungrouped(&c->places)};
    int st = 0;
    if (s.from == c->places.n)
        return 0;
    if (s.from == 0) {
        sqlite3_stmt *q = coverage_prepare_statement(
            db, "SELECT " FIRST("'session'", "s.commitment") " FROM sessions s WHERE id = ?1",
            c->session_id);
        int rc = sqlite3_step(q);
        if (rc == SQLITE_ROW)
            store_record_commitment(&s, q, 0, 0);
        sqlite3_finalize(q);
        st = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : failure_keep(db);
    }
    if (st == 0)
        st = load_event_commitments(&s, db, c->session_id);
    return st == 0 ? load_message_commitments(&s, db, c->session_id) : st;
}

/* Reads the stored evidence of a session into `c`, except the commitments of the session's last,
 * incomplete group. */
static int coverage_load_session_evidence(struct coverage *c, sqlite3 *db, int64_t session_id)
{
    sqlite3_stmt *q = coverage_prepare_statement(
        db,
        "SELECT s.salt IS NOT NULL, s.ended_at_us IS NOT NULL, n.records, n.tree,"
        " (SELECT seq FROM messages WHERE id BETWEEN ?1 << 36 AND (?1 << 36) + 68719476735"
        " ORDER BY id DESC LIMIT 1)"
        " FROM sessions s, (SELECT records, tree FROM sessions WHERE id = ?1 UNION ALL"
        " SELECT records, tree FROM journals WHERE session_id = ?1) n"
        " WHERE s.id = ?1 ORDER BY n.records DESC LIMIT 1",
        session_id);
    int rc = sqlite3_step(q);
    c->covered = false;
    c->changed = false;
    c->places = (struct session_tree){0};
    c->last_seq = 0;
    if (rc == SQLITE_ROW) {
        c->covered = sqlite3_column_int(q, 0) != 0;
        c->ended = sqlite3_column_int(q, 1) != 0;
        c->places.n = (uint64_t)sqlite3_column_int64(q, 2);
        c->last_seq = (uint64_t)sqlite3_column_int64(q, 4);
        /* If the tree is invalid, the vault was changed: verification will report it. */
        if (!tree_read_roots(&c->places.groups, c->places.n / SESSION_TREE_GROUP,
                             connect_column(q, 3)))
            c->places.groups = (struct tree){0};
        rc = sqlite3_step(q);
    }
    sqlite3_finalize(q);
    return rc == SQLITE_DONE ? 0 : failure_keep(db);
}

int coverage_switch_to_session(struct coverage *c, sqlite3 *db, int64_t session_id)
{
    if (c->session_id == session_id)
        return 0;
    int st = c->changed ? coverage_save(c, db) : 0;
    if (st == 0)
        st = coverage_load_session_evidence(c, db, session_id);
    c->session_id = st == 0 ? session_id : 0;
    if (st == 0 && c->covered)
        st = load_last_commitment_group(c, db);
    if (st < 0)
        coverage_forget_session(c);
    return st;
}

/* ---- records -------------------------------------------------------------------------------- */

static void coverage_add_record(struct coverage *c, const struct digest *commitment)
{
    session_tree_add_record(&c->places, commitment);
    c->changed = true;
}

int coverage_open(struct coverage *c, sqlite3 *db, int64_t session_id)
{
    static const char sql[] = "SELECT salt@session_record FROM sessions WHERE id = ?1";
    struct leaf leaf = {.type = LEAF_OPEN, .id = session_id};
    struct salt salt;
    int64_t n;
    int st = c->changed ? coverage_save(c, db) : 0;
    if (st < 0)
        return st;
    sqlite3_stmt *q = coverage_prepare_statement(db, sql, session_id);
    st = sqlite3_step(q) == SQLITE_ROW && commitment_read_salt(q, 0, &salt) ? 0 : failure_keep(db);
    if (st == 0) {
        leaf.digest = commitment_compute_from_row(q, 1, BUNDLE_SESSION, &salt);
        leaf.uid = connect_column(q, 1);
        st = ledger_add_leaf(db, &leaf, &n);
    }
    sqlite3_finalize(q);
    if (st == 0) {
        q = coverage_prepare_statement(db, "UPDATE sessions SET commitment = ?2 WHERE id = ?1",
                                       session_id);
        connect_bind_blob(q, 2, commitment_get_digest_bytes(&leaf.digest));
        st = coverage_run_statement(db, q);
    }
    if (st < 0)
        return st;
    c->session_id = session_id;
    c->covered = true;
    c->ended = false;
    c->last_seq = 0;
    c->places = (struct session_tree){0};
    coverage_add_record(c, &leaf.digest);
    return 0;
}

#define ADD(name, type, null)                                                                      \
    FIELD_EITHER(FIELD_NUMBER_##type,                                                              \
                 record_add_number_or_null(&r, BATCH_HAS_##null(name), row->name),                 \
                 record_add_text(&r, row->name));
#define ADD_OPEN(name, type, null, since, evidence, ...)                                           \
    FIELD_IF(FIELD_OPEN_##evidence)(ADD(name, type, null))
/* Sets `tail` to the number of fields in the tail of a message's record (docs/evidence.md): all
 * fields up to the last one that is not NULL. */
#define COUNT_TAIL(name, type, null, since, evidence, ...)                                         \
    FIELD_IF(FIELD_TAIL_##evidence)                                                                \
    (n++; if (FIELD_EITHER(FIELD_NUMBER_##type, BATCH_HAS_##null(name), row->name.p != NULL))      \
              tail = n;)
#define ADD_TAIL(name, type, null, since, evidence, ...)                                           \
    FIELD_IF(FIELD_TAIL_##evidence)(if (tail > 0) { ADD(name, type, null) tail--; })

int coverage_add_message(struct coverage *c, struct batch_row *row, struct slice body)
{
    struct record r;
    int n = 0, tail = 0;
    row->covered = c->covered && (uint64_t)row->seq > c->last_seq;
    if (!row->covered)
        return 0;
    c->last_seq = (uint64_t)row->seq;
    if (salts_take_next_salt(&c->salts, &row->salt) < 0)
        return MI_EIO;
    record_begin_digest(&r, &row->salt, "message");
    MESSAGE_FIELDS(ADD_OPEN)
    record_add_text(&r, body);
    MESSAGE_FIELDS(COUNT_TAIL)
    MESSAGE_FIELDS(ADD_TAIL)
    record_finish_digest(&r, &row->commitment);
    coverage_add_record(c, &row->commitment);
    return 0;
}

int coverage_add_event(struct coverage *c, struct covered_event *e)
{
    struct record r;
    e->covered = c->covered;
    if (!c->covered)
        return 0;
    if (salts_take_next_salt(&c->salts, &e->salt) < 0)
        return MI_EIO;
    record_begin_digest(&r, &e->salt, "event");
    record_add_number(&r, e->t_us);
    record_add_text(&r, e->kind);
    record_add_text(&r, e->detail);
    record_finish_digest(&r, &e->commitment);
    e->place = (int64_t)c->places.n;
    coverage_add_record(c, &e->commitment);
    return 0;
}

int coverage_mark_session_changed(struct coverage *c, sqlite3 *db)
{
    int64_t ended = 0;
    int rc = connect_read_number(db, "SELECT ended_at_us IS NOT NULL FROM sessions WHERE id = ?1",
                                 c->session_id, &ended);
    if (rc != SQLITE_OK && rc != SQLITE_DONE)
        return failure_keep(db);
    c->ended = ended != 0;
    c->changed = c->changed || c->ended;
    return 0;
}

/* ---- saving --------------------------------------------------------------------------------- */

/* Chooses the salt of the record `end`. If the record has not changed, its salt and commitment stay
 * the same, because after a redaction the log states this commitment. *ret_same: whether they stay
 * the same. */
static int coverage_choose_end_record_salt(struct coverage *c, sqlite3_stmt *q, int i,
                                           struct salt *ret, bool *ret_same)
{
    struct digest stored;
    *ret_same = false;
    if (commitment_read_salt(q, i, ret) && commitment_read_digest(q, i + 1, &stored)) {
        struct digest now = commitment_compute_from_row(q, i + 2, BUNDLE_END, ret);
        *ret_same = digest_eq(&now, &stored);
    }
    return *ret_same ? 0 : salts_take_next_salt(&c->salts, ret);
}

/* Stores the record `end`, and adds the leaf `seal`. */
static int coverage_store_end_and_seal(struct coverage *c, sqlite3 *db)
{
    static const char sql[] = "SELECT uid, end_reason, end_salt, end_commitment@end_record"
                              " FROM sessions WHERE id = ?1";
    struct leaf leaf = {.type = LEAF_SEAL,
                        .at_us = clock_wall_us(),
                        .records = (int64_t)c->places.n,
                        .root = session_tree_compute_root(&c->places)};
    struct buf end = {0};
    struct salt salt;
    bool same = false;
    int64_t n;
    sqlite3_stmt *q = coverage_prepare_statement(db, sql, c->session_id);
    int st = sqlite3_step(q) == SQLITE_ROW ? coverage_choose_end_record_salt(c, q, 2, &salt, &same)
                                           : failure_keep(db);
    if (st == 0) {
        leaf.digest = commitment_compute_from_row(q, 4, BUNDLE_END, &salt);
        leaf.uid = connect_column(q, 0);
        struct slice reason = connect_column(q, 1);
        if (reason.p != NULL)
            text_append_json(&end, reason);
        if (end.n >= 2) /* remove the quotes of the JSON string */
            leaf.end = (struct slice){end.p + 1, end.n - 2};
        st = end.failed ? MI_ENOMEM : ledger_add_leaf(db, &leaf, &n);
    }
    sqlite3_finalize(q);
    buf_close(&end);
    if (st < 0 || same)
        return st;
    q = coverage_prepare_statement(
        db, "UPDATE sessions SET end_salt = ?2, end_commitment = ?3 WHERE id = ?1", c->session_id);
    connect_bind_blob(q, 2, commitment_get_salt_bytes(&salt));
    connect_bind_blob(q, 3, commitment_get_digest_bytes(&leaf.digest));
    return coverage_run_statement(db, q);
}

int coverage_bind_columns(struct coverage *c, sqlite3_stmt *q, int i)
{
    if (!c->covered) {
        sqlite3_bind_null(q, i);
        sqlite3_bind_null(q, i + 1);
        return 0;
    }
    buf_clear(&c->packed);
    tree_append_roots(&c->places.groups, &c->packed);
    sqlite3_bind_int64(q, i, (int64_t)c->places.n);
    connect_bind_blob(q, i + 1, buf_slice(&c->packed));
    c->changed = c->changed && c->ended;
    return c->packed.failed ? MI_ENOMEM : 0;
}

int coverage_save(struct coverage *c, sqlite3 *db)
{
    static const char sql[] = "UPDATE sessions SET records = ?2, tree = ?3 WHERE id = ?1";
    if (!c->changed)
        return 0;
    c->changed = false;
    if (!c->covered)
        return 0;
    if (c->save == NULL &&
        sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &c->save, NULL) != SQLITE_OK)
        return failure_keep(db);
    sqlite3_bind_int64(c->save, 1, c->session_id);
    int st = coverage_bind_columns(c, c->save, 2);
    if (st == 0)
        st = sqlite3_step(c->save) == SQLITE_DONE ? 0 : failure_keep(db);
    sqlite3_reset(c->save);
    return st == 0 && c->ended ? coverage_store_end_and_seal(c, db) : st;
}
