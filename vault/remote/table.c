#include "vault/remote/table.h"

#include "vault/store/schema.h"

#include <assert.h>
#include <stdlib.h>

/* number of rows in the first page; with so many rows, most sessions fit into one page without
 * bodies */
#define FIRST_ROWS 1024

struct table {
    sqlite3_vtab base;
    struct remote *remote; /* borrowed */
    enum remote_table table;
};

struct cursor {
    sqlite3_vtab_cursor base;
    struct remote_ask ask;          /* the request that will read the next page */
    int64_t session;                /* id of the session whose messages, events or calls are read */
    int64_t id;                     /* id of the only row to read; 0: read a range of rows */
    bool none;                      /* true: the conditions match no row */
    struct buf first, before, name; /* owned; texts of the request */
    struct page *page;              /* reference to the current page; NULL: all rows were read */
    size_t row;
    bool one; /* true: the request can match at most one row */
};

static int cursor_set_store_error(struct cursor *c, int st)
{
    struct table *t = (struct table *)c->base.pVtab;
    if (st == MI_ENOMEM)
        return SQLITE_NOMEM;
    sqlite3_free(t->base.zErrMsg);
    t->base.zErrMsg = sqlite3_mprintf("%s", t->remote->store.error(t->remote->store.ctx));
    return SQLITE_ERROR;
}

static struct remote *get_remote_of_cursor(const struct cursor *c)
{
    return ((const struct table *)c->base.pVtab)->remote;
}

/* ---- pages ---- */

static struct slice get_text_unless_empty(const struct buf *b)
{
    return b->n > 0 ? buf_slice(b) : (struct slice){0};
}

static void cursor_drop_page(struct cursor *c)
{
    page_release(c->page);
    c->page = NULL;
    c->row = 0;
}

/* Returns a page from the cache, or reads the page from the store. */
static int cursor_read_page(struct remote *r, struct cursor *c)
{
    struct remote_ask *ask = &c->ask;
    bool is_call = ask->table == REMOTE_CALLS;
    int st = ask->table == REMOTE_SESSIONS ? store_pages_find_adjacent_session(r, ask, &c->page)
             : is_call || ask->table == REMOTE_MESSAGES
                 ? store_pages_make_page_from_cache(r, c->session, ask, &c->page)
                 : MI_ENOENT;
    if (st != MI_ENOENT)
        return st;
    st = is_call ? store_pages_get_calls(r, c->session, ask, &c->page)
                 : page_read_from_store(r, ask, &c->page);
    if (st == 0 && ask->table == REMOTE_SESSIONS)
        store_pages_add_sessions_to_cache(r, ask, c->page);
    else if (st == 0 && ask->table == REMOTE_MESSAGES)
        store_pages_cache_page(r, c->session, ask, c->page);
    return st;
}

static int cursor_load_page(struct cursor *c)
{
    struct remote *r = get_remote_of_cursor(c);
    struct remote_ask *ask = &c->ask;
    cursor_drop_page(c);
    if (c->none || (ask->table != REMOTE_SESSIONS && ask->from > ask->to))
        return SQLITE_OK;
    if (ask->table != REMOTE_SESSIONS && ask->table != REMOTE_LEAVES &&
        !store_pages_set_session(r, c->session, ask))
        return SQLITE_OK;
    ask->first = get_text_unless_empty(&c->first);
    ask->before = get_text_unless_empty(&c->before);
    ask->name = get_text_unless_empty(&c->name);
    if (c->first.failed || c->before.failed || c->name.failed)
        return SQLITE_NOMEM;
    int st = cursor_read_page(r, c);
    if (st < 0)
        return cursor_set_store_error(c, st);
    if (c->page->n == 0)
        cursor_drop_page(c);
    return SQLITE_OK;
}

