#include "vault/query/page.h"

#include "vault/query/connection.h"
#include "vault/store/connect.h"
#include "vault/store/schema.h"

#include <stdlib.h>

/* ---- copies ---- */

/* A copy of the current row and its size. NULL: out of memory. */
typedef struct page_row *(*copy_fn)(sqlite3_stmt *st, size_t *ret_bytes);

/* A row with space for its text columns, which begin with column `first`. NULL: out of memory. */
static struct page_row *new_row(sqlite3_stmt *st, int first, size_t *ret_bytes)
{
    size_t n = sizeof(struct page_row);
    for (int i = first; i < sqlite3_column_count(st); i++)
        if (sqlite3_column_text(st, i) != NULL)
            n += (size_t)sqlite3_column_bytes(st, i) + 1;
    struct page_row *row = malloc(n);
    if (row == NULL)
        return NULL;
    row->next = NULL;
    *ret_bytes = n;
    return row;
}

/* Copies a text column to *at, which is advanced. */
static struct slice copy_text(sqlite3_stmt *st, int i, char **at)
{
    const void *text = sqlite3_column_text(st, i);
    if (text == NULL)
        return (struct slice){0};
    struct slice s = {*at, (size_t)sqlite3_column_bytes(st, i)};
    memcpy(*at, text, s.n);
    (*at)[s.n] = '\0';
    *at += s.n + 1;
    return s;
}

void page_free(struct page_row *row)
{
    while (row != NULL) {
        struct page_row *next = row->next;
        free(row);
        row = next;
    }
}

/* A statement with three parameters. The first column of its rows grows, or becomes less, and is between two numbers: a
 * damaged file may have other rows, after which the next page would not be another one. */
struct page_query {
    enum query_statement statement;
    const struct where *where;    /* NULL: all rows */
    int64_t first, second, third; /* ?1, ?2, ?3 */
    copy_fn copy;
    size_t max_bytes;
    struct query_range rows;
};

/* Reads rows until they have max_bytes. */
static int load(struct query *q, const struct page_query *p, struct page_row **ret)
{
    struct page_row *first = NULL, **tail = &first;
    sqlite3_stmt *st;
    int status = query_prepare_where(q, p->statement, p->where, &st);
    if (status < 0)
        return status;
    db_bind(st, 1, DB_WITH(db_int(p->first), db_int(p->second), db_int(p->third)));
    struct query_range rows = p->rows;
    int rc = SQLITE_DONE;
    for (size_t sum = 0, n = 0; sum < p->max_bytes && status == 0; sum += n) {
        rc = sqlite3_step(st);
        if (rc != SQLITE_ROW)
            break;
        if (!query_in_order(q, &rows, st)) {
            status = db_damaged(&q->d);
            break;
        }
        *tail = p->copy(st, &n);
        if (*tail == NULL)
            status = MI_ENOMEM;
        else
            tail = &(*tail)->next;
    }
    int ended = query_done(q, st, rc);
    status = status == 0 ? ended : status;
    if (status == 0)
        *ret = first;
    else
        page_free(first);
    return status;
}

/* ---- sessions ---- */

static size_t shared_with(struct slice uid, struct slice other)
{
    size_t n = 0;
    while (n < uid.n && n < other.n && uid.p[n] == other.p[n])
        n++;
    return n;
}

void query_session_texts(struct query_session *s, struct slice *ret[QUERY_SESSION_TEXTS])
{
    struct slice *const texts[QUERY_SESSION_TEXTS] = {
        &s->uid,
        &s->name,
        &s->command,
        &s->client_name,
        &s->client_version,
        &s->server_name,
        &s->server_version,
        &s->protocol_version,
        &s->end_reason,
        &s->host,
        &s->record_level,
        &s->interposer_version,
        &s->redact_rules,
    };
    memcpy(ret, texts, sizeof texts);
}

