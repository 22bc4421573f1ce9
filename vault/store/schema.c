#include "vault/store/schema.h"

#include "base/clock.h"
#include "journal/uid.h"
#include "vault/store/columns.h"
#include "vault/store/connect.h"
#include "vault/store/failure.h"
#include "vault/store/ledger.h"

#include <stdio.h>

/* ---- columns of fields (model/records.h) ---- */

#define SQL_NOT_NULL " NOT NULL"
#define SQL_NO_TEXT
#define SQL_ZERO
#define SQL_MINUS_ONE
#define SQL_UNLESS(flag)
/* Some lists of fields have no argument after `null`. For them, COLUMN passes an additional empty
 * argument, because `...` of COLUMN_ needs one. */
#define COLUMN(name, type, ...) COLUMN_(name, type, __VA_ARGS__, )
#define COLUMN_(name, type, null, ...) ", " #name COLUMN_TYPE(type) SQL_##null
#define FIRST(name, type, null, since, ...)                                                        \
    FIELD_IF(SCHEMA_FIRST_##since)(COLUMN(name, type, null, 0))
#define LAST(name, type, null, since, ...)                                                         \
    FIELD_IF(SCHEMA_LAST_##since)(COLUMN(name, type, null, 0))
#define UNKEYED(name, type, null, since, evidence, cassette, store, ...)                           \
    FIELD_IF(FIELD_FIRST_##store)(COLUMN(name, type, null, 0))
#define ADD(table, name, type) "ALTER TABLE " table " ADD COLUMN " #name COLUMN_TYPE(type) ";"
#define ADD_TO_SESSIONS(name, type, null, since, ...)                                              \
    FIELD_IF(SCHEMA_LAST_##since)(ADD("sessions", name, type))
#define ADD_TO_MESSAGES(name, type, null, since, ...)                                              \
    FIELD_IF(SCHEMA_LAST_##since)(ADD("messages", name, type))
#define ADD_TO_CALLS(name, type, null, since, ...)                                                 \
    FIELD_IF(SCHEMA_NEW_##since)(ADD("calls", name, type))
#define OLD(name, type, null, since, ...) FIELD_IF(SCHEMA_OLD_##since)(COLUMN(name, type, null, 0))

/* The table of the processes of running sessions (vault/store/running.h). */
#define RUNNING                                                                                    \
    "CREATE TABLE running (session_id INTEGER PRIMARY KEY" RUNNING_FIELDS(COLUMN) ") STRICT;"

/* The table of requests and their outcomes. The id of a row is the id of the request's message. */
#define CALLS                                                                                      \
    "CREATE TABLE calls (id INTEGER PRIMARY KEY" CALL_FIELDS(COLUMN)                               \
        CALL_RESERVED_FIELDS(COLUMN) ") STRICT;"
#define CALLS_OF_VERSION_4                                                                         \
    "CREATE TABLE calls (id INTEGER PRIMARY KEY" CALL_FIELDS(COLUMN)                               \
        CALL_RESERVED_FIELDS(OLD) ") STRICT;"

/* The table of operations that took several requests. The id of a row is the id of the operation's
 * first request. */
#define OPERATIONS                                                                                 \
    "CREATE TABLE operations (id INTEGER PRIMARY KEY" OPERATION_FIELDS(COLUMN) ") STRICT;"

/* ---- versions ---- */

/* SQL that makes the tables, the index and the view `closings` of a new database, without the
 * additions (schema.h). In `sessions` and `messages`, the columns that later versions added come
 * last, in the order in which the upgrades below add them. */
/* clang-format off */
static const char tables[] =
    "CREATE TABLE sessions (id INTEGER PRIMARY KEY" SESSION_FIELDS(FIRST)
    ", commitment BLOB, end_salt BLOB, end_commitment BLOB, records INTEGER, tree BLOB,"
    " salt BLOB CHECK (salt IS NOT NULL OR id <= 0)" SESSION_FIELDS(LAST)
    ", calls INTEGER, UNIQUE (uid)) STRICT;"
    "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL"
    MESSAGE_FIELDS(FIRST) ", salt BLOB, commitment BLOB" MESSAGE_FIELDS(LAST) ") STRICT;"
    "CREATE TABLE events (id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL"
    EVENT_FIELDS(UNKEYED) ", place INTEGER, salt BLOB, commitment BLOB) STRICT;"
    "CREATE INDEX events_by_session ON events (session_id, id);"
    /* A message that ends a request: the answer of the server or of the interposer, or the
     * cancellation by the client. */
    "CREATE VIEW closings AS"
    " SELECT * FROM messages WHERE request_seq IS NOT NULL AND action = 'forwarded' AND"
    " (direction = 's2c' AND kind IN ('result', 'error')"
    " OR direction = 'c2s' AND kind = 'notification');" RUNNING CALLS "PRAGMA user_version = 5;";
/* clang-format on */

/* Version 2 adds the table `running` and the redaction rules of a session (redact/sanitizer.h). It
 * also removes the old view `invocations`. The new view excludes requests of the interposer, has
 * the status `timeout`, and is one of the additions. */
static const char version_2[] = "ALTER TABLE sessions ADD COLUMN redact_rules TEXT;"
                                "DROP VIEW invocations;" RUNNING "PRAGMA user_version = 2;";

/* Version 3 adds evidence. Most vaults of version 2 already have the table `journals`, which was
 * added without a new version. */
static const char version_3[] = "ALTER TABLE sessions ADD COLUMN commitment BLOB;"
                                "ALTER TABLE sessions ADD COLUMN end_salt BLOB;"
                                "ALTER TABLE sessions ADD COLUMN end_commitment BLOB;"
                                "ALTER TABLE sessions ADD COLUMN records INTEGER;"
                                "ALTER TABLE sessions ADD COLUMN tree BLOB;"
                                "ALTER TABLE messages ADD COLUMN salt BLOB;"
                                "ALTER TABLE messages ADD COLUMN commitment BLOB;"
                                "ALTER TABLE events ADD COLUMN place INTEGER;"
                                "ALTER TABLE events ADD COLUMN salt BLOB;"
                                "ALTER TABLE events ADD COLUMN commitment BLOB;"
                                "CREATE TABLE IF NOT EXISTS journals ("
                                " session_id INTEGER PRIMARY KEY,"
                                " position INTEGER NOT NULL"
                                ") STRICT;"
                                "ALTER TABLE journals ADD COLUMN records INTEGER;"
                                "ALTER TABLE journals ADD COLUMN tree BLOB;"
                                "PRAGMA user_version = 3;";

/* Version 4 adds the table `calls`, which the view `invocations` reads. The calls of older sessions
 * are added to the table later (vault/store/call_fill.h). */
static const char version_4[] =
    SESSION_FIELDS(ADD_TO_SESSIONS) "ALTER TABLE sessions ADD COLUMN calls INTEGER;" MESSAGE_FIELDS(
        ADD_TO_MESSAGES) CALLS_OF_VERSION_4 "PRAGMA user_version = 4;";

/* Version 5 adds the number and size of images, audio and blobs in a result. The new columns are
 * NULL in rows of older versions. */
static const char version_5[] = CALL_RESERVED_FIELDS(ADD_TO_CALLS) "PRAGMA user_version = 5;";

const char schema_calls[] = CALLS;
const char schema_operations[] = OPERATIONS;

/* steps[N] upgrades version N to N + 1; steps[0] makes a new database. */
static const char *const steps[SCHEMA_VERSION] = {tables, version_2, version_3, version_4,
                                                  version_5};

/* ---- additions ------------------------------------------------------------------------------ */

/* The table `escalations` counts how often each problem in VAULT/Escalations has occurred
 * (vault/store/escalation_rows.h). */
static const char escalations[] =
    "CREATE TABLE IF NOT EXISTS escalations ( id INTEGER PRIMARY KEY" PROBLEM_FIELDS(
        COLUMN) ") STRICT;";

/* The table with the position up to which the journal of each session is stored
 * (writer_store_journal_position()). */
static const char journals[] = "CREATE TABLE journals ("
                               " session_id INTEGER PRIMARY KEY,"
                               " position INTEGER NOT NULL,"
                               " records INTEGER,"
                               " tree BLOB"
                               ") STRICT;";

/* The tables with the progress of sending this vault to other stores (vault/unsent/cursors.h). */
static const char shipped[] = "CREATE TABLE IF NOT EXISTS shipped ("
                              " target TEXT NOT NULL,"
                              " session_id INTEGER NOT NULL,"
                              " seq INTEGER NOT NULL,"
                              " event INTEGER NOT NULL,"
                              " complete INTEGER NOT NULL,"
                              " at_us INTEGER NOT NULL,"
                              " PRIMARY KEY (session_id, target)"
                              ") STRICT, WITHOUT ROWID;";
static const char ship_targets[] = "CREATE TABLE IF NOT EXISTS ship_targets ("
                                   " target TEXT PRIMARY KEY,"
                                   " tried_at_us INTEGER NOT NULL,"
                                   " sent_at_us INTEGER,"
                                   " leaves INTEGER NOT NULL,"
                                   " error TEXT"
                                   ") STRICT;";
/* The tables of the evidence: the log (`leaves`), its checkpoints, and replaced commitments. If
 * somebody has removed the log, recording continues, and verification reports the removal. */
static const char log_tables[] =
    "CREATE TABLE IF NOT EXISTS leaves (n INTEGER PRIMARY KEY, leaf TEXT NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS checkpoints ("
    " size INTEGER PRIMARY KEY,"
    " at_us INTEGER NOT NULL,"
    " note TEXT NOT NULL"
    ") STRICT;"
    "CREATE TABLE IF NOT EXISTS replaced ("
    " session_id INTEGER NOT NULL,"
    " record TEXT NOT NULL,"
    " leaf INTEGER NOT NULL,"
    " commitment BLOB NOT NULL,"
    " PRIMARY KEY (session_id, record, leaf)"
    ") STRICT, WITHOUT ROWID;";

/* For sessions whose calls are complete, the view reads the table `calls`; for other sessions, it
 * reads messages, as in earlier versions. CROSS JOIN makes SQLite read the sessions first, then the
 * messages of each of them. So no message is read if all sessions have their calls. */
static const char invocations[] =
    "DROP VIEW IF EXISTS invocations;"
    "CREATE VIEW invocations AS"
    " SELECT c.id >> 36 AS session_id, c.id & 68719476735 AS request_seq,"
    " CASE WHEN c.response_size IS NOT NULL THEN c.closing_seq END AS response_seq,"
    " c.method AS method, c.target AS target, c.status AS status, c.error_code AS error_code,"
    " s.started_at_us + c.t_us AS started_at_us, c.duration_us AS duration_us,"
    " c.request_size AS request_size, c.response_size AS response_size"
    " FROM calls c JOIN sessions s ON s.id = c.id >> 36"
    " WHERE s.calls IS 1 AND c.direction = 'c2s' AND c.origin = 'peer'"
    " UNION ALL"
    " SELECT q.session_id, q.seq, CASE WHEN c.kind <> 'notification' THEN c.seq END,"
    " q.method, q.target,"
    " CASE WHEN q.action = 'refused' THEN 'refused'"
    " WHEN c.kind = 'notification' THEN 'cancelled'"
    " WHEN c.origin = 'interposer' AND c.finding LIKE '%server-gone%' THEN 'server-gone'"
    " WHEN c.origin = 'interposer' AND c.finding LIKE '%interrupted%' THEN 'interrupted'"
    " WHEN c.origin = 'interposer' AND c.finding LIKE '%timeout%' THEN 'timeout'"
    " WHEN c.kind = 'error' THEN 'error'"
    " WHEN c.finding LIKE '%tool-error%' THEN 'tool-error'"
    " ELSE 'ok' END,"
    " c.error_code, s.started_at_us + q.t_us, c.t_us - q.t_us, q.size,"
    " CASE WHEN c.kind <> 'notification' THEN c.size END"
    " FROM sessions s CROSS JOIN closings c CROSS JOIN messages q"
    " WHERE s.calls IS NOT 1 AND c.id BETWEEN s.id << 36 AND (s.id << 36) + 68719476735"
    " AND q.id = (s.id << 36) + c.request_seq"
    " AND q.kind = 'request' AND q.direction = 'c2s' AND q.origin = 'peer'"
    " UNION ALL"
    " SELECT q.session_id, q.seq, NULL, q.method, q.target, 'open', NULL,"
    " s.started_at_us + q.t_us, NULL, q.size, NULL"
    " FROM sessions s CROSS JOIN messages q"
    " WHERE s.calls IS NOT 1 AND q.id BETWEEN s.id << 36 AND (s.id << 36) + 68719476735"
    " AND q.kind = 'request' AND q.direction = 'c2s' AND q.origin = 'peer'"
    " AND q.action = 'forwarded'"
    " AND q.id NOT IN (SELECT (t.id << 36) + c.request_seq FROM sessions t CROSS JOIN closings c"
    " WHERE t.calls IS NOT 1 AND c.id BETWEEN t.id << 36 AND (t.id << 36) + 68719476735);";

/* An addition is missing if the object `name` does not exist or its SQL does not contain `word`. A
 * later program may extend an object, but must keep the word in its SQL: otherwise this program
 * would replace the object. */
static const struct {
    const char *name, *word, *create;
} additions[] = {
    {"escalations", "", escalations},
    {"journals", "", journals},
    {"operations", "", schema_operations},
    {"shipped", "", shipped},
    {"ship_targets", "", ship_targets},
    {"leaves", "", log_tables},
    {"checkpoints", "", log_tables},
    {"replaced", "", log_tables},
    {"invocations", "FROM calls", invocations},
};

/* *ret: whether a row of sqlite_schema has this type (NULL: any type), this name, and SQL that
 * contains the word. */
static int schema_has_object(sqlite3 *db, const char *type, const char *name, const char *word,
                             bool *ret)
{
    static const char sql[] = "SELECT 1 FROM sqlite_schema WHERE type = ifnull(?1, type)"
                              " AND name = ?2 COLLATE NOCASE AND instr(sql, ?3) > 0";
    sqlite3_stmt *q;
    if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) != SQLITE_OK)
        return failure_keep(db);
    if (type != NULL)
        connect_bind(q, 1, slice_of(type));
    connect_bind(q, 2, slice_of(name));
    connect_bind(q, 3, slice_of(word));
    int rc = sqlite3_step(q);
    sqlite3_finalize(q);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return failure_keep(db);
    *ret = rc == SQLITE_ROW;
    return 0;
}

int schema_has_table(sqlite3 *db, const char *table, bool *ret)
{
    return schema_has_object(db, "table", table, "", ret);
}

static int schema_has_added_object(sqlite3 *db, size_t i, bool *ret)
{
    return schema_has_object(db, NULL, additions[i].name, additions[i].word, ret);
}

/* ---- opening -------------------------------------------------------------------------------- */

_Static_assert(SCHEMA_SEQ_BITS == 36, "the views say 36");

/* SQLite stores the version as a signed 32-bit number. A negative version is read as a high number,
 * which is unknown. */
int schema_version(sqlite3 *db, int64_t *ret)
{
    int64_t version;
    if (connect_read_number(db, "PRAGMA user_version", 0, &version) != SQLITE_OK)
        return failure_keep(db);
    *ret = (int64_t)((uint64_t)version & UINT32_MAX);
    return 0;
}

/* Begins the log. The sessions up to id `after` are not covered by evidence. */
static int schema_begin_evidence_log(sqlite3 *db, int64_t after)
{
    char uid[UID_LEN + 1];
    int64_t n, now = clock_wall_us();
    if (uid_make(now, uid) < 0 || sqlite3_exec(db, log_tables, NULL, NULL, NULL) != SQLITE_OK)
        return failure_keep(db);
    struct leaf leaf = {.type = LEAF_BEGIN, .at_us = now, .uid = slice_of(uid), .id = after};
    return ledger_add_leaf(db, &leaf, &n);
}

/* Adds the column `salt` with a constraint, and begins the log. The constraint rejects new sessions
 * of an older program, which does not know evidence and opened the database before the upgrade.
 * That program keeps its records in its journal, which a later program stores. */
static int add_evidence_to_schema(sqlite3 *db)
{
    char sql[200];
    int64_t after;
    if (connect_read_number(db, "SELECT ifnull(max(id), 0) FROM sessions", 0, &after) != SQLITE_OK)
        return failure_keep(db);
    snprintf(sql, sizeof sql,
             "ALTER TABLE sessions ADD COLUMN salt BLOB CHECK (salt IS NOT NULL OR id <= %lld)",
             (long long)after);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return failure_keep(db);
    return schema_begin_evidence_log(db, after);
}

/* Makes a new database, or upgrades the database by one version. *version: version of the database
 * before the step. */
static int schema_run_step(sqlite3 *db, int64_t *version)
{
    bool is_new = *version == 0;
    if (sqlite3_exec(db, steps[*version], NULL, NULL, NULL) != SQLITE_OK)
        return failure_keep(db);
    *version = is_new ? SCHEMA_VERSION : *version + 1;
    if (is_new)
        return schema_begin_evidence_log(db, 0);
    return *version == SCHEMA_EVIDENCE ? add_evidence_to_schema(db) : 0;
}

int schema_make_ready(sqlite3 *db)
{
    int64_t version = 0;
    int st = schema_version(db, &version);
    if (st < 0)
        return st;
    if (version > SCHEMA_VERSION)
        return MI_EINVAL;
    bool complete = version == SCHEMA_VERSION;
    for (size_t i = 0; complete && i < MI_COUNT(additions); i++)
        if (schema_has_added_object(db, i, &complete) < 0)
            return MI_ESTORE;
    if (complete)
        return 0;
    /* two proxies may open a new vault at once: read the version again, under the lock */
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return failure_keep(db);
    st = schema_version(db, &version);
    if (st == 0 && version > SCHEMA_VERSION)
        st = MI_EINVAL;
    while (st == 0 && version < SCHEMA_VERSION)
        st = schema_run_step(db, &version);
    for (size_t i = 0; st == 0 && i < MI_COUNT(additions); i++) {
        bool has;
        st = schema_has_added_object(db, i, &has);
        if (st == 0 && !has && sqlite3_exec(db, additions[i].create, NULL, NULL, NULL) != SQLITE_OK)
            st = failure_keep(db);
    }
    if (st == 0 && sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        st = failure_keep(db);
    /* an error of this ROLLBACK is ignored, because the first error is reported */
    if (!sqlite3_get_autocommit(db))
        (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return st;
}
