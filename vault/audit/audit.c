#include "vault/audit/audit.h"

#include "base/clock.h"
#include "base/search.h"
#include "vault/audit/session_audit.h"
#include "vault/audit/signed.h"
#include "vault/store/connect.h"
#include "vault/store/layout.h"
#include "vault/store/running.h"
#include "vault/store/schema.h"

#include <stdio.h>
#include <stdlib.h>

#define LOOK_US 100000 /* minimum time between two readings of the table `running` */

struct audit {
    struct audit_calls calls;
    const char *path; /* borrowed */
    struct buf error;
    struct snapshot source;
    struct trail trail;
    struct signed_notes notes;
    struct session_audit check;
    struct running_list running;
    int64_t looked_us; /* time of the last reading of the table `running` */
    int64_t version;   /* version of the database's schema */
    bool has_log;
    bool trusted; /* true: a leaf `key` of the log states the key that the user gave */
    bool all;     /* true: audit_check_sessions() was called */
    bool stopped; /* true: the database is damaged or misleading, so nothing else is compared */
    char origin[TRAIL_ORIGIN];
    uint64_t anchored;              /* number of leaves that a signed note from an anchor covers */
    uint64_t signed_leaves;         /* number of leaves that a valid signed note covers */
    int64_t wrong;                  /* number of faults in the log or in the vault as a whole */
    uint64_t records, bytes, total; /* numbers for the progress display */
};

static void audit_on_fault(void *ctx, const struct audit_wrong *w)
{
    struct audit *a = ctx;
    a->wrong++;
    a->calls.on_wrong(a->calls.ctx, w);
}

static void audit_on_progress(void *ctx, uint64_t records, uint64_t bytes)
{
    struct audit *a = ctx;
    a->records += records;
    a->bytes += bytes;
    if (a->calls.on_progress != NULL)
        a->calls.on_progress(a->calls.ctx, a->records, a->total, a->bytes);
}

#define SAY_VAULT(a, ...)                                                                          \
    do {                                                                                           \
        struct audit_wrong said_;                                                                  \
        audit_set_fault(&said_, __VA_ARGS__);                                                      \
        audit_on_fault(a, &said_);                                                                 \
    } while (0)

/* Reads the origin from the first leaf of the log. */
static int audit_read_log_origin(struct audit *a)
{
    sqlite3_stmt *q;
    struct leaf l;
    int rc, st = db_begin(&a->source.d);
    if (st < 0)
        return st;
    st = snapshot_begin_query(&a->source, SNAPSHOT_LEAVES, -1, 0, &q);
    if (st == 0) {
        rc = sqlite3_step(q);
        if (rc == SQLITE_ROW && leaf_read(connect_column(q, 1), &l) == 0 && l.type == LEAF_BEGIN)
            snprintf(a->origin, sizeof a->origin, CHECKPOINT_ORIGIN "%.*s", (int)l.uid.n, l.uid.p);
        st = db_finish_statement(&a->source.d, q, rc);
    }
    return db_end(&a->source.d, st);
}

struct slice audit_get_log_origin(const struct audit *a)
{
    return slice_of(a->origin);
}

/* ---- the database --------------------------------------------------------------------------- */

static void audit_on_layout_fault(void *ctx, const struct layout_fault *f)
{
    static const struct {
        enum audit_kind kind;
        const char *text;
    } what[] = {
        [LAYOUT_ADDED] = {AUDIT_ADDED, "is not one that mcp-interposer makes"},
        [LAYOUT_REMOVED] = {AUDIT_REMOVED, "is missing"},
        [LAYOUT_CHANGED] = {AUDIT_CHANGED, "is not as mcp-interposer makes it"},
    };
    struct audit *a = ctx;
    struct buf name = {0};
    layout_append_object_name(f, &name);
    a->stopped |= f->deceives;
    SAY_VAULT(
        a, what[f->kind].kind, "database", "the %s %s%s", buf_str(&name), what[f->kind].text,
        f->deceives
            ? ": what a statement reads need not be what is stored, so nothing else was compared"
            : "");
    buf_close(&name);
}