/* Limits the request to the rows after the current page, and reads the next page. */
static int cursor_load_next_page(struct cursor *c)
{
    struct remote_ask *ask = &c->ask;
    const struct cell *last = page_row(c->page, c->page->n - 1);
    int64_t key = last[0].number; /* seq of the last row; for an event, its id */
    if (c->one || c->page->last || ask->table == REMOTE_LEAVES) {
        cursor_drop_page(c);
        return SQLITE_OK;
    }
    if (ask->table == REMOTE_SESSIONS && ask->backwards) {
        buf_clear(&c->before);
        buf_slice_add(&c->before, last[REMOTE_SESSION_UID].text);
    } else if (ask->table == REMOTE_SESSIONS) {
        buf_clear(&c->first);
        buf_slice_add(&c->first, last[REMOTE_SESSION_UID].text);
        /* the uid with \1 appended is the smallest text that is greater than the uid */
        buf_addc(&c->first, '\1');
    } else if (ask->backwards) {
        ask->to = key - 1;
    } else {
        ask->from = key + 1;
    }
    ask->rows = ask->rows * 4 < REMOTE_ROWS ? ask->rows * 4 : REMOTE_ROWS;
    return cursor_load_page(c);
}

/* ---- conditions ---- */

/* Limits a request for sessions by their ids. If from == to, only the session with this id is read;
 * otherwise all sessions that are older than the session whose id is `to` + 1. If `to` is
 * INT64_MAX, all sessions are read. If the id `to` + 1 is not known, no session is read. */
static void cursor_limit_sessions(struct cursor *c, int64_t from, int64_t to)
{
    struct remote_ask above = {0};
    c->none |= to < from;
    /* no statement reads the sessions that are newer than a given session */
    assert(c->none || from == to || from <= 1);
    if (from == to) {
        c->id = to;
        c->none |= to < 1;
    } else if (to != INT64_MAX &&
               store_pages_set_session(get_remote_of_cursor(c), to + 1, &above)) {
        buf_slice_add(&c->before, above.session);
    } else {
        c->none |= to != INT64_MAX;
    }
}

/* Limits a request for messages or calls to the ids from `from` to `to`, all of one session. */
static void cursor_limit_messages(struct cursor *c, int64_t from, int64_t to)
{
    c->none |= to < from;
    assert(c->none || to >> SCHEMA_SEQ_BITS == from >> SCHEMA_SEQ_BITS);
    c->session = from >> SCHEMA_SEQ_BITS;
    c->ask.from = from & SCHEMA_SEQ_MAX;
    c->ask.to = to & SCHEMA_SEQ_MAX;
    if (from == to && !c->ask.bodies)
        c->id = from;
    int64_t width = c->ask.to - c->ask.from;
    if (width < REMOTE_ROWS)
        c->ask.rows = width + 1;
}

/* Sets a text of the request to the value; if `after` is true, to the next greater text. */
static void cursor_set_request_text(struct cursor *c, struct buf *to, sqlite3_value *v, bool after)
{
    const char *text = (const char *)sqlite3_value_text(v);
    buf_clear(to);
    buf_add(to, text, (size_t)sqlite3_value_bytes(v));
    if (after)
        /* appending \1 to a text makes the smallest text that is greater than the original text */
        buf_addc(to, '\1');
    c->none |= to->n == 0 && to == &c->name;
}

struct range {
    int64_t from, to;
};

/* Narrows the range to the numbers that satisfy the comparison with `v`. */
static void range_narrow_by_condition(struct range *r, char op, int64_t v)
{
    int64_t least = op == PLAN_GT && v < INT64_MAX ? v + 1 : v;
    if ((op == PLAN_EQ || op == PLAN_GE || op == PLAN_GT) && least > r->from)
        r->from = least;
    if ((op == PLAN_EQ || op == PLAN_LE) && v < r->to)
        r->to = v;
}

/* Adds one condition of the statement to the request, or narrows a range with it. ids: range of the
 * first column: the id of the row, or, in the table of events, the id of the session. keys: range
 * of the ids of events. */
