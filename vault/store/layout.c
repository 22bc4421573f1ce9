#include "vault/store/layout.h"

#include "evidence/digest.h"
#include "vault/store/connect.h"
#include "vault/store/failure.h"
#include "vault/store/schema.h"

#include <strings.h>

_Static_assert(SCHEMA_VERSION == SCHEMA_CALLS,
               "describe the new version here and in docs/evidence.md");
/* Versions; older vaults have no evidence, and are not compared. */
#define ALL SCHEMA_EVIDENCE, SCHEMA_VERSION
#define BEFORE_CALLS SCHEMA_EVIDENCE, SCHEMA_CALLS - 1
#define WITH_CALLS SCHEMA_CALLS, SCHEMA_VERSION

/* What schema_ready() makes; a test compares the two. Columns are in the order of their names, because their order differs
 * between vaults: "!" is NOT NULL, "#N" the place in the primary key, "=" a default, "?" hidden or generated. Of an
 * index: columns with their collation and direction, and whether it is unique, its origin, and whether it is partial.
 * Of a view: the SHA-256 of its SQL. */
static const struct object {
    int first, last; /* the versions that have it */
    const char *type, *name, *table;
    bool needed; /* false: not all vaults of these versions have it */
    const char *text;
} known[] = {
    {BEFORE_CALLS, "table", "sessions", "sessions", true,
     "client_name TEXT, client_version TEXT, command TEXT!, commitment BLOB, "
     "end_commitment BLOB, end_reason TEXT, end_salt BLOB, ended_at_us INTEGER, "
     "exit_status INTEGER, host TEXT!, id INTEGER#1, interposer_version TEXT!, name "
     "TEXT!, pid INTEGER!, protocol_version TEXT, record_level TEXT!, records "
     "INTEGER, redact_rules TEXT, salt BLOB, server_name TEXT, server_version TEXT, "
     "started_at_us INTEGER!, tree BLOB, uid TEXT!"},
    {WITH_CALLS, "table", "sessions", "sessions", true,
     "calls INTEGER, client_name TEXT, client_version TEXT, command TEXT!, commitment BLOB, "
     "cwd TEXT, end_commitment BLOB, end_reason TEXT, end_salt BLOB, ended_at_us INTEGER, "
     "exit_status INTEGER, host TEXT!, id INTEGER#1, interposer_version TEXT!, name "
     "TEXT!, pid INTEGER!, protocol_version TEXT, record_level TEXT!, records "
     "INTEGER, redact_rules TEXT, salt BLOB, server_name TEXT, server_version TEXT, "
     "started_at_us INTEGER!, tools_rule TEXT, tree BLOB, uid TEXT!"},
    {BEFORE_CALLS, "table", "messages", "messages", true,
     "action TEXT!, batch_seq INTEGER, body TEXT, body_length INTEGER, body_offset "
     "INTEGER, commitment BLOB, direction TEXT!, error_code INTEGER, finding TEXT, id "
     "INTEGER#1, kind TEXT!, method TEXT, origin TEXT!, redactions INTEGER!, "
     "request_seq INTEGER, rpc_id TEXT, salt BLOB, seq INTEGER!, session_id INTEGER!, "
     "size INTEGER!, t_us INTEGER!, target TEXT"},
    {WITH_CALLS, "table", "messages", "messages", true,
     "action TEXT!, batch_seq INTEGER, body TEXT, body_length INTEGER, body_offset "
     "INTEGER, commitment BLOB, direction TEXT!, error_code INTEGER, finding TEXT, id "
     "INTEGER#1, kind TEXT!, method TEXT, origin TEXT!, redactions INTEGER!, "
     "request_seq INTEGER, revision TEXT, rpc_id TEXT, salt BLOB, seq INTEGER!, session_id "
     "INTEGER!, size INTEGER!, t_us INTEGER!, target TEXT"},
    {ALL, "table", "events", "events", true,
     "commitment BLOB, detail TEXT, id INTEGER#1, kind TEXT!, place INTEGER, salt "
     "BLOB, session_id INTEGER!, t_us INTEGER!"},
    {WITH_CALLS, "table", "calls", "calls", true,
     "closing_seq INTEGER, direction TEXT!, duration_us INTEGER, error_code INTEGER, id "
     "INTEGER#1, method TEXT, operation_seq INTEGER, origin TEXT!, request_size INTEGER!, "
     "response_size INTEGER, result_tokens INTEGER, revision TEXT, status TEXT!, t_us INTEGER!, "
     "target TEXT"},
    {ALL, "table", "running", "running", true,
     "boot TEXT!, client_pid INTEGER, client_start INTEGER, pid INTEGER!, "
     "pid_namespace INTEGER, pid_start INTEGER, server_group INTEGER, server_pid "
     "INTEGER, server_session INTEGER, server_start INTEGER, session_id INTEGER#1"},
    {ALL, "table", "journals", "journals", true,
     "position INTEGER!, records INTEGER, session_id INTEGER#1, tree BLOB"},
    {ALL, "table", "leaves", "leaves", true, "leaf TEXT!, n INTEGER#1"},
    {ALL, "table", "checkpoints", "checkpoints", true,
     "at_us INTEGER!, note TEXT!, size INTEGER#1"},
    {ALL, "table", "replaced", "replaced", true,
     "commitment BLOB!, leaf INTEGER!#3, record TEXT!#2, session_id INTEGER!#1"},
    {ALL, "table", "escalations", "escalations", false,
     "cause TEXT!, count INTEGER!, file TEXT!, first_at_us INTEGER!, id INTEGER#1, "
     "last_at_us INTEGER!, method TEXT, server TEXT!, tool TEXT"},
    {ALL, "table", "shipped", "shipped", false,
     "at_us INTEGER!, complete INTEGER!, event INTEGER!, seq INTEGER!, session_id "
     "INTEGER!#1, target TEXT!#2"},
    {ALL, "table", "ship_targets", "ship_targets", false,
     "error TEXT, leaves INTEGER!, sent_at_us INTEGER, target TEXT!#1, tried_at_us "
     "INTEGER!"},
    {ALL, "index", "events_by_session", "events", true, "session_id BINARY 0, id BINARY 0 0 c 0"},
    {ALL, "index", "sqlite_autoindex_sessions_1", "sessions", true, "uid BINARY 0 1 u 0"},
    {ALL, "index", "sqlite_autoindex_ship_targets_1", "ship_targets", false,
     "target BINARY 0 1 pk 0"},
    {ALL, "view", "closings", "closings", false,
     "94edc2334a65f51cb77639c5ae9e46590ee4c941f3a85b21d9fb8c2ca7c860d5"},
    {BEFORE_CALLS, "view", "invocations", "invocations", false,
     "73575024c526c8a04c5c4e349e5c7688d95d9a961583c77775609848747240f5"},
    {BEFORE_CALLS, "view", "invocations", "invocations", false,
     "8830f6c09c53ed2024fed21cdd715addcf1db456dd1b5d72ee2376e731eb3ceb"},
    {WITH_CALLS, "view", "invocations", "invocations", false,
     "6e6e4ba445a89a1f3fd26490f244c4fea2de825b4eaf0774778cc696be403baa"},
};

