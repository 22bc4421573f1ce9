#include "vault/proof/proof_state.h"

#include "vault/store/commitment.h"
#include "vault/store/connect.h"
#include "vault/store/schema.h"
#include "vault/store/writer.h"

#include <stdio.h>

/* ---- records -------------------------------------------------------------------------------- */

static void proof_add_column_to_record(struct bundle_out *o, sqlite3_stmt *s, int i)
{
    if (sqlite3_column_type(s, i) == SQLITE_INTEGER)
        bundle_write_number(o, sqlite3_column_int64(s, i));
    else
        bundle_write_field(o, connect_column(s, i));
}

static void proof_add_columns_as_fields(struct bundle_out *o, sqlite3_stmt *s, int first, int n)
{
    for (int i = first; i < first + n; i++)
        proof_add_column_to_record(o, s, i);
}

/* Adds the fields of a record. Column 0 is the salt; each later column is a field. */
static void proof_add_record_fields(struct bundle_out *o, sqlite3_stmt *s, enum bundle_kind kind)
{
    int n = (int)bundle_shape[kind].n;
    proof_add_columns_as_fields(o, s, 1, n + commitment_count_tail_columns(s, 1 + n, kind));
}

/* Adds a finding as it was first stored, without the names that were added later. */
static int proof_add_message_finding(struct proof *p, struct bundle_out *o, int64_t seq,
                                     struct slice finding)
{
    static const char sql[] = "SELECT json_extract(detail, '$.finding') FROM events"
                              " WHERE session_id = ?1 AND kind = '" EVENT_FINDING_ADDED "'"
                              " AND json_extract(detail, '$.seq') = ?2 ORDER BY place DESC";
    int rc = SQLITE_DONE;
    sqlite3_stmt *s = proof_prepare_statement(p, sql, p->what->session_id);
    sqlite3_bind_int64(s, 2, seq);
    while (finding.p != NULL && (rc = sqlite3_step(s)) == SQLITE_ROW)
        if (!commitment_cut_added_names(&finding, connect_column(s, 0)))
            break; /* the vault was tampered with: the bundle will not be valid */
    bundle_write_field(o, finding);
    return proof_finish_statement(p, s, rc);
}

static int proof_add_message_body(struct proof *p, struct bundle_out *o, sqlite3_stmt *s, int body)
{
    if (sqlite3_column_type(s, body + 2) == SQLITE_NULL) {
        proof_add_column_to_record(o, s, body);
        return 0;
    }
    struct query_message m = {.is_large = true,
                              .body_offset = sqlite3_column_int64(s, body + 1),
                              .body_length = sqlite3_column_int64(s, body + 2)};
    struct buf large = {0};
    int st = query_body(p->q, p->what->uid, &m, SIZE_MAX, &large);
    bundle_write_field(o, buf_slice(&large));
    if (large.failed)
        st = MI_ENOMEM;
    buf_close(&large);
    return st;
}

static int proof_add_message(struct proof *p, struct bundle_out *o, sqlite3_stmt *s)
{
    enum { FIRST = 1, BODY = FIRST + COMMITMENT_MESSAGE_N };
    proof_add_columns_as_fields(o, s, FIRST, COMMITMENT_MESSAGE_FINDING);
    int st = proof_add_message_finding(p, o, sqlite3_column_int64(s, FIRST),
                                       connect_column(s, FIRST + COMMITMENT_MESSAGE_FINDING));
    if (st == 0)
        st = proof_add_message_body(p, o, s, BODY);
    proof_add_columns_as_fields(
        o, s, FIRST + COMMITMENT_MESSAGE_TAIL,
        commitment_count_tail_columns(s, FIRST + COMMITMENT_MESSAGE_TAIL, BUNDLE_MESSAGE));
    return st;
}

/* Selects the salt of a record, then its fields. row: number of the record, as in proof_row.row. */
static sqlite3_stmt *proof_select_record(struct proof *p, int64_t row)
{
    if (row == 0)
        return proof_prepare_statement(p, "SELECT salt@session_record FROM sessions WHERE id = ?1",
                                       p->what->session_id);
    if (row < 0)
        return proof_prepare_statement(p, "SELECT salt@event_record FROM events WHERE id = ?1",
                                       -row);
    return proof_prepare_statement(p,
                                   "SELECT salt@message_record"
                                   ", body, body_offset, body_length FROM messages WHERE id = ?1",
                                   schema_message_id(p->what->session_id, (uint64_t)row));
}

static int proof_add_record(struct proof *p, struct bundle_out *o, uint64_t place)
{
    int64_t row = p->row[place].row;
    struct salt salt;
    sqlite3_stmt *s = proof_select_record(p, row);
    int rc = sqlite3_step(s), st = 0;
    if (rc != SQLITE_ROW || !commitment_read_salt(s, 0, &salt)) {
        st = proof_set_error(
            p, "a record of the session has no salt; run: mcp-interposer audit verify");
        return proof_finish_statement(p, s, rc) < 0 ? MI_ESTORE : st;
    }
    enum bundle_kind kind = row == 0 ? BUNDLE_SESSION : row < 0 ? BUNDLE_EVENT : BUNDLE_MESSAGE;
    bundle_begin_record(o, place, &salt);
    bundle_write_field(o, slice_of(bundle_shape[kind].name));
    if (row > 0)
        st = proof_add_message(p, o, s);
    else
        proof_add_record_fields(o, s, kind);
    bundle_end_record(o);
    int read = proof_finish_statement(p, s, rc);
    return st < 0 ? st : read;
}

