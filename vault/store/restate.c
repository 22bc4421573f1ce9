#include "vault/store/restate.h"

#include "base/clock.h"
#include "base/grow.h"
#include "vault/store/columns.h"
#include "vault/store/commitment.h"
#include "vault/store/connect.h"
#include "vault/store/failure.h"
#include "vault/store/ledger.h"
#include "vault/store/schema.h"
#include "vault/store/writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A record that gets a new commitment. For each such record, a line of text is made; the leaf
 * `redact` states the digest of all lines. */
struct line {
    char record[32]; /* name of the record */
    struct digest old, now;
};

/* The arguments and the state of restate_records(). */
struct run {
    const struct restate *r;
    int64_t leaf;      /* number of the log's leaf that will state the changes */
    struct line *line; /* owned */
    size_t n, cap;
};

static sqlite3_stmt *restate_prepare_query(const struct run *run, const char *sql, int64_t a,
                                           int64_t b)
{
    sqlite3_stmt *q = columns_prepare_statement(run->r->db, sql);
    if (q != NULL) {
        sqlite3_bind_int64(q, 1, a);
        if (sqlite3_bind_parameter_count(q) > 1)
            sqlite3_bind_int64(q, 2, b);
    }
    return q;
}

static int restate_run_statement(const struct run *run, sqlite3_stmt *q)
{
    int rc = sqlite3_step(q);
    sqlite3_finalize(q);
    return rc == SQLITE_DONE ? 0 : failure_keep(run->r->db);
}

/* Reads the old commitment of a record from the first column of the row. Makes a salt for the new
 * commitment. *ret_has: whether the record has a commitment. */
static int restate_read_old_commitment(struct run *run, sqlite3_stmt *q, struct line *line,
                                       struct salt *salt, bool *ret_has)
{
    int rc = sqlite3_step(q);
    *ret_has = rc == SQLITE_ROW && commitment_read_digest(q, 0, &line->old);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return failure_keep(run->r->db);
    return *ret_has ? salts_take_next_salt(run->r->salts, salt) : 0;
}

/* Moves the old commitment to `replaced`, and stores the new one with `update`, whose ?1 is
 * `id`. */
static int restate_store_commitment(struct run *run, const struct line *line,
                                    const struct salt *salt, const char *update, int64_t id)
{
    if (!GROW(run->line, run->n, run->cap))
        return MI_ENOMEM;
    run->line[run->n++] = *line;
    sqlite3_stmt *q =
        restate_prepare_query(run,
                              "INSERT INTO replaced (session_id, leaf, record, commitment)"
                              " VALUES (?1, ?2, ?3, ?4)",
                              run->r->session_id, run->leaf);
    connect_bind(q, 3, slice_of(line->record));
    connect_bind_blob(q, 4, commitment_get_digest_bytes(&line->old));
    int st = restate_run_statement(run, q);
    if (st < 0)
        return st;
    q = restate_prepare_query(run, update, id, 0);
    connect_bind_blob(q, 2, commitment_get_salt_bytes(salt));
    connect_bind_blob(q, 3, commitment_get_digest_bytes(&line->now));
    return restate_run_statement(run, q);
}

/* ---- messages ------------------------------------------------------------------------------- */

/* Removes the names that were added to the finding of a message after the message was recorded. */
static int cut_added_finding_names(struct run *run, int64_t seq, struct slice *finding)
{
    sqlite3_stmt *q =
        restate_prepare_query(run,
                              "SELECT json_extract(detail, '$.finding') FROM events"
                              " WHERE session_id = ?1 AND kind = '" EVENT_FINDING_ADDED "'"
                              " AND json_extract(detail, '$.seq') = ?2 ORDER BY place DESC",
                              run->r->session_id, seq);
    int rc;
    /* if the finding does not end with these names, somebody has changed it, and verification
     * reports that */
    while ((rc = sqlite3_step(q)) == SQLITE_ROW &&
           commitment_cut_added_names(finding, connect_column(q, 0)))
        ;
    sqlite3_finalize(q);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : failure_keep(run->r->db);
}