static void cursor_add_condition(struct cursor *c, const char *plan, sqlite3_value *v,
                                 struct range *ids, struct range *keys)
{
    int column = plan[0] - 'a';
    bool is_text = sqlite3_value_type(v) == SQLITE_TEXT;
    if (sqlite3_value_type(v) == SQLITE_NULL)
        c->none = true;
    else if (column == 0)
        range_narrow_by_condition(ids, plan[1], sqlite3_value_int64(v));
    else if (c->ask.table == REMOTE_EVENTS)
        range_narrow_by_condition(keys, plan[1], sqlite3_value_int64(v));
    else if (c->ask.table == REMOTE_SESSIONS && column == 3)
        c->ask.number = sqlite3_value_int64(v);
    else if (!is_text)
        c->none = true;
    else if (c->ask.table == REMOTE_SESSIONS && column == 4)
        cursor_set_request_text(c, &c->name, v, false);
    else if (plan[1] == PLAN_LT)
        cursor_set_request_text(c, &c->before, v, false);
    else
        cursor_set_request_text(c, &c->first, v, plan[1] == PLAN_GT);
}

static int remote_table_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
                               sqlite3_value **argv)
{
    struct cursor *c = (struct cursor *)base;
    struct table *t = (struct table *)base->pVtab;
    struct range ids = {INT64_MIN, INT64_MAX}, keys = {INT64_MIN, INT64_MAX};
    cursor_drop_page(c);
    buf_clear(&c->first);
    buf_clear(&c->before);
    buf_clear(&c->name);
    c->ask = (struct remote_ask){.table = t->table,
                                 .backwards = (plan & PLAN_BACKWARDS) != 0,
                                 .bodies = (plan & PLAN_BODIES) != 0,
                                 .rows = (plan & PLAN_ONE) != 0        ? 1
                                         : t->table == REMOTE_SESSIONS ? PAGES_SESSIONS
                                                                       : FIRST_ROWS,
                                 .to = INT64_MAX};
    c->none = c->one = false;
    c->session = c->id = 0;
    for (int i = 0; i < argc; i++)
        cursor_add_condition(c, text + 2 * i, argv[i], &ids, &keys);
    if (t->table == REMOTE_SESSIONS) {
        cursor_limit_sessions(c, ids.from, ids.to);
    } else if (t->table == REMOTE_MESSAGES || t->table == REMOTE_CALLS) {
        cursor_limit_messages(c, ids.from, ids.to);
    } else if (t->table == REMOTE_SUMMARIES) {
        c->none |= ids.from != ids.to || ids.from < 1;
        c->session = c->id = ids.from;
    } else if (t->table == REMOTE_EVENTS) {
        c->session = ids.from;
        c->ask.from = keys.from;
        c->ask.to = keys.to;
    }
    c->one = c->id != 0;
    if (!c->one || c->none)
        return cursor_load_page(c);
    int st = t->table == REMOTE_SESSIONS
                 ? store_pages_find_session(t->remote, c->id, &c->page, &c->row)
             : t->table == REMOTE_SUMMARIES
                 ? store_pages_find_summary(t->remote, c->id, &c->page, &c->row)
                 : store_pages_find_row_of_seq(t->remote, t->table, c->session, c->ask.from,
                                               &c->page, &c->row);
    return st == 0 || st == MI_ENOENT ? SQLITE_OK : cursor_set_store_error(c, st);
}

/* ---- the other functions of a table ---- */

static int remote_table_next(sqlite3_vtab_cursor *base)
{
    struct cursor *c = (struct cursor *)base;
    if (!c->one && c->row + 1 < c->page->n) {
        c->row++;
        return SQLITE_OK;
    }
    return cursor_load_next_page(c);
}

static int remote_table_eof(sqlite3_vtab_cursor *base)
{
    return ((struct cursor *)base)->page == NULL;
}

