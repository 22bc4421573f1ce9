/* scan.c - reads the messages of a session without copying them, for callers that read many
 * messages and store few of them. */
#include "vault/query/connection.h"

#include "vault/store/connect.h"
#include "vault/store/schema.h"

struct reading {
    query_message_fn fn;
    void *ctx;
    int64_t left;         /* maximum number of messages that the callback may still get */
    enum query_body body; /* whether the body is read; used by query_message_rows() only */
};

static int pass_message_to_callback(struct reading *r, const struct query_message *m)
{
    r->left--;
    return r->fn(r->ctx, m) && r->left > 0 ? 0 : 1;
}

/* Like connect_column(), for a column that is a text or NULL. */
static struct slice read_text_column(sqlite3_stmt *st, int i)
{
    const void *p = sqlite3_column_text(st, i);
    return (struct slice){p, p != NULL ? (size_t)sqlite3_column_bytes(st, i) : 0};
}

int query_read_record_fields(const struct record_fields *s, sqlite3_stmt *st, int i,
                             enum query_body body, void *record)
{
    for (const struct record_field *f = s->list; f < s->list + s->n; f++, i++) {
        switch (f->type) {
        case VALUE_TEXT:
        case VALUE_JSON:
            *field_get_text_in_record(f, record) =
                f->evidence == COVERED_BODY && body == QUERY_WITHOUT_BODY ? (struct slice){0}
                                                                          : read_text_column(st, i);
            break;
        case VALUE_WORD:
            *field_get_unsigned_pointer(f, record) =
                value_find_by_word(f->words, read_text_column(st, i));
            break;
        case VALUE_TIME:
        case VALUE_SINCE:
        case VALUE_TOOK:
            *field_get_number_in_record(f, record) = connect_time(st, i);
            break;
        default:
            /* sqlite3_column_int64() returns 0 for a NULL */
            *field_get_number_in_record(f, record) = sqlite3_column_int64(st, i);
            break;
        }
        if (f->null == VALUE_UNLESS)
            *field_get_flag_in_record(f, record) = sqlite3_column_type(st, i) != SQLITE_NULL;
        else if (f->null == VALUE_MINUS_ONE && sqlite3_column_type(st, i) == SQLITE_NULL)
            *field_get_number_in_record(f, record) = field_get_number_for_null(f);
    }
    return i;
}

void query_read_message_row(sqlite3_stmt *st, enum query_body body, struct query_message *ret)
{
    int i = query_read_record_fields(&fields_of_message, st, 0, body, ret);
    ret->has_request = sqlite3_column_type(st, i) != SQLITE_NULL;
    ret->request_t_us = connect_time(st, i);
    ret->request_action = value_find_by_word(&row_actions, connect_column(st, i + 1));
    ret->request_method = connect_column(st, i + 2);
    ret->request_target = connect_column(st, i + 3);
}

static int query_scan_on_row(void *ctx, sqlite3_stmt *st)
{
    struct reading *r = ctx;
    struct query_message m;
    query_read_message_row(st, r->body, &m);
    return pass_message_to_callback(r, &m);
}

static int query_scan_on_body(void *ctx, sqlite3_stmt *st)
{
    struct query_message m = {
        .seq = sqlite3_column_int64(st, 0),
        .kind = value_find_by_word(&row_kinds, connect_column(st, 1)),
        .body = connect_column(st, 2),
        .is_large = sqlite3_column_type(st, 3) != SQLITE_NULL,
        .body_offset = sqlite3_column_int64(st, 3),
        .body_length = sqlite3_column_int64(st, 4),
    };
    return pass_message_to_callback(ctx, &m);
}

static int scan_on_row_without_body(void *ctx, sqlite3_stmt *st)
{
    struct query_message m = {
        .seq = sqlite3_column_int64(st, 0),
        .t_us = connect_time(st, 1),
        .kind = value_find_by_word(&row_kinds, connect_column(st, 2)),
        .origin = value_find_by_word(&row_origins, connect_column(st, 3)),
        .action = value_find_by_word(&row_actions, connect_column(st, 4)),
        .method = connect_column(st, 5),
        .target = connect_column(st, 6),
        .finding = connect_column(st, 7),
        .request_method = connect_column(st, 8),
        .request_target = connect_column(st, 9),
        .request_action = value_find_by_word(&row_actions, connect_column(st, 10)),
    };
    return pass_message_to_callback(ctx, &m);
}