static int compare_database_layout(struct audit *a)
{
    int st = db_begin(&a->source.d);
    if (st < 0)
        return st;
    st = layout_compare_objects(a->source.d.db, audit_on_layout_fault, a);
    if (st == 0 && !a->stopped)
        st = schema_has_table(a->source.d.db, "leaves", &a->has_log);
    if (st == 0)
        st = schema_version(a->source.d.db, &a->version);
    if (st == 0 && a->has_log && a->version < SCHEMA_EVIDENCE) {
        a->stopped = true;
        SAY_VAULT(a, AUDIT_CHANGED, "database",
                  "the database has a log, but states an older version");
    }
    return db_end(&a->source.d, st == MI_ESTORE ? db_fail(&a->source.d) : st);
}

/* Reads every page, every index and every value. */
static int check_integrity(struct audit *a)
{
    struct buf found = {0};
    int st = snapshot_check_integrity(&a->source, &found);
    if (st == 0 && found.n > 0) {
        SAY_VAULT(a, AUDIT_DAMAGED, "database", "%s", buf_str(&found));
        a->stopped = true;
    }
    st = found.failed ? MI_ENOMEM : st;
    buf_close(&found);
    return st;
}

int audit_open(struct audit **ret, const char *vault, const struct audit_calls *calls,
               struct buf *error)
{
    struct audit *a = calloc(1, sizeof *a);
    if (a == NULL)
        return MI_ENOMEM;
    *a = (struct audit){.calls = *calls, .path = vault, .running = {.lock = -1}};
    trail_open(&a->trail, audit_on_fault, a);
    int st = snapshot_open(&a->source, vault, &a->error);
    session_audit_open(&a->check, &a->source, &a->trail);
    a->check.progress = audit_on_progress;
    a->check.ctx = a;
    if (st == 0)
        st = compare_database_layout(a);
    if (st == 0 && a->has_log)
        st = audit_read_log_origin(a);
    if (st < 0) {
        buf_adds(error, buf_str(&a->error));
        audit_close(a);
        return st;
    }
    *ret = a;
    return 0;
}

void audit_close(struct audit *a)
{
    if (a == NULL)
        return;
    session_audit_close(&a->check);
    running_list_close(&a->running);
    signed_notes_close(&a->notes);
    trail_close(&a->trail);
    snapshot_close(&a->source);
    buf_close(&a->error);
    free(a);
}

const char *audit_error(struct audit *a)
{
    return a->error.n > 0 && !a->error.failed ? buf_str(&a->error) : "out of memory";
}

int audit_add_note(struct audit *a, struct slice note)
{
    return signed_notes_add_outside_note(&a->notes, &a->trail, note, SIGNED_ANCHOR);
}

int audit_add_local_note(struct audit *a, struct slice note)
{
    return signed_notes_add_outside_note(&a->notes, &a->trail, note, SIGNED_KEPT);
}

static const struct running_row *find_running_row_of_session(const struct audit *a, int64_t id)
{
    const struct running_row *row = a->running.row;
    size_t at = SEARCH_INT64(row, a->running.n, session_id, id);
    return at < a->running.n && row[at].session_id == id ? &row[at] : NULL;
}

static int audit_open_running_list(struct audit *a)
{
    running_list_close(&a->running);
    a->looked_us = clock_mono_us();
    return running_list_open(&a->running, a->path, &a->error);
}

/* ---- the log -------------------------------------------------------------------------------- */

static int audit_read_log(struct audit *a)
{
    int64_t total;
    bool has;
    int st = db_begin(&a->source.d);
    if (st < 0)
        return st;
    st = signed_notes_load(&a->notes, &a->trail, &a->source);
    if (st == 0)
        st = trail_read_new_leaves(&a->trail, &a->source);
    if (st == 0)
        st = snapshot_read_number(&a->source, SNAPSHOT_TOTAL, 0, &has, &total);
    if (st == 0)
        a->total = total > 0 ? (uint64_t)total : 0;
    return db_end(&a->source.d, st);
}

