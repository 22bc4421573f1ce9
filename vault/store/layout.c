#include "vault/store/layout.h"

#include "evidence/digest.h"
#include "vault/store/columns.h"
#include "vault/store/connect.h"
#include "vault/store/failure.h"
#include "vault/store/schema.h"

#include <strings.h>

_Static_assert(SCHEMA_VERSION == SCHEMA_BINARIES,
               "describe the new version here and in docs/evidence.md");
/* Ranges of schema versions. Versions without evidence are in no range. */
#define ALL SCHEMA_EVIDENCE, SCHEMA_VERSION
#define BEFORE_CALLS SCHEMA_EVIDENCE, SCHEMA_CALLS - 1
#define WITH_CALLS SCHEMA_CALLS, SCHEMA_VERSION
#define BEFORE_BINARIES SCHEMA_CALLS, SCHEMA_BINARIES - 1
#define WITH_BINARIES SCHEMA_BINARIES, SCHEMA_VERSION

/* The objects that schema_make_ready() makes; a test compares them with this table. To add a table
 * to the schema, add its rows here, and describe them in docs/evidence.md.
 *
 * key      of a table: its primary key, and columns that are hidden or generated, with their types
 *          and positions in the key. It is compared in vaults of every schema version, because
 *          queries find rows by it.
 * text     of a table: its columns in any order, because their order differs between vaults; "!" is
 *          NOT NULL. Of an index: its SQL; of an index that SQLite makes: its columns, whether it
 *          is unique, and its origin. Of a view: the SHA-256 of its SQL.
 * end      of a table: the end of its SQL */
