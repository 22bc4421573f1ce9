#include "vault/query/page.h"

#include "vault/query/connection.h"
#include "vault/store/connect.h"
#include "vault/store/schema.h"

#include <stdlib.h>

/* ---- copies ---- */

/* Copies the current row and computes its size. NULL: out of memory. */
typedef struct page_row *(*copy_fn)(sqlite3_stmt *st, size_t *ret_bytes);

/* Allocates a row with space for n bytes of text. *ret_bytes: size of the row. */
static struct page_row *page_new_row(size_t n, size_t *ret_bytes)
{
    struct page_row *row = malloc(sizeof *row + n);
    if (row == NULL)
        return NULL;
    row->next = NULL;
    *ret_bytes = sizeof *row + n;
    return row;
}

void page_free(struct page_row *row)
{
    while (row != NULL) {
        struct page_row *next = row->next;
        free(row);
        row = next;
    }
}

/* A statement that reads one page. In the range `rows`, the values of the first column must ascend
 * or descend. In a damaged file they may be out of order. Then reading fails, because it might
 * never end. */
struct page_query {
    enum query_statement statement;
    const struct where *where;    /* condition on the rows; NULL: all rows */
    int64_t first, second, third; /* SQL parameters ?1, ?2 and ?3 */
    copy_fn copy;
    size_t max_bytes;
    struct query_range rows;
};

/* Reads rows until their sizes add up to max_bytes. */
static int query_page_load(struct query *q, const struct page_query *p, struct page_row **ret)
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
        if (!query_check_row_order(q, &rows, st)) {
            status = db_fail_damaged(&q->d);
            break;
        }
        *tail = p->copy(st, &n);
        if (*tail == NULL)
            status = MI_ENOMEM;
        else
            tail = &(*tail)->next;
    }
    int ended = query_finish_statement(q, st, rc);
    status = status == 0 ? ended : status;
    if (status == 0)
        *ret = first;
    else
        page_free(first);
    return status;
}

/* ---- sessions ---- */

static size_t count_common_uid_bytes(struct slice uid, struct slice other)
{
    size_t n = 0;
    while (n < uid.n && n < other.n && uid.p[n] == other.p[n])
        n++;
    return n;
}

static struct page_row *copy_session(sqlite3_stmt *st, size_t *ret_bytes)
{
    struct query_session s;
    int i = query_read_record_fields(&fields_of_session, st, 1, QUERY_WITH_BODY, &s);
    struct page_row *row = page_new_row(fields_text_bytes(&fields_of_session, &s), ret_bytes);
    if (row == NULL)
        return NULL;
    s.id = sqlite3_column_int64(st, 0);
    s.number = sqlite3_column_int64(st, i);
    s.evidence = (enum query_evidence)sqlite3_column_int(st, i + 1);
    size_t before = count_common_uid_bytes(s.uid, connect_column(st, i + 2));
    size_t after = count_common_uid_bytes(s.uid, connect_column(st, i + 3));
    s.uid_unique = size_min(s.uid.n, 1 + (before > after ? before : after));
    row->session = s;
    fields_copy_texts(&fields_of_session, &row->session, row->text);
    return row;
}

int page_read_sessions(struct query *q, const struct where *w, int64_t from, int64_t to,
                       int64_t limit, struct page_row **ret)
{
    struct page_query p = {.statement = Q_SESSIONS,
                           .where = w,
                           .first = from,
                           .second = to,
                           .third = limit,
                           .copy = copy_session,
                           .max_bytes = SIZE_MAX,
                           .rows = {0, from, to, true}};
    return query_page_load(q, &p, ret);
}

/* ---- messages and events ---- */

static void query_page_copy_text(struct slice *text, char **at)
{
    if (text->p == NULL)
        return;
    memcpy(*at, text->p, text->n);
    text->p = *at;
    *at += text->n;
    *(*at)++ = '\0';
}

static struct page_row *copy_message(sqlite3_stmt *st, size_t *ret_bytes)
{
    struct query_message m;
    query_read_message_row(st, QUERY_WITH_BODY, &m);
    size_t n = fields_text_bytes(&fields_of_message, &m);
    struct page_row *row = page_new_row(n + m.request_method.n + m.request_target.n + 2, ret_bytes);
    if (row == NULL)
        return NULL;
    row->message = m;
    char *at = fields_copy_texts(&fields_of_message, &row->message, row->text);
    query_page_copy_text(&row->message.request_method, &at);
    query_page_copy_text(&row->message.request_target, &at);
    return row;
}

int page_read_messages(struct query *q, const struct where *w, int64_t session_id, int64_t from,
                       int64_t to, struct page_row **ret)
{
    struct page_query p = {.statement = Q_MESSAGES,
                           .where = w,
                           .first = schema_message_id(session_id, (uint64_t)from),
                           .second = schema_message_id(session_id, (uint64_t)to),
                           .third = QUERY_PAGE_ROWS,
                           .copy = copy_message,
                           .max_bytes = QUERY_PAGE_BYTES,
                           .rows = {session_id, from, to, false}};
    return query_page_load(q, &p, ret);
}

static struct page_row *copy_event(sqlite3_stmt *st, size_t *ret_bytes)
{
    struct query_event e;
    query_read_record_fields(&fields_of_event, st, 0, QUERY_WITH_BODY, &e);
    struct page_row *row = page_new_row(fields_text_bytes(&fields_of_event, &e), ret_bytes);
    if (row == NULL)
        return NULL;
    row->event = e;
    fields_copy_texts(&fields_of_event, &row->event, row->text);
    return row;
}

int page_read_events_backward(struct query *q, int64_t session_id, int64_t to,
                              struct page_row **ret)
{
    struct page_query p = {.statement = Q_EVENTS_BACK,
                           .first = session_id,
                           .second = to,
                           .third = QUERY_PAGE_ROWS,
                           .copy = copy_event,
                           .max_bytes = SIZE_MAX,
                           .rows = {session_id, INT64_MIN, to, true}};
    return query_page_load(q, &p, ret);
}

int page_read_events(struct query *q, const struct where *w, int64_t session_id, int64_t after,
                     struct page_row **ret)
{
    *ret = NULL;
    if (after == INT64_MAX)
        return 0;
    struct page_query p = {.statement = Q_EVENTS,
                           .where = w,
                           .first = session_id,
                           .second = after,
                           .third = QUERY_PAGE_ROWS,
                           .copy = copy_event,
                           .max_bytes = SIZE_MAX,
                           .rows = {session_id, after + 1, INT64_MAX, false}};
    return query_page_load(q, &p, ret);
}