int audit_check_log(struct audit *a, const struct public_key *trusted)
{
    int st = a->stopped ? 0 : check_integrity(a);
    if (st < 0 || a->stopped)
        return st;
    if (!a->has_log) {
        if (a->version >= SCHEMA_EVIDENCE)
            SAY_VAULT(a, AUDIT_REMOVED, "", "the vault has no log");
        else if (a->notes.n > 0 || trusted != NULL)
            SAY_VAULT(a, AUDIT_REMOVED, "", "the vault has no log, and it was signed");
        return 0;
    }
    st = audit_open_running_list(a);
    if (st == 0)
        st = audit_read_log(a);
    if (st < 0)
        return st;
    if (a->trail.last_n < 0)
        SAY_VAULT(a, AUDIT_REMOVED, "", "the log is empty");
    signed_notes_check(&a->notes, &a->trail, &a->anchored, &a->signed_leaves);
    for (size_t i = 0; trusted != NULL && !a->trusted && i < a->trail.key_n; i++)
        a->trusted = key_eq(&a->trail.key[i].key, trusted);
    if (trusted != NULL && !a->trusted)
        SAY_VAULT(a, AUDIT_SIGNATURE, "", "the key that was given is not a key of this vault");
    return 0;
}

void audit_describe_vault(const struct audit *a, struct audit_vault *ret)
{
    const struct trail *t = &a->trail;
    int64_t notes = 0, kept = 0;
    for (size_t i = 0; i < a->notes.n; i++) {
        notes += a->notes.note[i].size == SIGNED_ANCHOR;
        kept += a->notes.note[i].size == SIGNED_KEPT;
    }
    *ret = (struct audit_vault){
        .has_log = a->has_log,
        .all = a->all,
        .trusted = a->trusted,
        .stopped = a->stopped,
        .origin = slice_of(t->origin),
        .leaves = (int64_t)t->tree.n,
        .unsigned_leaves = (int64_t)(t->tree.n - a->signed_leaves),
        .anchored = (int64_t)a->anchored,
        .checkpoints = (int64_t)a->notes.n - notes - kept,
        .notes = notes,
        .kept = kept,
        .wrong = a->wrong,
        .has_key = t->key_n > 0,
    };
    if (t->key_n > 0)
        ret->key = t->key[t->key_n - 1].key;
}

/* ---- sessions ------------------------------------------------------------------------------- */

static const char *explain_incomplete_session(const struct audit *a, const struct running_row *row)
{
    if (a->check.killed)
        return "the proxy was killed: what was not stored yet is missing";
    if (row != NULL && running_row_get_state(&a->running, row) == SESSION_ELSEWHERE)
        return "the session has not ended; it runs, or ran, on another machine or in another "
               "container";
    return "the session has not ended, but its proxy is gone";
}