int query_read_message_bodies(struct query *q, int64_t session_id, int64_t after, int64_t max,
                              query_message_fn fn, void *ctx)
{
    struct reading r = {.fn = fn, .ctx = ctx, .left = max};
    struct query_range in = {session_id, after + 1, INT64_MAX, false};
    return max > 0 ? query_scan_rows(q, Q_BODIES, NULL, &in, query_scan_on_body, &r) : 0;
}

int query_messages_without_bodies(struct query *q, const struct message_question *x,
                                  enum query_order order, query_message_fn fn, void *ctx)
{
    struct reading r = {.fn = fn, .ctx = ctx, .left = INT64_MAX};
    bool back = order == QUERY_BACKWARD;
    struct query_range in = {x->session_id, x->from, x->to, back};
    struct where w = {.n = 0};
    if (x->filter != NULL)
        where_add_message_conditions(&w, x->filter, x->started_at_us);
    int st = w.sql.failed ? MI_ENOMEM
                          : query_scan_rows(q, back ? Q_FACTS_BACK : Q_FACTS, &w, &in,
                                            scan_on_row_without_body, &r);
    where_clause_close(&w);
    return st;
}

/* Statuses that only an answer of the interposer can give to a call. If all messages of a session
 * are recorded, each answer with one of these statuses ends a call. */
#define OWN_STATUSES (1u << CALL_SERVER_GONE | 1u << CALL_INTERRUPTED | 1u << CALL_TIMEOUT)

/* Decides whether all messages that match can be found through the table `calls`, which is much
 * smaller than the table `messages`. *ret_statuses: the statuses of the calls to search; 0: use the
 * table `messages`, because some matching messages may have no row in `calls`. Returns 0 or an
 * error. */
static int choose_statuses_for_calls_table(struct query *q, const struct message_question *x,
                                           unsigned *ret_statuses)
{
    const struct filter *f = x->filter;
    unsigned statuses = f->statuses == 0 && f->also != NULL ? f->also->statuses : f->statuses;
    int64_t whole = 0;
    int st = 0;
    if (statuses != 0 && (statuses & ~OWN_STATUSES) == 0 && q->remote == NULL &&
        q->d.version >= SCHEMA_CALLS)
        st = query_read_number(q, Q_IS_WHOLE, x->session_id, &whole);
    *ret_statuses = whole == 1 ? statuses : 0;
    return st;
}

int query_find_matching_messages(struct query *q, const struct message_question *x, size_t max,
                                 int64_t *ret_seq, size_t *ret_n)
{
    struct query_range rows = {x->session_id, x->from, x->to, true};
    struct filter own = FILTER_ANY;
    struct where w = {.n = 0};
    sqlite3_stmt *st = NULL;
    int rc = SQLITE_DONE, status = choose_statuses_for_calls_table(q, x, &own.statuses);
    rows.to = rows.to < SCHEMA_SEQ_MAX ? rows.to : SCHEMA_SEQ_MAX;
    where_add_call_conditions(&w, &own);
    where_add_message_conditions(&w, x->filter, x->started_at_us);
    if (status == 0 && w.sql.failed)
        status = MI_ENOMEM;
    if (status == 0)
        status = query_prepare_where(q, own.statuses != 0 ? Q_MATCHING_ENDS : Q_MATCHING, &w, &st);
    if (status == 0)
        db_bind(st, 1,
                DB_WITH(db_int(schema_message_id(x->session_id, (uint64_t)rows.from)),
                        db_int(schema_message_id(x->session_id, (uint64_t)rows.to)),
                        db_int((int64_t)max), db_int(x->session_id)));
    for (*ret_n = 0; status == 0 && *ret_n < max && (rc = sqlite3_step(st)) == SQLITE_ROW;) {
        status = query_check_row_order(q, &rows, st) ? 0 : db_fail_damaged(&q->d);
        ret_seq[(*ret_n)++] = sqlite3_column_int64(st, 0);
    }
    int ended = query_finish_statement(q, st, rc);
    where_clause_close(&w);
    return status < 0 ? status : ended;
}

int query_message_rows(struct query *q, int64_t session_id, int64_t from, int64_t to,
                       enum query_order order, bool bodies, query_message_fn fn, void *ctx)
{
    struct reading r = {.fn = fn,
                        .ctx = ctx,
                        .left = INT64_MAX,
                        .body = bodies ? QUERY_WITH_BODY : QUERY_WITHOUT_BODY};
    bool back = order == QUERY_BACKWARD;
    struct query_range in = {session_id, from < 0 ? 0 : from, to, back};
    return query_scan_rows(q, back ? Q_ROWS_BACK : Q_ROWS, NULL, &in, query_scan_on_row, &r);
}