#define MARK_NOT_NULL "!"
#define MARK_NO_TEXT
#define MARK_ZERO
#define MARK_MINUS_ONE
#define MARK_UNLESS(flag)
/* V3_N is 1 if databases of schema version 3 also have the columns that version N added. */
#define V3_1 1
#define V3_2 1
#define V3_4 0
#define COLUMN(name, type, ...) COLUMN_(name, type, __VA_ARGS__, )
#define COLUMN_(name, type, null, ...) ", " #name COLUMN_TYPE(type) MARK_##null
#define V3_COLUMN(name, type, null, since, ...) FIELD_IF(V3_##since)(COLUMN(name, type, null))
#define V4_COLUMN(name, type, null, since, ...)                                                    \
    FIELD_IF(SCHEMA_OLD_##since)(COLUMN(name, type, null))
#define UNKEYED(name, type, null, since, evidence, cassette, store, ...)                           \
    FIELD_IF(FIELD_FIRST_##store)(COLUMN(name, type, null))
#define EVIDENCE ", salt BLOB, commitment BLOB"
#define SESSION_EVIDENCE EVIDENCE ", end_salt BLOB, end_commitment BLOB, records INTEGER, tree BLOB"
#define ROWID_TABLE ") STRICT"
#define KEYED_TABLE ") STRICT, WITHOUT ROWID"
static const struct object {
    int first, last; /* first and last schema version that has the object */
    const char *type, *name, *table;
    bool needed; /* true: every vault of these versions has the object; false: some lack it */
    const char *key, *text, *end;
} known[] = {
    {BEFORE_CALLS, "table", "sessions", "sessions", true, "id INTEGER 1",
     "id INTEGER" SESSION_FIELDS(V3_COLUMN) SESSION_EVIDENCE, ROWID_TABLE},
    {WITH_CALLS, "table", "sessions", "sessions", true, "id INTEGER 1",
     "id INTEGER" SESSION_FIELDS(COLUMN) SESSION_EVIDENCE ", calls INTEGER", ROWID_TABLE},
    {BEFORE_CALLS, "table", "messages", "messages", true, "id INTEGER 1",
     "id INTEGER, session_id INTEGER!" MESSAGE_FIELDS(V3_COLUMN) EVIDENCE, ROWID_TABLE},
    {WITH_CALLS, "table", "messages", "messages", true, "id INTEGER 1",
     "id INTEGER, session_id INTEGER!" MESSAGE_FIELDS(COLUMN) EVIDENCE, ROWID_TABLE},
    {BEFORE_BINARIES, "table", "calls", "calls", true, "id INTEGER 1",
     "id INTEGER" CALL_FIELDS(COLUMN) CALL_RESERVED_FIELDS(V4_COLUMN), ROWID_TABLE},
    {WITH_BINARIES, "table", "calls", "calls", true, "id INTEGER 1",
     "id INTEGER" CALL_FIELDS(COLUMN) CALL_RESERVED_FIELDS(COLUMN), ROWID_TABLE},
    {ALL, "table", "events", "events", true, "id INTEGER 1",
     "id INTEGER, session_id INTEGER!" EVENT_FIELDS(UNKEYED) ", place INTEGER" EVIDENCE,
     ROWID_TABLE},
    {ALL, "table", "running", "running", true, "session_id INTEGER 1",
     "session_id INTEGER" RUNNING_FIELDS(COLUMN), ROWID_TABLE},
    {ALL, "table", "journals", "journals", true, "session_id INTEGER 1",
     "position INTEGER!, records INTEGER, session_id INTEGER, tree BLOB", ROWID_TABLE},
    {ALL, "table", "leaves", "leaves", true, "n INTEGER 1", "leaf TEXT!, n INTEGER", ROWID_TABLE},
    {ALL, "table", "checkpoints", "checkpoints", true, "size INTEGER 1",
     "at_us INTEGER!, note TEXT!, size INTEGER", ROWID_TABLE},
    {ALL, "table", "replaced", "replaced", true,
     "leaf INTEGER 3, record TEXT 2, session_id INTEGER 1",
     "commitment BLOB!, leaf INTEGER!, record TEXT!, session_id INTEGER!", KEYED_TABLE},
    {ALL, "table", "operations", "operations", false, "id INTEGER 1",
     "id INTEGER" OPERATION_FIELDS(COLUMN), ROWID_TABLE},
    {ALL, "table", "escalations", "escalations", false, "id INTEGER 1",
     "id INTEGER" PROBLEM_FIELDS(COLUMN), ROWID_TABLE},
    {ALL, "table", "shipped", "shipped", false, "session_id INTEGER 1, target TEXT 2",
     "at_us INTEGER!, complete INTEGER!, event INTEGER!, seq INTEGER!, session_id "
     "INTEGER!, target TEXT!",
     KEYED_TABLE},
    {ALL, "table", "ship_targets", "ship_targets", false, "target TEXT 1",
     "error TEXT, leaves INTEGER!, sent_at_us INTEGER, target TEXT!, tried_at_us INTEGER!",
     ROWID_TABLE},
    {ALL, "index", "events_by_session", "events", true, NULL,
     "CREATE INDEX events_by_session ON events (session_id, id)", NULL},
    {ALL, "index", "sqlite_autoindex_sessions_1", "sessions", true, NULL, "uid 1 u", NULL},
    {ALL, "index", "sqlite_autoindex_ship_targets_1", "ship_targets", false, NULL, "target 1 pk",
     NULL},
    {ALL, "view", "closings", "closings", false, NULL,
     "94edc2334a65f51cb77639c5ae9e46590ee4c941f3a85b21d9fb8c2ca7c860d5", NULL},
    {BEFORE_CALLS, "view", "invocations", "invocations", false, NULL,
     "73575024c526c8a04c5c4e349e5c7688d95d9a961583c77775609848747240f5", NULL},
    {BEFORE_CALLS, "view", "invocations", "invocations", false, NULL,
     "8830f6c09c53ed2024fed21cdd715addcf1db456dd1b5d72ee2376e731eb3ceb", NULL},
    {WITH_CALLS, "view", "invocations", "invocations", false, NULL,
     "6e6e4ba445a89a1f3fd26490f244c4fea2de825b4eaf0774778cc696be403baa", NULL},
};

/* Whether a version of the schema has the object. Version 0 means a vault without evidence: for it,
 * the result is always true, so its objects are compared with those of every version. */
static bool object_is_in_schema_version(const struct object *o, int64_t version)
{
    return version == 0 || (version >= o->first && version <= o->last);
}

/* Selects a row for each object. SQLite reports an error for a row of sqlite_schema whose SQL makes
 * an object with another name than the row has. Only the columns of tables are read: reading those
 * of a virtual table would run its code. */
static const char objects[] =
    "SELECT m.type, m.name, m.tbl_name, m.sql,"
    " CASE WHEN is_table THEN"
    "  (SELECT group_concat(name || ' ' || type || ' ' || iif(hidden, '-', pk), ', ')"
    "   FROM (SELECT * FROM pragma_table_xinfo(m.name) ORDER BY name) WHERE pk OR hidden) END,"
    " CASE WHEN is_table THEN"
    "  (SELECT group_concat(name || ' ' || type || iif(\"notnull\", '!', ''), ', ')"
    "   FROM pragma_table_xinfo(m.name))"
    " WHEN m.type = 'index' AND m.sql IS NULL THEN"
    "  (SELECT group_concat(ifnull(x.name, '-'), ', ') FROM pragma_index_info(m.name) x)"
    "  || (SELECT ' ' || l.\"unique\" || ' ' || l.origin"
    "   FROM pragma_index_list(m.tbl_name) l WHERE l.name = m.name)"
    " ELSE m.sql END"
    " FROM (SELECT *, type = 'table' AND rootpage > 0"
    " AND substr(sql, 1, length(name) + 15) = 'CREATE TABLE ' || name || ' (' AS is_table"
    " FROM sqlite_schema) m";
enum { TYPE, NAME, TABLE, SQL, KEY, TEXT };

struct comparing {
    layout_fn fn;
    void *ctx;
    int64_t version;
    bool found[MI_COUNT(known)];
    /* true: the version has no evidence, so only properties that readers depend on are compared */
    bool old;
};

static const char *object_type_name(struct slice type)
{
    static const char *const types[] = {"table", "index", "view", "trigger"};
    for (size_t i = 0; i < MI_COUNT(types); i++)
        if (slice_is(type, types[i]))
            return types[i];
    return "object";
}

/* Whether a name is a table of this program. Like SQLite, it ignores case. */
static bool is_known_vault_table(struct slice name)
{
    for (size_t i = 0; i < MI_COUNT(known); i++)
        if (strcmp(known[i].type, "table") == 0 && strlen(known[i].name) == name.n &&
            strncasecmp(known[i].name, name.p, name.n) == 0)
            return true;
    return false;
}

/* ---- the SQL of a table ---------------------------------------------------------------------- */

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static size_t sql_word_len(struct slice text)
{
    size_t n = 0;
    while (n < text.n && is_word_char(text.p[n]))
        n++;
    return n;
}

static bool text_has_word(const char *text, struct slice word)
{
    for (size_t n; *text != '\0'; text += n > 0 ? n : 1) {
        n = sql_word_len(slice_of(text));
        if (n == word.n && memcmp(text, word.p, n) == 0)
            return true;
    }
    return false;
}

/* Returns the length of the constraint that add_evidence_to_schema() adds to `sessions`; 0:
 * none. */
static size_t evidence_constraint_len(struct slice text)
{
    static const char begin[] = "CHECK (salt IS NOT NULL OR id <= ";
    size_t n = sizeof begin - 1;
    if (!slice_begins(text, begin))
        return 0;
    while (n < text.n && text.p[n] >= '0' && text.p[n] <= '9')
        n++;
    return n < text.n && text.p[n] == ')' ? n + 1 : 0;
}

/* Whether the SQL of a table contains only its name, the words of its columns, those of the array
 * `words` and, for `sessions`, the constraint of add_evidence_to_schema(). Such a table has no
 * other CHECK (which SQLite would compute for each row), no default, collation, quotes or
 * comment. */
static bool table_sql_has_nothing_unknown(const struct object *o, struct slice sql)
{
    static const char words[] = "CREATE TABLE NOT NULL PRIMARY KEY UNIQUE STRICT WITHOUT ROWID";
    size_t end = strlen(o->end);
    if (sql.n < end || memcmp(sql.p + sql.n - end, o->end, end) != 0)
        return false;
    for (size_t i = 0, n; i < sql.n; i += n) {
        struct slice rest = {sql.p + i, sql.n - i};
        n = strcmp(o->name, "sessions") == 0 ? evidence_constraint_len(rest) : 0;
        if (n > 0)
            continue;
        n = sql_word_len(rest);
        struct slice word = {rest.p, n};
        if (n > 0 && !slice_is(word, o->name) && !text_has_word(words, word) &&
            !text_has_word(o->text, word))
            return false;
        if (n == 0 && memchr(" (),", rest.p[0], 4) == NULL)
            return false;
        n = n > 0 ? n : 1;
    }
    return true;
}

/* ---- comparing ------------------------------------------------------------------------------ */

/* Returns the first column of a list, and removes it from the list. */
static struct slice remove_first_column_name(struct slice *list)
{
    const char *end = memmem(list->p, list->n, ", ", 2);
    size_t n = end != NULL ? (size_t)(end - list->p) : list->n, skip = end != NULL ? n + 2 : n;
    struct slice column = {list->p, n};
    *list = (struct slice){list->p + skip, list->n - skip};
    return column;
}

/* Whether two lists have the same columns in any order. No table has a column twice, so it is
 * enough that the lists have the same length and that each column of the first list is in the
 * second. */
static bool lists_have_same_columns(struct slice list, struct slice known_columns)
{
    bool all = list.n == known_columns.n;
    while (all && list.n > 0) {
        struct slice column = remove_first_column_name(&list), left = known_columns;
        all = false;
        while (!all && left.n > 0)
            all = slice_eq(remove_first_column_name(&left), column);
    }
    return all;
}

static bool object_matches_known_layout(const struct comparing *c, const struct object *o,
                                        sqlite3_stmt *q)
{
    char hex[DIGEST_HEX + 1] = "";
    struct slice text = connect_column(q, TEXT);
    if (text.p == NULL || !slice_is(connect_column(q, TABLE), o->table))
        return false;
    if (strcmp(o->type, "table") == 0)
        return slice_is(connect_column(q, KEY), o->key) &&
               (c->old || (lists_have_same_columns(text, slice_of(o->text)) &&
                           table_sql_has_nothing_unknown(o, connect_column(q, SQL))));
    if (strcmp(o->type, "index") == 0)
        return slice_is(text, o->text);
    struct digest d = digest_of_text(text);
    digest_hex(&d, hex);
    return c->old || memcmp(hex, o->text, DIGEST_HEX) == 0;
}

static void compare_schema_object(struct comparing *c, sqlite3_stmt *q)
{
    struct layout_fault f = {.kind = LAYOUT_ADDED,
                             .type = object_type_name(connect_column(q, TYPE)),
                             .name = connect_column(q, NAME)};
    struct slice key = connect_column(q, KEY);
    bool index = strcmp(f.type, "index") == 0;
    f.table = index ? connect_column(q, TABLE) : f.name;
    bool ours = is_known_vault_table(f.table);
    f.deceives = f.misleads = ours && strcmp(f.type, "trigger") != 0;
    for (size_t i = 0; i < MI_COUNT(known); i++) {
        if (strcmp(known[i].type, f.type) != 0 || !slice_is(f.name, known[i].name) || c->found[i] ||
            !object_is_in_schema_version(&known[i], c->version))
            continue;
        f.kind = LAYOUT_CHANGED;
        c->found[i] = true;
        if (object_matches_known_layout(c, &known[i], q))
            return;
        f.misleads = known[i].key == NULL ? index : !slice_is(key, known[i].key);
    }
    c->fn(c->ctx, &f);
}

static int compare_objects(struct comparing *c, sqlite3 *db)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(db, objects, -1, &q, NULL);
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(q);
        if (rc == SQLITE_ROW)
            compare_schema_object(c, q);
    }
    int st = rc == SQLITE_DONE ? 0 : failure_keep(db);
    sqlite3_finalize(q);
    return st;
}

