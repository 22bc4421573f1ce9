#include "vault/audit/session_audit.h"

#include "base/grow.h"
#include "base/text.h"
#include "vault/store/commitment.h"
#include "vault/store/connect.h"
#include "vault/store/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* number of messages that `prune` removes in one transaction: the same as PRUNE_ROWS
 * (vault/upkeep/prune/remove.h), which must not be reduced */
#define PRUNED_AT_ONCE 200

bool session_audit_has_evidence(const struct session_audit *c)
{
    return c->id < 1 || c->id > c->trail->after || c->log.opened;
}

bool session_audit_can_be_verified(const struct session_audit *c)
{
    return session_audit_has_evidence(c) && !c->log.pruned;
}

void session_audit_open(struct session_audit *c, struct snapshot *source, struct trail *trail)
{
    *c = (struct session_audit){.source = source, .trail = trail, .body_fd = -1};
    session_audit_close(c);
}

void session_audit_close(struct session_audit *c)
{
    struct session_audit empty = {.source = c->source,
                                  .trail = c->trail,
                                  .progress = c->progress,
                                  .ctx = c->ctx,
                                  .body_fd = -1,
                                  .class = SESSION_FAULT_NONE,
                                  .log = {.seals = TRAIL_NONE, .redactions = TRAIL_NONE}};
    if (c->body_fd >= 0)
        close(c->body_fd);
    buf_close(&c->name);
    buf_close(&c->host);
    buf_close(&c->tree);
    buf_close(&c->end_reason);
    old_commitments_close(&c->old_commitments);
    findings_close(&c->findings);
    call_audit_close(&c->calls);
    free(c->event);
    free(c->seal);
    *c = empty;
}

/* ---- the session's row and the log ---------------------------------------------------------- */

/* Compares a record with its commitment; both are columns of the session's row, from column i on.
 * *ret: the stored commitment. */
static void session_audit_check_row_record(struct session_audit *c, sqlite3_stmt *q, int i,
                                           enum bundle_kind kind, struct digest *ret)
{
    const char *record = bundle_shape[kind].name;
    struct salt salt;
    if (!commitment_read_salt(q, i, &salt) || !commitment_read_digest(q, i + 1, ret)) {
        SESSION_AUDIT_ADD_FAULT(c, SESSION_FAULT_RECORD, AUDIT_CHANGED, record,
                                "the record has no salt or no commitment");
        return;
    }
    struct digest is = commitment_compute_from_row(q, i + 2, kind, &salt);
    if (!digest_eq(&is, ret))
        SESSION_AUDIT_ADD_FAULT(c, SESSION_FAULT_RECORD, AUDIT_CHANGED, record,
                                "the record does not agree with its commitment");
}

/* Stores end_reason as JSON without quotes, as leaves do. */
static void session_audit_set_end_reason(struct session_audit *c, struct slice reason)
{
    struct buf json = {0};
    c->has_end_reason = reason.p != NULL;
    if (reason.p == NULL)
        return;
    c->killed = slice_is(reason, "killed");
    text_append_json(&json, reason);
    if (json.n >= 2)
        buf_add(&c->end_reason, json.p + 1, json.n - 2);
    c->end_reason.failed |= json.failed;
    buf_close(&json);
}