static struct page_row *copy_session(sqlite3_stmt *st, size_t *ret_bytes)
{
    struct page_row *row = new_row(st, 6, ret_bytes);
    if (row == NULL)
        return NULL;
    struct query_session *s = &row->session;
    char *at = row->text;
    *s = (struct query_session){
        .id = sqlite3_column_int64(st, 0),
        .started_at_us = connect_time(st, 1),
        .ended_at_us = connect_time(st, 2),
        .has_exit_status = sqlite3_column_type(st, 3) != SQLITE_NULL,
        .exit_status = sqlite3_column_int64(st, 3),
        .pid = sqlite3_column_int64(st, 4),
        .evidence = (enum query_evidence)sqlite3_column_int(st, 5),
    };
    struct slice *text[QUERY_SESSION_TEXTS];
    query_session_texts(s, text);
    for (size_t i = 0; i < QUERY_SESSION_TEXTS; i++)
        *text[i] = copy_text(st, 6 + (int)i, &at);
    bool numbered = sqlite3_column_type(st, 8 + QUERY_SESSION_TEXTS) != SQLITE_NULL;
    s->number = numbered ? sqlite3_column_int64(st, 8 + QUERY_SESSION_TEXTS) : s->id;
    size_t before = shared_with(s->uid, copy_text(st, 6 + QUERY_SESSION_TEXTS, &at));
    size_t after = shared_with(s->uid, copy_text(st, 7 + QUERY_SESSION_TEXTS, &at));
    s->uid_unique = size_min(s->uid.n, 1 + (before > after ? before : after));
    return row;
}

int page_sessions(struct query *q, const struct where *w, int64_t from, int64_t to, int64_t limit,
                  struct page_row **ret)
{
    struct page_query p = {.statement = Q_SESSIONS,
                           .where = w,
                           .first = from,
                           .second = to,
                           .third = limit,
                           .copy = copy_session,
                           .max_bytes = SIZE_MAX,
                           .rows = {0, from, to, true}};
    return load(q, &p, ret);
}

/* ---- messages and events ---- */

static struct page_row *copy_message(sqlite3_stmt *st, size_t *ret_bytes)
{
    struct page_row *row = new_row(st, MESSAGE_TEXTS, ret_bytes);
    if (row == NULL)
        return NULL;
    struct slice *text[MESSAGE_TEXTS_N];
    char *at = row->text;
    row->message = query_message_row(st);
    query_message_texts(&row->message, text);
    for (size_t i = 0; i < MESSAGE_TEXTS_N; i++)
        *text[i] = copy_text(st, MESSAGE_TEXTS + (int)i, &at);
    return row;
}

int page_messages(struct query *q, int64_t session_id, int64_t from, int64_t to,
                  struct page_row **ret)
{
    struct page_query p = {.statement = Q_MESSAGES,
                           .first = schema_message_id(session_id, (uint64_t)from),
                           .second = schema_message_id(session_id, (uint64_t)to),
                           .third = QUERY_PAGE_ROWS,
                           .copy = copy_message,
                           .max_bytes = QUERY_PAGE_BYTES,
                           .rows = {session_id, from, to, false}};
    return load(q, &p, ret);
}

static struct page_row *copy_event(sqlite3_stmt *st, size_t *ret_bytes)
{
    struct page_row *row = new_row(st, 2, ret_bytes);
    if (row == NULL)
        return NULL;
    char *at = row->text;
    row->event = (struct query_event){
        .id = sqlite3_column_int64(st, 0),
        .t_us = connect_time(st, 1),
    };
    row->event.kind = copy_text(st, 2, &at);
    row->event.detail = copy_text(st, 3, &at);
    return row;
}

int page_events_back(struct query *q, int64_t session_id, int64_t to, struct page_row **ret)
{
    struct page_query p = {.statement = Q_EVENTS_BACK,
                           .first = session_id,
                           .second = to,
                           .third = QUERY_PAGE_ROWS,
                           .copy = copy_event,
                           .max_bytes = SIZE_MAX,
                           .rows = {session_id, INT64_MIN, to, true}};
    return load(q, &p, ret);
}

int page_events(struct query *q, int64_t session_id, int64_t after, struct page_row **ret)
{
    *ret = NULL;
    if (after == INT64_MAX)
        return 0;
    struct page_query p = {.statement = Q_EVENTS,
                           .first = session_id,
                           .second = after,
                           .third = QUERY_PAGE_ROWS,
                           .copy = copy_event,
                           .max_bytes = SIZE_MAX,
                           .rows = {session_id, after + 1, INT64_MAX, false}};
    return load(q, &p, ret);
}