static int proof_add_session_end(struct proof *p, struct bundle_out *o)
{
    struct salt salt;
    sqlite3_stmt *s = proof_prepare_statement(
        p, "SELECT end_salt@end_record FROM sessions WHERE id = ?1", p->what->session_id);
    int rc = sqlite3_step(s), st = 0;
    if (rc == SQLITE_ROW && commitment_read_salt(s, 0, &salt)) {
        bundle_begin_session_end_record(o, &salt);
        bundle_write_field(o, slice_of(bundle_shape[BUNDLE_END].name));
        proof_add_record_fields(o, s, BUNDLE_END);
        bundle_end_record(o);
    } else {
        st = proof_set_error(
            p, "the end of the session has no salt; run: mcp-interposer audit verify");
    }
    int read = proof_finish_statement(p, s, rc);
    return read < 0 ? read : st;
}

int proof_add_records(struct proof *p, struct bundle_out *o)
{
    int st = 0;
    for (uint64_t i = 0; st == 0 && i < p->records; i++) {
        if (p->row[i].wanted)
            st = proof_add_record(p, o, i);
        if (st == 0 && o->j.b->n > BUNDLE_MAX)
            st = proof_set_error(
                p,
                "the bundle would have more than %zu MiB; prove single calls of the "
                "session: --seq N",
                BUNDLE_MAX >> 20);
    }
    return st == 0 ? proof_add_session_end(p, o) : st;
}

/* ---- redactions ----------------------------------------------------------------------------- */

/* Selects for each replaced commitment: number of the leaf, name of the record, the replaced
 * commitment, and the commitment that replaces it. */
static const char lines_sql[] =
    "SELECT r.leaf, r.record, r.commitment, coalesce((SELECT commitment FROM replaced n"
    " WHERE n.session_id = r.session_id AND n.record = r.record AND n.leaf > r.leaf"
    " ORDER BY n.leaf LIMIT 1), CASE"
    " WHEN r.record = 'session' THEN s.commitment"
    " WHEN r.record = 'end' THEN s.end_commitment"
    " WHEN r.record LIKE 'message %' THEN (SELECT commitment FROM messages"
    " WHERE id = (?1 << 36) + CAST(substr(r.record, 9) AS INTEGER))"
    " ELSE (SELECT commitment FROM events e"
    " WHERE e.session_id = ?1 AND place = CAST(substr(r.record, 7) AS INTEGER)) END)"
    " FROM replaced r JOIN sessions s ON s.id = r.session_id WHERE r.session_id = ?1"
    " ORDER BY r.leaf, r.record";

/* Whether the bundle has the record with this name. leaf: number of the leaf that replaced the
 * record's commitment. The bundle has the record `end` only if this leaf was added after the
 * seal. */
static bool proof_has_record(const struct proof *p, struct slice name, int64_t leaf)
{
    char other[32];
    if (slice_is(name, "end"))
        return leaf > p->seal;
    if (p->what->seq == 0 || slice_is(name, "session"))
        return true;
    for (uint64_t i = 1; i < p->records; i++) {
        if (!p->row[i].wanted)
            continue;
        snprintf(other, sizeof other, "message %lld", (long long)p->row[i].row);
        if (slice_is(name, other))
            return true;
    }
    return false;
}

static void proof_write_redaction_line(struct bundle_out *o, struct slice name,
                                       const struct digest *old, const struct digest *now)
{
    char line[64 + 2 * DIGEST_HEX], a[DIGEST_HEX + 1], b[DIGEST_HEX + 1];
    digest_hex(old, a);
    digest_hex(now, b);
    int n = snprintf(line, sizeof line, "%.*s %s %s", (int)size_min(name.n, 32), name.p, a, b);
    bundle_write_line(o, (struct slice){line, (size_t)n});
}

/* Handles the current row, a line of a leaf `redact`. If o is NULL, chooses the leaf if the bundle
 * has the line's record. Otherwise writes the line to the bundle, if the leaf was chosen. *open:
 * number of the leaf whose lines are being written; -1: none. */
static int proof_choose_or_write_redaction(struct proof *p, struct bundle_out *o, sqlite3_stmt *s,
                                           int64_t *open)
{
    struct digest old, now;
    int64_t n = sqlite3_column_int64(s, 0);
    struct slice name = connect_column(s, 1);
    struct proof_leaf *l = NULL;
    for (size_t i = 0; i < p->leaf_n && l == NULL; i++)
        if (p->leaf[i].n == n && p->leaf[i].type == LEAF_REDACT)
            l = &p->leaf[i];
    if (o == NULL) {
        bool has = proof_has_record(p, name, n);
        if (has && l == NULL)
            return proof_set_error(p,
                                   "the session was redacted after the checkpoint of %lld leaves; "
                                   "run: mcp-interposer audit checkpoint",
                                   (long long)p->size);
        if (has)
            l->wanted = true;
        return 0;
    }
    if (l == NULL || !l->wanted)
        return 0;
    if (!commitment_read_digest(s, 2, &old) || !commitment_read_digest(s, 3, &now))
        return proof_set_error(p, "a redacted record has no commitment; run: mcp-interposer audit "
                                  "verify");
    if (*open != n) {
        if (*open >= 0)
            bundle_end_redaction(o);
        bundle_begin_redaction(o, (uint64_t)n);
        *open = n;
    }
    proof_write_redaction_line(o, name, &old, &now);
    return 0;
}

int proof_add_redactions(struct proof *p, struct bundle_out *o)
{
    int64_t open = -1;
    int rc = SQLITE_DONE, st = 0;
    sqlite3_stmt *s = proof_prepare_statement(p, lines_sql, p->what->session_id);
    while (st == 0 && (rc = sqlite3_step(s)) == SQLITE_ROW)
        st = proof_choose_or_write_redaction(p, o, s, &open);
    if (open >= 0)
        bundle_end_redaction(o);
    int read = proof_finish_statement(p, s, rc);
    return read < 0 ? read : st;
}