/* Adds a text to a record: the body that starts at offset `at` in the file of bodies. */
static int add_body_from_file(struct run *run, struct record *r, int64_t at, int64_t length)
{
    char part[64 << 10];
    record_add_length(r, (uint64_t)length);
    while (length > 0) {
        size_t most = size_min(sizeof part, (size_t)length);
        ssize_t n = pread(run->r->bodies_fd, part, most, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return MI_EIO;
        record_add_bytes(r, (struct slice){part, (size_t)n});
        at += n;
        length -= n;
    }
    return 0;
}

static int compute_message_commitment(struct run *run, sqlite3_stmt *q, int64_t seq,
                                      const struct salt *salt, struct digest *ret)
{
    enum { FIRST = 1, BODY = FIRST + COMMITMENT_MESSAGE_N, OFFSET, LENGTH };
    struct record r;
    struct slice finding = connect_column(q, FIRST + COMMITMENT_MESSAGE_FINDING);
    int st = cut_added_finding_names(run, seq, &finding);
    record_begin_digest(&r, salt, "message");
    commitment_add_columns(&r, q, FIRST, COMMITMENT_MESSAGE_FINDING);
    record_add_text(&r, finding);
    if (sqlite3_column_type(q, LENGTH) == SQLITE_NULL)
        commitment_add_columns(&r, q, BODY, 1);
    else if (st == 0)
        st = add_body_from_file(run, &r, sqlite3_column_int64(q, OFFSET),
                                sqlite3_column_int64(q, LENGTH));
    commitment_add_columns(
        &r, q, FIRST + COMMITMENT_MESSAGE_TAIL,
        commitment_count_tail_columns(q, FIRST + COMMITMENT_MESSAGE_TAIL, BUNDLE_MESSAGE));
    record_finish_digest(&r, ret);
    return st;
}

static int restate_message_commitment(struct run *run, int64_t seq)
{
    static const char sql[] = "SELECT commitment@message_record"
                              ", body, body_offset, body_length FROM messages"
                              " WHERE id = (?1 << 36) + ?2";
    struct line line;
    struct salt salt;
    sqlite3_stmt *q = restate_prepare_query(run, sql, run->r->session_id, seq);
    bool has;
    int st = restate_read_old_commitment(run, q, &line, &salt, &has);
    if (has && st == 0)
        st = compute_message_commitment(run, q, seq, &salt, &line.now);
    sqlite3_finalize(q);
    if (!has || st < 0)
        return st;
    snprintf(line.record, sizeof line.record, "message %lld", (long long)seq);
    return restate_store_commitment(run, &line, &salt,
                                    "UPDATE messages SET salt = ?2, commitment = ?3 WHERE id = ?1",
                                    schema_message_id(run->r->session_id, (uint64_t)seq));
}

/* ---- other records -------------------------------------------------------------------------- */

/* Makes a new commitment for a record that is not a message. `sql` selects the old commitment, the
 * number in the record's name (NULL: the name has none), and the fields of the record. */
static int restate_commitment_of_row(struct run *run, const char *sql, const char *update,
                                     int64_t id, enum bundle_kind kind)
{
    const char *name = bundle_shape[kind].name;
    struct line line;
    struct salt salt;
    sqlite3_stmt *q = restate_prepare_query(run, sql, id, 0);
    bool has;
    int st = restate_read_old_commitment(run, q, &line, &salt, &has);
    if (has && st == 0) {
        line.now = commitment_compute_from_row(q, 2, kind, &salt);
        if (sqlite3_column_type(q, 1) == SQLITE_NULL)
            snprintf(line.record, sizeof line.record, "%s", name);
        else
            snprintf(line.record, sizeof line.record, "%s %lld", name,
                     (long long)sqlite3_column_int64(q, 1));
    }
    sqlite3_finalize(q);
    return !has || st < 0 ? st : restate_store_commitment(run, &line, &salt, update, id);
}

static int restate_session_commitments(struct run *run)
{
    int64_t id = run->r->session_id;
    int st = restate_commitment_of_row(
        run, "SELECT commitment, NULL@session_record FROM sessions WHERE id = ?1",
        "UPDATE sessions SET salt = ?2, commitment = ?3 WHERE id = ?1", id, BUNDLE_SESSION);
    if (st < 0)
        return st;
    return restate_commitment_of_row(
        run, "SELECT end_commitment, NULL@end_record FROM sessions WHERE id = ?1",
        "UPDATE sessions SET end_salt = ?2, end_commitment = ?3 WHERE id = ?1", id, BUNDLE_END);
}

/* ---- the leaf ------------------------------------------------------------------------------- */

static int compare_lines_by_record_name(const void *a, const void *b)
{
    return strcmp(((const struct line *)a)->record, ((const struct line *)b)->record);
}

static struct digest restate_hash_changed_records(struct run *run)
{
    struct digest_sum sum;
    struct digest d;
    char old[DIGEST_HEX + 1], now[DIGEST_HEX + 1],
        text[sizeof run->line->record + 2 * DIGEST_HEX + 4];
    qsort(run->line, run->n, sizeof *run->line, compare_lines_by_record_name);
    digest_begin(&sum);
    for (size_t i = 0; i < run->n; i++) {
        digest_hex(&run->line[i].old, old);
        digest_hex(&run->line[i].now, now);
        int n = snprintf(text, sizeof text, "%s %s %s\n", run->line[i].record, old, now);
        digest_add(&sum, text, (size_t)n);
    }
    digest_end(&sum, &d);
    return d;
}

static int restate_add_redaction_leaf(struct run *run)
{
    struct leaf leaf = {.type = LEAF_REDACT, .at_us = clock_wall_us(), .records = (int64_t)run->n};
    int64_t n;
    sqlite3_stmt *q =
        restate_prepare_query(run, "SELECT uid FROM sessions WHERE id = ?1", run->r->session_id, 0);
    int st = sqlite3_step(q) == SQLITE_ROW ? 0 : failure_keep(run->r->db);
    if (st == 0) {
        leaf.uid = connect_column(q, 0);
        leaf.digest = restate_hash_changed_records(run);
        st = ledger_add_leaf(run->r->db, &leaf, &n);
    }
    sqlite3_finalize(q);
    return st;
}

int restate_records(const struct restate *r, const struct restated *record, size_t n)
{
    static const char select_event[] =
        "SELECT commitment, place@event_record FROM events WHERE id = ?1";
    static const char update_event[] = "UPDATE events SET salt = ?2, commitment = ?3 WHERE id = ?1";
    struct run run = {.r = r};
    int st = 0;
    if (connect_read_number(r->db, "SELECT ifnull(max(n) + 1, 0) FROM leaves", 0, &run.leaf) !=
        SQLITE_OK)
        return failure_keep(r->db);
    for (size_t i = 0; st == 0 && i < n; i++) {
        bool repeated = false;
        for (size_t k = 0; k < i && !repeated; k++)
            repeated = record[k].kind == record[i].kind && record[k].id == record[i].id;
        if (repeated)
            continue;
        if (record[i].kind == RESTATE_MESSAGE)
            st = restate_message_commitment(&run, record[i].id);
        else if (record[i].kind == RESTATE_EVENT)
            st = restate_commitment_of_row(&run, select_event, update_event, record[i].id,
                                           BUNDLE_EVENT);
        else
            st = restate_session_commitments(&run);
    }
    if (st == 0 && run.n > 0)
        st = restate_add_redaction_leaf(&run);
    free(run.line);
    return st;
}
