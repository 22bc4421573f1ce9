#include "vault/proof/proof_state.h"

#include "vault/store/commitment.h"
#include "vault/store/connect.h"

#include <stdlib.h>

/* Selects the first commitment of a record. If the record was redacted later, the table `replaced`
 * has it. */
#define FIRST(record, commitment)                                                                  \
    "coalesce((SELECT commitment FROM replaced WHERE session_id = ?1 AND record = " record         \
    " ORDER BY leaf LIMIT 1), " commitment ")"

static int proof_refuse_damaged_session(struct proof *p)
{
    return proof_set_error(p, "records of the session are missing or damaged; run: "
                              "mcp-interposer audit verify");
}

/* Sets the record at this position of the tree, and reads the record's commitment from a column. */
static int proof_set_record_commitment(struct proof *p, sqlite3_stmt *s, int column, uint64_t place,
                                       int64_t row)
{
    p->row[place].row = row;
    return commitment_read_digest(s, column, &p->commitment[place])
               ? 0
               : proof_refuse_damaged_session(p);
}

static int proof_read_session_commitment(struct proof *p)
{
    sqlite3_stmt *s = proof_prepare_statement(
        p, "SELECT " FIRST("'session'", "s.commitment") " FROM sessions s WHERE id = ?1",
        p->what->session_id);
    int rc = sqlite3_step(s);
    int st = rc == SQLITE_ROW ? proof_set_record_commitment(p, s, 0, 0, 0)
                              : proof_refuse_damaged_session(p);
    int read = proof_finish_statement(p, s, rc);
    return read < 0 ? read : st;
}

static int proof_read_event_commitments(struct proof *p)
{
    /* clang-format off */
    static const char sql[] = "SELECT id, place, " FIRST("'event ' || place", "e.commitment")
                              " FROM events e WHERE session_id = ?1";
    /* clang-format on */
    sqlite3_stmt *s = proof_prepare_statement(p, sql, p->what->session_id);
    int rc, st = 0;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW && st == 0) {
        int64_t place = sqlite3_column_int64(s, 1);
        if (place <= 0)
            st = proof_refuse_damaged_session(p);
        else if ((uint64_t)place < p->records)
            st = proof_set_record_commitment(p, s, 2, (uint64_t)place, -sqlite3_column_int64(s, 0));
    }
    int read = proof_finish_statement(p, s, rc);
    return read < 0 ? read : st;
}

/* Reads the commitments of messages. In the tree, the session and each event have their own
 * positions. All other positions belong to the messages, in the order of seq. */
static int proof_read_message_commitments(struct proof *p)
{
    /* clang-format off */
    static const char sql[] = "SELECT seq, " FIRST("'message ' || seq", "m.commitment")
                              " FROM messages m WHERE id BETWEEN ?1 << 36"
                              " AND (?1 << 36) + 68719476735 ORDER BY id";
    /* clang-format on */
    sqlite3_stmt *s = proof_prepare_statement(p, sql, p->what->session_id);
    uint64_t place = 1;
    int rc = SQLITE_DONE, st = 0;
    while (st == 0) {
        while (place < p->records && p->row[place].row != 0)
            place++;
        if (place >= p->records || (rc = sqlite3_step(s)) != SQLITE_ROW)
            break;
        st = proof_set_record_commitment(p, s, 1, place, sqlite3_column_int64(s, 0));
    }
    int read = proof_finish_statement(p, s, rc);
    if (read < 0 || st < 0)
        return read < 0 ? read : st;
    return place < p->records ? proof_refuse_damaged_session(p) : 0;
}

/* ---- the records of the bundle -------------------------------------------------------------- */

/* Chooses the message with p->what->seq, and all messages of the same request. */
static int proof_choose_call_messages(struct proof *p)
{
    static const char sql[] =
        "WITH r(seq) AS (SELECT coalesce(request_seq, seq) FROM messages"
        " WHERE id = (?1 << 36) + ?2)"
        " SELECT m.seq FROM messages m, r WHERE m.id BETWEEN ?1 << 36 AND (?1 << 36) + 68719476735"
        " AND (m.seq = ?2 OR m.seq = r.seq OR m.request_seq = r.seq)";
    sqlite3_stmt *s = proof_prepare_statement(p, sql, p->what->session_id);
    sqlite3_bind_int64(s, 2, p->what->seq);
    int rc, st = 0;
    bool any = false;
    while (st == 0 && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        int64_t seq = sqlite3_column_int64(s, 0);
        uint64_t i = 0;
        while (i < p->records && p->row[i].row != seq)
            i++;
        if (seq > 0 && i < p->records)
            p->row[i].wanted = true;
        else
            st = proof_refuse_damaged_session(p);
        any = true;
    }
    int read = proof_finish_statement(p, s, st == 0 ? rc : SQLITE_DONE);
    if (read < 0 || st < 0)
        return read < 0 ? read : st;
    return any ? 0 : proof_set_error(p, "the session has no message %lld", (long long)p->what->seq);
}

int proof_choose_records(struct proof *p)
{
    if (p->records == 0 || p->records > INT32_MAX)
        return proof_refuse_damaged_session(p);
    p->commitment = calloc(p->records, sizeof *p->commitment);
    p->row = calloc(p->records, sizeof *p->row);
    if (p->commitment == NULL || p->row == NULL)
        return MI_ENOMEM;
    int st = proof_read_session_commitment(p);
    if (st == 0)
        st = proof_read_event_commitments(p);
    if (st == 0)
        st = proof_read_message_commitments(p);
    if (st < 0)
        return st;
    p->row[0].wanted = true;
    if (p->what->seq != 0)
        return proof_choose_call_messages(p);
    for (uint64_t i = 0; i < p->records; i++)
        p->row[i].wanted = true;
    return 0;
}