static int report_session(struct audit *a)
{
    const struct session_audit *c = &a->check;
    const struct trail_leaf *seal =
        c->log.seals != TRAIL_NONE ? &a->trail.leaf[c->log.seals] : NULL;
    struct audit_facts f = {
        .covered = session_audit_has_evidence(c),
        .pruned = c->log.pruned,
        .tampered = c->class != SESSION_FAULT_NONE,
        .sealed = seal != NULL,
        .killed = c->killed,
        .redacted = c->log.redactions != TRAIL_NONE,
        .anchored = seal != NULL && (uint64_t)seal->n < a->anchored,
    };
    /* The session may have begun after the table `running` was read. */
    if (f.covered && seal == NULL && find_running_row_of_session(a, c->id) == NULL &&
        clock_mono_us() - a->looked_us > LOOK_US) {
        int st = audit_open_running_list(a);
        if (st < 0)
            return st;
    }
    const struct running_row *row = find_running_row_of_session(a, c->id);
    f.runs = row != NULL && running_row_get_state(&a->running, row) == SESSION_LIVE;
    struct audit_session s = {
        .id = c->id,
        .uid = slice_of(c->uid),
        .name = buf_slice(&c->name),
        .started_at_us = c->started_at_us,
        .status = audit_decide_status(&f),
        .why = "",
        .records = (int64_t)c->places.n,
        .wrong = c->wrong,
    };
    if (s.status == AUDIT_INCOMPLETE)
        s.why = explain_incomplete_session(a, row);
    else if (s.status == AUDIT_REMOVING)
        s.why = "`prune` has begun to remove it; what is left of it is not verified";
    if (session_audit_can_be_verified(c)) {
        const struct trail_leaf *leaf = c->trail->leaf;
        for (size_t i = c->log.redactions; i != TRAIL_NONE; i = leaf[i].before) {
            s.redacted += leaf[i].records;
            if (leaf[i].at_us > s.redacted_at_us)
                s.redacted_at_us = leaf[i].at_us;
        }
    }
    a->calls.on_session(a->calls.ctx, &s);
    return 0;
}

/* Reports if the row of a message names another session, although the message's id belongs to the
 * session `id`. For verified sessions, walk.c reports such messages. */
static int report_misassigned_messages(struct audit *a, int64_t id)
{
    bool has;
    int64_t other;
    int st = snapshot_read_number(&a->source, SNAPSHOT_FOREIGN, id, &has, &other);
    if (st == 0 && has)
        SAY_VAULT(a, AUDIT_ADDED, "",
                  "the table messages has rows of session %lld with an id of session %lld",
                  (long long)other, (long long)id);
    return st;
}

/* Reports a session of a vault without a log. Such a vault lacks the columns for evidence. */
static int report_session_without_log(struct audit *a, int64_t id)
{
    sqlite3_stmt *q;
    int st = db_begin(&a->source.d);
    if (st < 0)
        return st;
    st = snapshot_begin_query(&a->source, SNAPSHOT_UNCOVERED, id, 0, &q);
    if (st < 0)
        return db_end(&a->source.d, st);
    int rc = sqlite3_step(q);
    if (rc == SQLITE_ROW) {
        struct audit_session s = {.id = id,
                                  .uid = connect_column(q, 0),
                                  .name = connect_column(q, 1),
                                  .started_at_us = sqlite3_column_int64(q, 2),
                                  .status = AUDIT_NOT_COVERED,
                                  .why = "",
                                  .wrong = {.kind = AUDIT_NOTHING}};
        a->calls.on_session(a->calls.ctx, &s);
    }
    st = db_finish_statement(&a->source.d, q, rc);
    return db_end(&a->source.d, st == 0 && rc == SQLITE_DONE ? MI_ENOENT : st);
}

int audit_check_session(struct audit *a, int64_t id)
{
    if (a->stopped)
        return 0;
    if (!a->has_log)
        return report_session_without_log(a, id);
    int st = session_audit_check_session(&a->check, id);
    if (st == 0)
        st = report_session(a);
    if (st == 0 && !session_audit_can_be_verified(&a->check))
        st = report_misassigned_messages(a, id);
    session_audit_close(&a->check);
    return st;
}

/* ---- the whole vault ------------------------------------------------------------------------ */