static int cursor_row_id(struct cursor *c, sqlite3_int64 *ret)
{
    const struct cell *row = page_row(c->page, c->row);
    int64_t id = c->session;
    int st = 0;
    if (c->ask.table == REMOTE_SESSIONS)
        st = store_pages_get_or_add_session_id(get_remote_of_cursor(c), row, &id);
    else if (c->ask.table == REMOTE_MESSAGES || c->ask.table == REMOTE_CALLS)
        id = schema_message_id(c->session, (uint64_t)row[REMOTE_MESSAGE_SEQ].number);
    *ret = id;
    return st < 0 ? SQLITE_NOMEM : SQLITE_OK;
}

static int remote_table_column(sqlite3_vtab_cursor *base, sqlite3_context *to, int i)
{
    struct cursor *c = (struct cursor *)base;
    if (i > 0 && (size_t)i <= c->page->width) {
        const struct cell *cell = page_row(c->page, c->row) + i - 1;
        if (cell->type == CELL_INT)
            sqlite3_result_int64(to, cell->number);
        else if (cell->type == CELL_TEXT)
            sqlite3_result_text64(to, cell->text.p, cell->text.n, SQLITE_TRANSIENT, SQLITE_UTF8);
        return SQLITE_OK;
    }
    /* only three columns have no cell: the id, the `session_id` of a message, and the `calls` of a
     * session, which is always 1 */
    sqlite3_int64 id = c->ask.table == REMOTE_SESSIONS ? 1 : c->session;
    int rc = i == 0 ? cursor_row_id(c, &id) : SQLITE_OK;
    sqlite3_result_int64(to, id);
    return rc;
}

static int remote_table_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
    return cursor_row_id((struct cursor *)base, ret);
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
    (void)base;
    struct cursor *c = calloc(1, sizeof *c);
    if (c == NULL)
        return SQLITE_NOMEM;
    *ret = &c->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    struct cursor *c = (struct cursor *)base;
    cursor_drop_page(c);
    buf_close(&c->first);
    buf_close(&c->before);
    buf_close(&c->name);
    free(c);
    return SQLITE_OK;
}

static int remote_table_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    return plan_choose_index(((struct table *)base)->table, info);
}

static int remote_table_connect(sqlite3 *db, void *ctx, int argc, const char *const *argv,
                                sqlite3_vtab **ret, char **error)
{
    (void)argc, (void)error;
    struct table *t = calloc(1, sizeof *t);
    if (t == NULL)
        return SQLITE_NOMEM;
    t->remote = ctx;
    /* argv[0] is the name of the module */
    while (strcmp(remote_shape[t->table].name, argv[0]) != 0)
        t->table++;
    char *sql = sqlite3_mprintf("CREATE TABLE t (%s)", remote_shape[t->table].sql);
    int rc = sql != NULL ? sqlite3_declare_vtab(db, sql) : SQLITE_NOMEM;
    sqlite3_free(sql);
    if (rc == SQLITE_OK)
        *ret = &t->base;
    else
        free(t);
    return rc;
}

static int remote_table_disconnect(sqlite3_vtab *base)
{
    free(base);
    return SQLITE_OK;
}

static const sqlite3_module module = {
    .xConnect = remote_table_connect, /* xCreate is NULL, so the table exists without CREATE */
    .xBestIndex = remote_table_best_index,
    .xDisconnect = remote_table_disconnect,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = remote_table_filter,
    .xNext = remote_table_next,
    .xEof = remote_table_eof,
    .xColumn = remote_table_column,
    .xRowid = remote_table_rowid,
};

int remote_register_tables(sqlite3 *db, struct remote *r)
{
    int rc = SQLITE_OK;
    for (int i = 0; i < REMOTE_TABLES && rc == SQLITE_OK; i++)
        rc = sqlite3_create_module_v2(db, remote_shape[i].name, &module, r, NULL);
    return rc;
}
