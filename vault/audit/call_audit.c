#include "vault/audit/call_audit.h"

#include "vault/audit/trail.h"
#include "vault/store/call_fill.h"
#include "vault/store/schema.h"

#include <stdio.h>

int call_audit_begin_session(struct call_audit *x, struct snapshot *s, int64_t session_id)
{
    int64_t version, calls;
    bool has = false;
    *x = (struct call_audit){.id = session_id};
    if (schema_version(s->d.db, &version) < 0)
        return db_fail(&s->d);
    x->has_table = version >= SCHEMA_CALLS;
    int st = x->has_table ? snapshot_read_number(s, SNAPSHOT_FILLED, session_id, &has, &calls) : 0;
    x->filled = has && calls == 1;
    return st;
}

void call_audit_close(struct call_audit *x)
{
    call_set_close(&x->set);
    *x = (struct call_audit){0};
}

int call_audit_add_message(struct call_audit *x, const struct call_message *m)
{
    struct call *call;
    int64_t seq;
    if (!x->filled)
        return 0;
    x->read = m->seq;
    int step = call_set_add_message(&x->set, m, &call, &seq);
    return step < 0 ? step : 0;
}

static void call_audit_set_fault(struct call_audit *x, enum audit_kind kind, int64_t seq,
                                 const char *text)
{
    char record[32];
    snprintf(record, sizeof record, "call %lld", (long long)seq);
    if (x->wrong.kind == AUDIT_NOTHING)
        audit_set_fault(&x->wrong, kind, record, "%s", text);
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* The columns of SNAPSHOT_CALLS are the id, then the fields. */
static bool call_audit_row_equals_call(sqlite3_stmt *q, const struct call *c)
{
    for (size_t i = 0; i < fields_of_call.n; i++) {
        struct cell is = db_get_cell(q, (int)i + 1), want = field_get(&fields_of_call.list[i], c);
        if (is.type != want.type || is.number != want.number || !slice_eq(is.text, want.text))
            return false;
    }
    return true;
}

/* Removes the next call from x->set if its seq is at most `to`, and returns this call; NULL if
 * there is no such call. */
static const struct call *call_audit_take_next_call(struct call_audit *x, int64_t to)
{
    const struct call_set *s = &x->set;
    return s->first < s->n && s->call[s->first].seq <= to
               ? call_set_take_next_ended_call(&x->set, true)
               : NULL;
}

/* Compares the calls from seq x->from to seq `to` with their rows. */
static int call_audit_compare_rows(struct call_audit *x, struct snapshot *s, int64_t to)
{
    sqlite3_stmt *q;
    int st = snapshot_begin_query(s, SNAPSHOT_CALLS, schema_message_id(x->id, (uint64_t)x->from),
                                  schema_message_id(x->id, (uint64_t)to), &q);
    if (st < 0)
        return st;
    const struct call *c = call_audit_take_next_call(x, to);
    int rc;
    while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
        int64_t seq = sqlite3_column_int64(q, 0) & SCHEMA_SEQ_MAX;
        for (; c != NULL && c->seq < seq; c = call_audit_take_next_call(x, to))
            call_audit_set_fault(x, AUDIT_REMOVED, c->seq,
                                 "the call's row in the table calls is missing");
        if (c == NULL || c->seq > seq) {
            call_audit_set_fault(x, AUDIT_ADDED, seq,
                                 "the table calls has it, and no message is its request");
            continue;
        }
        if (!call_audit_row_equals_call(q, c))
            call_audit_set_fault(
                x, AUDIT_CHANGED, seq,
                "the call's row in the table calls is not what the call's messages say");
        c = call_audit_take_next_call(x, to);
    }
    for (; c != NULL; c = call_audit_take_next_call(x, to))
        call_audit_set_fault(x, AUDIT_REMOVED, c->seq,
                             "the call's row in the table calls is missing");
    return db_finish_statement(&s->d, q, rc);
}

/* Compares rows up to seq `to`, in a transaction of its own unless the caller has opened one. */
static int call_audit_compare_rows_up_to_seq(struct call_audit *x, struct snapshot *s, int64_t to)
{
    int st = to >= x->from ? db_begin(&s->d) : 0;
    if (st < 0 || to < x->from)
        return st;
    st = db_end(&s->d, call_audit_compare_rows(x, s, to));
    x->from = to + 1;
    if (x->set.first == x->set.n)
        call_set_clear(&x->set);
    return st;
}

int call_audit_compare_finished_calls(struct call_audit *x, struct snapshot *s)
{
    const struct call_set *set = &x->set;
    size_t i = set->first;
    while (i < set->n && set->call[i].closing_seq != 0)
        i++;
    return x->filled ? call_audit_compare_rows_up_to_seq(
                           x, s, i < set->n ? set->call[i].seq - 1 : x->read)
                     : 0;
}

/* Reports rows in the table `calls` if the calls of the session were not written completely. Such
 * rows are allowed only in a long session that has ended: its calls are written in several
 * transactions, those of other sessions in one. */
static int call_audit_report_unfilled_rows(struct call_audit *x, struct snapshot *s, bool ended,
                                           int64_t messages)
{
    bool has = false;
    int64_t first;
    if (!x->has_table || (ended && messages > CALL_FILL_MESSAGES))
        return 0;
    int st = snapshot_read_number(s, SNAPSHOT_FIRST_CALL, x->id, &has, &first);
    if (st == 0 && has)
        call_audit_set_fault(
            x, AUDIT_ADDED, first & SCHEMA_SEQ_MAX,
            "the table calls has the call, but the session's row says that the table "
            "has none of its calls");
    return st;
}

int call_audit_compare_remaining_rows(struct call_audit *x, struct snapshot *s, bool ended,
                                      int64_t messages)
{
    return x->filled ? call_audit_compare_rows_up_to_seq(x, s, SCHEMA_SEQ_MAX)
                     : call_audit_report_unfilled_rows(x, s, ended, messages);
}