static int session_audit_read_session_row(struct session_audit *c, sqlite3_stmt *q)
{
    enum { ENDED_AT = SESSION_END_SALT + 2 + BUNDLE_END_ended_at_us };
    struct slice uid = connect_column(q, SESSION_SALT + 2);
    struct trail_session *log = uid.p != NULL ? trail_find_session(c->trail, uid) : NULL;
    snprintf(c->uid, sizeof c->uid, "%.*s", (int)size_min(uid.n, UID_LEN),
             uid.p != NULL ? uid.p : "");
    buf_slice_add(&c->name, connect_column(q, SESSION_NAME));
    buf_slice_add(&c->host, connect_column(q, SESSION_HOST));
    c->started_at_us = sqlite3_column_int64(q, SESSION_STARTED);
    if (log != NULL) {
        log->met |= log->opened;
        c->log = *log;
    }
    c->ended = sqlite3_column_type(q, ENDED_AT) != SQLITE_NULL;
    session_audit_set_end_reason(c, connect_column(q, ENDED_AT + 1));
    if (!session_audit_can_be_verified(c))
        return c->name.failed || c->host.failed ? MI_ENOMEM : 0;
    c->has_records = sqlite3_column_type(q, SESSION_RECORDS) == SQLITE_INTEGER;
    c->records = sqlite3_column_int64(q, SESSION_RECORDS);
    c->has_tree = sqlite3_column_type(q, SESSION_TREE) == SQLITE_BLOB;
    buf_slice_add(&c->tree, connect_column(q, SESSION_TREE));
    session_audit_check_row_record(c, q, SESSION_SALT, BUNDLE_SESSION, &c->session);
    if (c->ended)
        session_audit_check_row_record(c, q, SESSION_END_SALT, BUNDLE_END, &c->end);
    c->has_end = sqlite3_column_type(q, SESSION_END_SALT + 1) != SQLITE_NULL;
    return c->name.failed || c->host.failed || c->tree.failed || c->end_reason.failed ? MI_ENOMEM
                                                                                      : 0;
}

static int compare_seals_by_record_count(const void *a, const void *b)
{
    const struct session_audit_seal *x = a, *y = b;
    return (x->records > y->records) - (x->records < y->records);
}

static int session_audit_collect_seals(struct session_audit *c)
{
    const struct trail_leaf *leaf = c->trail->leaf;
    for (size_t i = c->log.seals; i != TRAIL_NONE; i = leaf[i].before) {
        if (!GROW(c->seal, c->seal_n, c->seal_cap))
            return MI_ENOMEM;
        c->seal[c->seal_n++] = (struct session_audit_seal){leaf[i].records, leaf[i].root};
    }
    if (c->seal_n > 1)
        qsort(c->seal, c->seal_n, sizeof *c->seal, compare_seals_by_record_count);
    return 0;
}

/* Compares the session's row with the session's leaves. */
static void session_audit_compare_row_with_log(struct session_audit *c)
{
    bool sealed = c->log.seals != TRAIL_NONE;
    if (!c->log.opened)
        SESSION_AUDIT_ADD_FAULT(c, SESSION_FAULT_LOG, AUDIT_ADDED, "",
                                "the log does not open the session");
    else if (c->log.id != c->id)
        SESSION_AUDIT_ADD_FAULT(c, SESSION_FAULT_LOG, AUDIT_CHANGED, "session",
                                "the log opened the session as session %lld", (long long)c->log.id);
    else if (c->ended && !sealed)
        SESSION_AUDIT_ADD_FAULT(c, SESSION_FAULT_LOG, AUDIT_REMOVED, "",
                                "the session has ended, but the log has no seal of the session");
    else if (!c->ended && sealed)
        SESSION_AUDIT_ADD_FAULT(
            c, SESSION_FAULT_LOG, AUDIT_CHANGED, "end",
            "the log has a seal of the session, but the session's row says that the "
            "session has not ended");
}

/* Reads new leaves and the session's row. MI_ENOENT: the session has no row. */
static int session_audit_load_session(struct session_audit *c)
{
    sqlite3_stmt *q;
    int st = trail_read_new_leaves(c->trail, c->source);
    if (st == 0)
        st = snapshot_begin_query(c->source, SNAPSHOT_SESSION, c->id, 0, &q);
    if (st < 0)
        return st;
    int rc = sqlite3_step(q);
    st = rc == SQLITE_ROW    ? session_audit_read_session_row(c, q)
         : rc == SQLITE_DONE ? MI_ENOENT
                             : 0;
    int done = db_finish_statement(&c->source->d, q, rc);
    if (st == 0 && done == 0 && session_audit_can_be_verified(c)) {
        session_audit_compare_row_with_log(c);
        st = session_audit_collect_seals(c);
        if (st == 0)
            st = call_audit_begin_session(&c->calls, c->source, c->id);
    }
    return done < 0 ? done : st;
}