/* Reports sessions that the log has opened, and that have no row. */
static int report_missing_sessions(struct audit *a)
{
    for (size_t i = 0; i < a->trail.uids.n; i++) {
        const struct trail_session *x = &a->trail.session[i];
        bool has = false;
        int64_t id;
        if (!x->opened || x->pruned || x->met)
            continue;
        int st = snapshot_read_number(&a->source, SNAPSHOT_HAS_SESSION, x->id, &has, &id);
        if (st < 0)
            return st;
        struct slice uid = intern_get_text(&a->trail.uids, (uint32_t)i);
        struct audit_session s = {.uid = uid, .status = AUDIT_TAMPERED, .why = ""};
        audit_set_fault(&s.wrong, AUDIT_REMOVED, "",
                        has ? "session %lld has the number of this session, but another uid"
                            : "session %lld is missing, and no leaf says that it was removed",
                        (long long)x->id);
        a->calls.on_session(a->calls.ctx, &s);
    }
    return 0;
}

/* Reports rows of `table` whose session does not exist. next: the statement that finds the next id.
 * bits 0: this is the id of a session that has rows. Otherwise it is the id of a row, and the
 * session's id is this id >> bits. */
static int report_orphaned_rows(struct audit *a, enum snapshot_sql next, unsigned bits,
                                const char *table)
{
    int64_t from = INT64_MIN, last = INT64_MIN;
    bool more = true, has;
    while (more && last < INT64_MAX) {
        int64_t id, found;
        int st = snapshot_read_number(&a->source, next, from, &more, &id);
        if (st < 0 || !more)
            return st;
        if (id < from)
            return db_fail_damaged(&a->source.d);
        int64_t owner = bits > 0 ? id >> bits : id;
        st = snapshot_read_number(&a->source, SNAPSHOT_HAS_SESSION, owner, &has, &found);
        if (st < 0)
            return st;
        if (!has && (owner < 1 || owner > a->trail.after) &&
            !trail_session_was_pruned(&a->trail, owner))
            SAY_VAULT(a, AUDIT_ADDED, "",
                      "the table %s has rows of session %lld, which does not exist", table,
                      (long long)owner);
        else if (!has && next == SNAPSHOT_MESSAGE_OWNER &&
                 (st = report_misassigned_messages(a, owner)) < 0)
            return st;
        last = bits > 0 ? (int64_t)((uint64_t)owner << bits) + ((int64_t)1 << bits) - 1 : owner;
        from = last < INT64_MAX ? last + 1 : last;
    }
    return 0;
}

/* Reports sessions of the log that have no row, and rows of sessions that do not exist. Uses one
 * transaction, so that no session is added or removed meanwhile. */
static int report_missing_and_orphaned_rows(struct audit *a)
{
    int st = db_begin(&a->source.d);
    if (st < 0)
        return st;
    st = trail_read_new_leaves(&a->trail, &a->source);
    if (st == 0)
        st = report_missing_sessions(a);
    if (st == 0)
        st = trail_sort_pruned_sessions(&a->trail);
    if (st == 0)
        st = report_orphaned_rows(a, SNAPSHOT_MESSAGE_OWNER, SCHEMA_SEQ_BITS, "messages");
    if (st == 0)
        st = report_orphaned_rows(a, SNAPSHOT_EVENT_OWNER, 0, "events");
    if (st == 0)
        st = report_orphaned_rows(a, SNAPSHOT_REPLACED_OWNER, 0, "replaced");
    if (st == 0 && a->version >= SCHEMA_CALLS)
        st = report_orphaned_rows(a, SNAPSHOT_CALL_OWNER, SCHEMA_SEQ_BITS, "calls");
    return db_end(&a->source.d, st);
}

int audit_check_sessions(struct audit *a)
{
    int64_t id = INT64_MIN;
    bool has = !a->stopped;
    a->all = true;
    int st = 0;
    while (st == 0 && has) {
        int64_t before = id;
        st = snapshot_read_number(&a->source, SNAPSHOT_NEXT_SESSION, before, &has, &id);
        if (st == 0 && has && id <= before)
            st = db_fail_damaged(&a->source.d);
        if (st == 0 && has) {
            st = audit_check_session(a, id);
            st = st == MI_ENOENT ? 0 : st;
        }
    }
    return st == 0 && a->has_log && !a->stopped ? report_missing_and_orphaned_rows(a) : st;
}