static bool is_of_version(const struct object *o, int64_t version)
{
    return version >= o->first && version <= o->last;
}

/* A row for each object: its type, its name, its table, and the text above. Reading the columns of a virtual table would
 * run its code: that one has no text here. */
static const char objects[] =
    "SELECT m.type, m.name, m.tbl_name, CASE"
    " WHEN m.type = 'view' THEN m.sql"
    " WHEN m.type = 'table' AND m.rootpage > 0 AND m.sql LIKE 'CREATE TABLE %' THEN"
    "  (SELECT group_concat(name || ' ' || type || iif(\"notnull\", '!', '') ||"
    "   iif(pk, '#' || pk, '') || iif(dflt_value IS NULL, '', '=') || iif(hidden, '?', ''), ', ')"
    "   FROM (SELECT * FROM pragma_table_xinfo(m.name) ORDER BY name))"
    "  || iif(m.sql LIKE '%collate%', ' collate', '')"
    " WHEN m.type = 'index' THEN"
    "  (SELECT group_concat(ifnull(x.name, '-') || ' ' || x.coll || ' ' || x.\"desc\", ', ')"
    "   FROM pragma_index_xinfo(m.name) x WHERE x.key)"
    "  || (SELECT ' ' || l.\"unique\" || ' ' || l.origin || ' ' || l.partial"
    "   FROM pragma_index_list(m.tbl_name) l WHERE l.name = m.name)"
    " END FROM sqlite_schema m";
enum { TYPE, NAME, TABLE, TEXT };

/* Tables of another kind. Only where all objects are known: the statement would instantiate virtual tables. */
static const char kinds[] =
    "SELECT 'table', name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
    " AND name <> 'sqlite_schema'"
    " AND (NOT strict OR wr <> (name IN ('replaced', 'shipped')))";

struct comparing {
    layout_fn fn;
    void *ctx;
    int64_t version;
    bool found[MI_COUNT(known)];
    bool foreign; /* something is there that is not known */
};

static const char *type_of(struct slice type)
{
    static const char *const types[] = {"table", "index", "view", "trigger"};
    for (size_t i = 0; i < MI_COUNT(types); i++)
        if (slice_is(type, types[i]))
            return types[i];
    return "object";
}

/* SQLite does not distinguish upper and lower case. */
static bool is_our_table(struct slice name)
{
    for (size_t i = 0; i < MI_COUNT(known); i++)
        if (strcmp(known[i].type, "table") == 0 && strlen(known[i].name) == name.n &&
            strncasecmp(known[i].name, name.p, name.n) == 0)
            return true;
    return false;
}

static bool same_text(const struct object *o, struct slice text)
{
    char hex[DIGEST_HEX + 1] = "";
    if (strcmp(o->type, "view") != 0)
        return slice_is(text, o->text);
    struct digest d = digest_of(text);
    digest_hex(&d, hex);
    return memcmp(hex, o->text, DIGEST_HEX) == 0;
}