/* ---- after the records ---------------------------------------------------------------------- */

static const struct trail_leaf *session_audit_get_last_seal(const struct session_audit *c)
{
    return c->log.seals != TRAIL_NONE ? &c->trail->leaf[c->log.seals] : NULL;
}

static void session_audit_compare_record_count(struct session_audit *c)
{
    const struct trail_leaf *seal = session_audit_get_last_seal(c);
    int64_t n = 1 + c->messages + (int64_t)c->event_n;
    int64_t wanted = seal != NULL ? seal->records : c->records;
    char missing[32] = "";
    if (c->gap > 0 && !c->gaps)
        snprintf(missing, sizeof missing, "message %lld", (long long)c->gap);
    if (seal == NULL && !c->has_records)
        SESSION_AUDIT_ADD_FAULT(c, SESSION_FAULT_ROW, AUDIT_CHANGED, "session",
                                "the session's row has no number of records");
    else if (n < wanted)
        SESSION_AUDIT_ADD_FAULT(c, SESSION_FAULT_REMOVED, AUDIT_REMOVED, missing,
                                "%s%lld of the session's %lld records are left",
                                missing[0] != '\0' ? "the message is missing: " : "", (long long)n,
                                (long long)wanted);
    else if (n > wanted)
        SESSION_AUDIT_ADD_FAULT(c, SESSION_FAULT_ADDED, AUDIT_ADDED, "",
                                "the session has %lld records, but %lld were recorded",
                                (long long)n, (long long)wanted);
    else if (!c->has_records || c->records != n)
        SESSION_AUDIT_ADD_FAULT(c, SESSION_FAULT_ADDED, AUDIT_CHANGED, "session",
                                "the session's row states another number of records");
    if (c->event_at < c->event_n) {
        char record[32];
        c->displaced = true;
        snprintf(record, sizeof record, "event %lld", (long long)c->event[c->event_at].place);
        SESSION_AUDIT_ADD_FAULT(c, SESSION_FAULT_MOVED, AUDIT_MOVED, record,
                                "the record has an impossible place");
    }
}

static int session_audit_compare_tree(struct session_audit *c)
{
    struct buf tree = {0};
    if (c->seal_at < c->seal_n)
        SESSION_AUDIT_ADD_FAULT(c, SESSION_FAULT_TREE, AUDIT_EXCHANGED, "",
                                "a seal states %lld records, but the session has %lld",
                                (long long)c->seal[c->seal_at].records, (long long)c->places.n);
    tree_append_roots(&c->places.groups, &tree);
    if (!c->has_tree || !slice_eq(buf_slice(&tree), buf_slice(&c->tree)))
        SESSION_AUDIT_ADD_FAULT(
            c, SESSION_FAULT_TREE, c->seal_n > 0 ? AUDIT_CHANGED : AUDIT_EXCHANGED, "",
            "the session's records are not those of the tree in the session's row");
    int st = tree.failed ? MI_ENOMEM : 0;
    buf_close(&tree);
    return st;
}

static void session_audit_compare_end_record(struct session_audit *c)
{
    const struct trail_leaf *seal = session_audit_get_last_seal(c);
    if (!c->ended) {
        if (c->has_end)
            SESSION_AUDIT_ADD_FAULT(c, SESSION_FAULT_END, AUDIT_CHANGED, "end",
                                    "the record exists, but the session has not ended");
        return;
    }
    if (seal == NULL)
        return;
    struct digest sealed =
        old_commitments_find_at_leaf(&c->old_commitments, "end", seal->n, &c->end);
    struct slice reason = buf_slice(&c->end_reason);
    reason.n = size_min(reason.n, sizeof seal->end - 1);
    if (!digest_eq(&sealed, &seal->digest))
        SESSION_AUDIT_ADD_FAULT(c, SESSION_FAULT_END, AUDIT_EXCHANGED, "end",
                                "the record is not the one that was sealed");
    else if (c->has_end_reason != seal->has_end || (seal->has_end && !slice_is(reason, seal->end)))
        SESSION_AUDIT_ADD_FAULT(c, SESSION_FAULT_END, AUDIT_CHANGED, "end",
                                "the seal states another reason of the end");
}

