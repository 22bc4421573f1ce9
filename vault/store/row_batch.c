#include "vault/store/row_batch.h"

#include <stdlib.h>

/* The columns of `declaration`, in its order. */
enum column {
    C_ID,
    C_SESSION_ID,
    C_SEQ,
    C_T_US,
    C_SIZE,
    C_REDACTIONS,
    C_REQUEST_SEQ,
    C_BATCH_SEQ,
    C_ERROR_CODE,
    C_BODY_OFFSET,
    C_BODY_LENGTH,
    C_WORD,                       /* the first of enum batch_word */
    C_TEXT = C_WORD + BATCH_WORDS, /* the first of enum batch_text */
    C_SALT = C_TEXT + BATCH_TEXTS,
    C_COMMITMENT
};

static const char declaration[] =
    "CREATE TABLE row_batch (id, session_id, seq, t_us, size, redactions, request_seq, batch_seq,"
    " error_code, body_offset, body_length,"
    " direction, origin, kind, action,"
    " rpc_id, method, target, body, finding,"
    " salt, commitment)";

int row_batch_open(struct row_batch *b)
{
    *b = (struct row_batch){.usual = true,
                            .row = malloc(ROW_BATCH_ROWS * sizeof *b->row),
                            .text = malloc(ROW_BATCH_BYTES + ROW_BATCH_ROW_MAX)};
    if (b->row != NULL && b->text != NULL)
        return 0;
    row_batch_close(b);
    return MI_ENOMEM;
}

void row_batch_close(struct row_batch *b)
{
    free(b->row);
    free(b->text);
    *b = (struct row_batch){0};
}

void row_batch_clear(struct row_batch *b)
{
    b->n = b->text_n = 0;
    b->usual = true;
}

static bool is_usual(const struct batch_row *r, int64_t session_id)
{
    return r->session_id == session_id && r->redactions == 0 && r->batch_seq == 0 &&
           !r->has_error_code && r->body_length == 0 && r->text[BATCH_FINDING].p == NULL &&
           strcmp(r->word[BATCH_ORIGIN], ROW_BATCH_ORIGIN) == 0 &&
           strcmp(r->word[BATCH_ACTION], ROW_BATCH_ACTION) == 0;
}

int row_batch_add(struct row_batch *b, const struct batch_row *r)
{
    size_t all = 0;
    for (int i = 0; i < BATCH_TEXTS; i++)
        all += r->text[i].n;
    if (row_batch_is_full(b) || all > ROW_BATCH_ROW_MAX)
        return MI_EFULL;
    struct batch_row *own = &b->row[b->n++];
    *own = *r;
    for (int i = 0; i < BATCH_TEXTS; i++)
        if (r->text[i].p != NULL) {
            own->text[i].p = memcpy(b->text + b->text_n, r->text[i].p, r->text[i].n);
            b->text_n += r->text[i].n;
        }
    b->usual = b->usual && is_usual(r, b->row[0].session_id);
    return 0;
}

/* ---- the virtual table ---------------------------------------------------------------------- */

struct batch_table {
    sqlite3_vtab base;
    const struct row_batch *batch; /* borrowed */
};

struct batch_cursor {
    sqlite3_vtab_cursor base;
    const struct row_batch *batch; /* borrowed */
    size_t at;
};

static int connect_table(sqlite3 *db, void *batch, int n, const char *const *args,
                         sqlite3_vtab **ret, char **error)
{
    (void)n, (void)args, (void)error;
    int rc = sqlite3_declare_vtab(db, declaration);
    if (rc != SQLITE_OK)
        return rc;
    struct batch_table *t = calloc(1, sizeof *t);
    if (t == NULL)
        return SQLITE_NOMEM;
    t->batch = batch;
    *ret = &t->base;
    return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *t)
{
    free(t);
    return SQLITE_OK;
}

static int plan(sqlite3_vtab *t, sqlite3_index_info *info)
{
    (void)t, (void)info; /* there is one way to read it: all rows */
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *t, sqlite3_vtab_cursor **ret)
{
    struct batch_cursor *c = calloc(1, sizeof *c);
    if (c == NULL)
        return SQLITE_NOMEM;
    c->batch = ((struct batch_table *)t)->batch;
    *ret = &c->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *c)
{
    free(c);
    return SQLITE_OK;
}

static int first(sqlite3_vtab_cursor *cursor, int number, const char *text, int n,
                 sqlite3_value **arg)
{
    (void)number, (void)text, (void)n, (void)arg;
    ((struct batch_cursor *)cursor)->at = 0;
    return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *cursor)
{
    ((struct batch_cursor *)cursor)->at++;
    return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *cursor)
{
    const struct batch_cursor *c = (const struct batch_cursor *)cursor;
    return c->at >= c->batch->n;
}

static int rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret)
{
    *ret = (sqlite3_int64)((struct batch_cursor *)cursor)->at;
    return SQLITE_OK;
}

static void result_count(sqlite3_context *to, int64_t v)
{
    if (v != 0)
        sqlite3_result_int64(to, v);
}

static void result_text(sqlite3_context *to, struct slice s)
{
    if (s.p != NULL)
        sqlite3_result_text64(to, s.p, s.n, SQLITE_STATIC, SQLITE_UTF8);
}

/* The result is NULL if none is set. */
static int column(sqlite3_vtab_cursor *cursor, sqlite3_context *to, int i)
{
    const struct batch_cursor *c = (const struct batch_cursor *)cursor;
    const struct batch_row *r = &c->batch->row[c->at];
    switch (i) {
    case C_ID:
        sqlite3_result_int64(to, r->id);
        break;
    case C_SESSION_ID:
        sqlite3_result_int64(to, r->session_id);
        break;
    case C_SEQ:
        sqlite3_result_int64(to, r->seq);
        break;
    case C_T_US:
        sqlite3_result_int64(to, r->t_us);
        break;
    case C_SIZE:
        sqlite3_result_int64(to, r->size);
        break;
    case C_REDACTIONS:
        sqlite3_result_int64(to, r->redactions);
        break;
    case C_REQUEST_SEQ:
        result_count(to, r->request_seq);
        break;
    case C_BATCH_SEQ:
        result_count(to, r->batch_seq);
        break;
    case C_ERROR_CODE:
        if (r->has_error_code)
            sqlite3_result_int64(to, r->error_code);
        break;
    case C_BODY_OFFSET:
        if (r->body_length != 0)
            sqlite3_result_int64(to, r->body_offset);
        break;
    case C_BODY_LENGTH:
        result_count(to, r->body_length);
        break;
    case C_SALT:
        if (r->covered)
            sqlite3_result_blob(to, r->salt.b, SALT_N, SQLITE_STATIC);
        break;
    case C_COMMITMENT:
        if (r->covered)
            sqlite3_result_blob(to, r->commitment.b, DIGEST_N, SQLITE_STATIC);
        break;
    default:
        result_text(to, i < C_TEXT ? slice_of(r->word[i - C_WORD]) : r->text[i - C_TEXT]);
        break;
    }
    return SQLITE_OK;
}

/* Without xCreate: the table exists in every database, and only there by this name. */
static const sqlite3_module module = {
    .iVersion = 1,
    .xConnect = connect_table,
    .xBestIndex = plan,
    .xDisconnect = disconnect_table,
    .xDestroy = disconnect_table,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = first,
    .xNext = next,
    .xEof = at_end,
    .xColumn = column,
    .xRowid = rowid,
};

int row_batch_connect(struct row_batch *b, sqlite3 *db)
{
    return sqlite3_create_module(db, "row_batch", &module, b);
}