/* false: it is not known, or not as it has to be. */
static void compare_object(struct comparing *c, sqlite3_stmt *q)
{
    struct layout_fault f = {.kind = LAYOUT_ADDED,
                             .type = type_of(connect_column(q, TYPE)),
                             .name = connect_column(q, NAME)};
    struct slice table = connect_column(q, TABLE), text = connect_column(q, TEXT);
    for (size_t i = 0; i < MI_COUNT(known); i++) {
        if (strcmp(known[i].type, f.type) != 0 || !slice_is(f.name, known[i].name) || c->found[i] ||
            !is_of_version(&known[i], c->version))
            continue;
        f.kind = LAYOUT_CHANGED;
        c->found[i] = true;
        if (text.p != NULL && slice_is(table, known[i].table) && same_text(&known[i], text))
            return;
    }
    bool index = strcmp(f.type, "index") == 0;
    c->foreign = true;
    /* Statements read tables and their indexes; no program of ours reads the views. */
    f.deceives =
        index ? is_our_table(table) : strcmp(f.type, "trigger") != 0 && is_our_table(f.name);
    c->fn(c->ctx, &f);
}

static int compare_objects(struct comparing *c, sqlite3 *db)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(db, objects, -1, &q, NULL);
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(q);
        if (rc == SQLITE_ROW)
            compare_object(c, q);
    }
    int st = rc == SQLITE_DONE ? 0 : failure_keep(db);
    sqlite3_finalize(q);
    return st;
}

static void say_missing(struct comparing *c)
{
    for (size_t i = 0; i < MI_COUNT(known); i++)
        if (known[i].needed && is_of_version(&known[i], c->version) && !c->found[i])
            c->fn(c->ctx, &(struct layout_fault){LAYOUT_REMOVED, known[i].type,
                                                 slice_of(known[i].name), true});
}

static int compare_kinds(struct comparing *c, sqlite3 *db)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(db, kinds, -1, &q, NULL);
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(q);
        if (rc == SQLITE_ROW)
            c->fn(c->ctx,
                  &(struct layout_fault){LAYOUT_CHANGED, "table", connect_column(q, NAME), true});
    }
    int st = rc == SQLITE_DONE ? 0 : failure_keep(db);
    sqlite3_finalize(q);
    return st;
}

int layout_compare(sqlite3 *db, layout_fn fn, void *ctx)
{
    struct comparing c = {.fn = fn, .ctx = ctx};
    if (connect_number(db, "PRAGMA user_version", 0, &c.version) != SQLITE_OK)
        return failure_keep(db);
    if (c.version < SCHEMA_EVIDENCE || c.version > SCHEMA_VERSION)
        return 0;
    int st = compare_objects(&c, db);
    if (st == 0)
        say_missing(&c);
    return st == 0 && !c.foreign ? compare_kinds(&c, db) : st;
}

void layout_name(const struct layout_fault *f, struct buf *b)
{
    bool plain = f->name.n > 0 && f->name.n <= 64;
    for (size_t i = 0; plain && i < f->name.n; i++) {
        char c = f->name.p[i];
        plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    }
    buf_adds(b, f->type);
    if (plain) {
        buf_adds(b, " ");
        buf_slice_add(b, f->name);
    }
}

/* ---- readers -------------------------------------------------------------------------------- */

/* The tables that are shown to people which are not what their rows are read by: another type of object, another key, a
 * generated column, or other indexes. */
static const char changed[] =
    "WITH ours (name, key, indexes) AS (VALUES"
    " ('sessions', 'id INTEGER', 'sqlite_autoindex_sessions_1 uid'), ('messages', 'id INTEGER', "
    "''),"
    " ('events', 'id INTEGER', 'events_by_session session_id id'), ('leaves', 'n INTEGER', ''),"
    " ('calls', 'id INTEGER', ''))"
    " SELECT o.name FROM ours o JOIN sqlite_schema m ON m.name = o.name COLLATE NOCASE"
    " WHERE m.type IN ('table', 'view') AND (m.type <> 'table' OR m.rootpage = 0"
    " OR m.sql NOT LIKE 'CREATE TABLE %'"
    " OR (SELECT group_concat(x.name || ' ' || x.type) FROM pragma_table_xinfo(o.name) x"
    "  WHERE pk > 0 OR hidden > 0) IS NOT o.key"
    " OR ifnull((SELECT group_concat(i.name || (SELECT group_concat(' ' || ifnull(c.name, '-'), '')"
    "  FROM pragma_index_info(i.name) c)) FROM pragma_index_list(o.name) i), '') <> o.indexes) "
    "LIMIT 1";

int layout_check(sqlite3 *db, struct buf *error)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(db, changed, -1, &q, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(q);
    int st = rc == SQLITE_DONE ? 0 : rc == SQLITE_ROW ? MI_EINVAL : failure_keep(db);
    if (rc == SQLITE_ROW) {
        buf_printf(error, "its table ");
        buf_slice_add(error, connect_column(q, 0));
        buf_adds(
            error,
            " or an index of it is not as mcp-interposer makes it, so what it shows need not be "
            "what was recorded; `mcp-interposer audit verify` says what is different");
    }
    sqlite3_finalize(q);
    return st;
}