/* Makes the comparisons that need all records of the session. first: first commitment of the record
 * `session`. */
static int session_audit_compare_all_records(struct session_audit *c, const struct digest *first)
{
    struct audit_wrong w = {AUDIT_NOTHING, "", ""};
    const struct finding_added *left = findings_find_one_without_message(&c->findings);
    session_audit_compare_record_count(c);
    if (left != NULL) {
        char record[32];
        snprintf(record, sizeof record, "event %lld", (long long)left->place);
        SESSION_AUDIT_ADD_FAULT(c, SESSION_FAULT_REDACTION, AUDIT_CHANGED, record,
                                "the record adds a finding to a message that does not exist");
    }
    if (c->ended)
        (void)old_commitments_find_first(&c->old_commitments, "end", &c->end);
    int st = old_commitments_compare_with_log(&c->old_commitments, c->trail, c->log.redactions, &w);
    if (w.kind != AUDIT_NOTHING)
        session_audit_add_fault(c, SESSION_FAULT_REDACTION, &w);
    if (!digest_eq(first, &c->log.commitment))
        SESSION_AUDIT_ADD_FAULT(c, SESSION_FAULT_OPENED, AUDIT_EXCHANGED, "session",
                                "the record is not the one with which the log opened the session");
    if (st == 0)
        st = session_audit_compare_tree(c);
    session_audit_compare_end_record(c);
    return st;
}

static int session_audit_check_records(struct session_audit *c)
{
    int st = old_commitments_load_rows(&c->old_commitments, c->source, c->id);
    struct digest first = old_commitments_find_first(&c->old_commitments, "session", &c->session);
    walk_add_commitment(c, &first);
    if (st == 0)
        st = session_audit_check_events(c);
    if (st == 0)
        st = session_audit_check_messages(c);
    if (st == 0)
        st = call_audit_compare_remaining_rows(&c->calls, c->source, c->ended, c->messages);
    if (c->calls.wrong.kind != AUDIT_NOTHING)
        session_audit_add_fault(c, SESSION_FAULT_CALLS, &c->calls.wrong);
    return st == 0 ? session_audit_compare_all_records(c, &first) : st;
}

/* Reports a session that is removed according to the log, but whose first messages or whose row is
 * still there. `prune` adds the leaf in the transaction that removes the first messages, and
 * removes the session's row together with the last messages. */
static int session_audit_check_removal(struct session_audit *c)
{
    int64_t first;
    bool has;
    int st = snapshot_read_number(c->source, SNAPSHOT_FIRST, c->id, &has, &first);
    if (st == 0 && (!has || first <= schema_message_id(c->id, PRUNED_AT_ONCE)))
        SESSION_AUDIT_ADD_FAULT(
            c, SESSION_FAULT_LOG, AUDIT_ADDED, "",
            "the log says that the session was removed, but the session exists");
    return st;
}

/* Reads and compares the session once; in one transaction if *whole is true. Sets *whole to true if
 * the session has not ended. */
static int session_audit_check_session_once(struct session_audit *c, int64_t id, bool *whole)
{
    session_audit_close(c);
    c->id = id;
    int st = db_begin(&c->source->d);
    if (st < 0)
        return st;
    st = session_audit_load_session(c);
    *whole |= st == 0 && !c->ended;
    if (!*whole)
        st = db_end(&c->source->d, st);
    if (st == 0 && session_audit_can_be_verified(c))
        st = session_audit_check_records(c);
    else if (st == 0 && c->log.opened)
        st = session_audit_check_removal(c);
    return *whole ? db_end(&c->source->d, st) : st;
}

int session_audit_check_session(struct session_audit *c, int64_t id)
{
    bool whole = false;
    int st = session_audit_check_session_once(c, id, &whole);
    if (st < 0 || whole || c->class == SESSION_FAULT_NONE)
        return st;
    whole = true;
    return session_audit_check_session_once(c, id, &whole);
}