int layout_compare_objects(sqlite3 *db, layout_fn fn, void *ctx)
{
    struct comparing c = {.fn = fn, .ctx = ctx};
    int64_t version = 0;
    int st = schema_version(db, &version);
    c.old = version < SCHEMA_EVIDENCE;
    c.version = c.old ? 0 : version;
    if (st < 0 || version > SCHEMA_VERSION)
        return st;
    st = compare_objects(&c, db);
    for (size_t i = 0; st == 0 && !c.old && i < MI_COUNT(known); i++)
        if (known[i].needed && object_is_in_schema_version(&known[i], version) && !c.found[i])
            fn(ctx, &(struct layout_fault){.kind = LAYOUT_REMOVED,
                                           .type = known[i].type,
                                           .name = slice_of(known[i].name),
                                           .table = slice_of(known[i].table),
                                           .deceives = true,
                                           .misleads = known[i].key == NULL});
    return st;
}

void layout_append_object_name(const struct layout_fault *f, struct buf *b)
{
    bool plain = f->name.n > 0 && f->name.n <= 64 && sql_word_len(f->name) == f->name.n;
    buf_adds(b, f->type);
    if (plain) {
        buf_adds(b, " ");
        buf_slice_add(b, f->name);
    }
}

/* ---- readers -------------------------------------------------------------------------------- */

static void copy_name_of_misleading_table(void *ctx, const struct layout_fault *f)
{
    struct buf *name = ctx;
    if (f->misleads && name->n == 0)
        buf_slice_add(name, f->table);
}

int layout_find_misleading_table(sqlite3 *db, struct buf *error)
{
    struct buf name = {0};
    int st = layout_compare_objects(db, copy_name_of_misleading_table, &name);
    if (st == 0 && name.n > 0) {
        buf_printf(error,
                   "its table %s or an index of it is not as mcp-interposer makes it, so what it "
                   "shows need not be what was recorded; `mcp-interposer audit verify` says what "
                   "is different",
                   buf_str(&name));
        st = MI_EINVAL;
    }
    if (name.failed)
        st = MI_ENOMEM;
    buf_close(&name);
    return st;
}
