#include "vault/query/count.h"

#include "base/clock.h"
#include "base/grow.h"
#include "base/text.h"
#include "vault/query/call_rows.h"
#include "vault/query/connection.h"
#include "vault/query/person_time.h"
#include "vault/store/connect.h"

#include <stdlib.h>

static const struct {
    const char *name;
    /* SQL of the two columns from which the key of a group is made; the key of a day is made from
     * the time of the call */
    const char *key;
    bool tools; /* true: only calls of tools are counted */
} ways[COUNT_WAYS] = {
    [COUNT_TOOL] = {"tool", "s.name, c.target", true},
    [COUNT_SERVER] = {"server", "s.name, NULL", false},
    [COUNT_CLIENT] = {"client", "s.client_name, NULL", false},
    [COUNT_DAY] = {"day", "NULL, NULL", false},
    [COUNT_METHOD] = {"method", "c.method, NULL", false},
};

const char *count_get_option_word(enum count_by by)
{
    return ways[by].name;
}

enum count_by count_parse_option_word(const char *name)
{
    int i = 0;
    while (i < COUNT_WAYS && strcmp(ways[i].name, name) != 0)
        i++;
    return (enum count_by)i;
}

#define PART_END '\xFF' /* separates the parts of a key: this byte does not occur in UTF-8 */

static void append_group_key_part(struct buf *b, struct slice part)
{
    if (part.p != NULL)
        text_append_valid_utf8(b, part);
    buf_addc(b, PART_END);
}

struct slice count_take_key_part(struct slice *key)
{
    const char *end = memchr(key->p, PART_END & 0xFF, key->n);
    struct slice part = {key->p, (size_t)(end - key->p)};
    key->p = end + 1;
    key->n -= part.n + 1;
    return part;
}

struct repeated_call {
    int64_t id;
    bool forwarded;
};

struct counting {
    struct count *c;
    struct repeated_call *repeat; /* owned; the repeated calls, sorted by id */
    size_t repeats_n, repeats_cap;
    /* owned; for each call made of one request, the time that a person took */
    struct person_time_list person;
    struct buf key; /* owned; scratch */
};

/* The columns of a row after the two columns of the key. */
#define COLUMNS                                                                                    \
    ", c.status, c.duration_us, c.request_size, c.response_size, s.started_at_us, c.t_us,"         \
    " c.result_tokens"
#define OF_OPERATION ", c.server_us, c.person_us"
#define OF_REQUEST ", c.duration_us, 0"

/* Sets x->key to the key of the group that a call belongs to. */
static void make_group_key(struct counting *x, sqlite3_stmt *st, int64_t at_us)
{
    char day[CLOCK_TEXT_MAX];
    buf_clear(&x->key);
    if (x->c->by == COUNT_DAY) {
        clock_write_local_time(at_us, day);
        append_group_key_part(&x->key, (struct slice){day, size_min(strlen(day), 10)});
        return;
    }
    append_group_key_part(&x->key, connect_column(st, 0));
    if (x->c->by == COUNT_TOOL)
        append_group_key_part(&x->key, connect_column(st, 1));
}

/* Reads the calls that repeat an earlier call. Must run before any call is counted. */
static int count_read_repeated_calls(struct counting *x, struct query *q, const struct filter *f)
{
    sqlite3_stmt *st = NULL;
    /* Repeated calls are not counted in a store, because the store would have to send all of its
     * events. */
    if (!x->c->repeats_too || query_is_store(q))
        return 0;
    int rc = SQLITE_DONE, status = call_rows_prepare(q, f);
    struct where w = {.has_cwd = q->has_calls};
    struct buf sql = {0};
    where_add_session_conditions(&w, f, FILTER_HOLDS);
    buf_adds(&sql, "SELECT (e.session_id << 36) + json_extract(e.detail, '$.seq'),"
                   " json_extract(e.detail, '$.decision') IN ('forwarded', 'insisted')"
                   " FROM events e WHERE e.session_id IN (SELECT s.id FROM sessions s WHERE 1");
    buf_slice_add(&sql, buf_slice(&w.sql));
    buf_adds(&sql, ") AND e.kind = 'repeat' AND json_valid(e.detail) ORDER BY 1");
    if (status == 0)
        status = sql.failed || w.sql.failed
                     ? MI_ENOMEM
                     : db_begin_query_text(&q->d, buf_str(&sql), &st, NULL, 0);
    if (status == 0)
        db_bind(st, WHERE_FIRST, w.value, w.n);
    while (status == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        if (!GROW(x->repeat, x->repeats_n, x->repeats_cap))
            status = MI_ENOMEM;
        else
            x->repeat[x->repeats_n++] = (struct repeated_call){sqlite3_column_int64(st, 0),
                                                               sqlite3_column_int64(st, 1) == 1};
    }
    int ended = db_finish_statement(&q->d, st, rc);
    buf_close(&sql);
    where_clause_close(&w);
    return status != 0 ? status : ended;
}

static int compare_repeated_calls_by_id(const void *a, const void *b)
{
    const int64_t x = ((const struct repeated_call *)a)->id;
    const int64_t y = ((const struct repeated_call *)b)->id;
    return (x > y) - (x < y);
}

static int query_count_on_call(void *ctx, sqlite3_stmt *st)
{
    struct counting *x = ctx;
    int64_t at_us = connect_time(st, 6) + connect_time(st, 7);
    int64_t person_us = person_time_sum_us_of_call(&x->person, sqlite3_column_int64(st, 11));
    struct query_call call = {
        .status = value_find_by_word(&call_statuses, connect_column(st, 2)),
        .duration_us = connect_time(st, 3),
        .request_size = sqlite3_column_int64(st, 4),
        .response_size = sqlite3_column_int64(st, 5),
        .server_us = connect_time(st, 9) - person_us,
        .person_us = connect_time(st, 10) + person_us,
    };
    bool counted = sqlite3_column_type(st, 8) != SQLITE_NULL;
    struct repeated_call key = {.id = sqlite3_column_int64(st, 11)};
    const struct repeated_call *repeat =
        x->repeats_n > 0
            ? bsearch(&key, x->repeat, x->repeats_n, sizeof key, compare_repeated_calls_by_id)
            : NULL;
    x->c->repeats += repeat != NULL;
    x->c->repeats_forwarded += repeat != NULL && repeat->forwarded;
    make_group_key(x, st, at_us);
    int status =
        x->key.failed ? MI_ENOMEM : tally_add_call(&x->c->tally, buf_slice(&x->key), &call, at_us);
    if (status == 0)
        tally_add_result_tokens(&x->c->tally, counted ? sqlite3_column_int64(st, 8) : -1);
    return status;
}

/* Context of check_if_session_is_left_out(), which looks for a session that the filter selects but
 * that is not counted, because it was imported or made by `send`. */
struct left_out_search {
    struct count *c;
    struct query *q;
    int status;
};

static bool check_if_session_is_left_out(void *ctx, const struct query_session *s)
{
    struct left_out_search *l = ctx;
    bool sent = false;
    if (!l->c->sent)
        l->status = query_session_is_made_by_send(l->q, s->id, &sent);
    l->c->left_out = sent || (!l->c->imported && query_session_is_imported(s));
    return l->status == 0 && !l->c->left_out;
}

int count_calls(struct count *c, struct query *q)
{
    struct counting x = {.c = c};
    struct filter f = c->filter;
    struct left_out_search look = {c, q, 0};
    struct call_question question = {.filter = &f,
                                     .operations = !c->requests,
                                     .recorded = !c->imported,
                                     .not_sent = !c->sent,
                                     .goes_on = c->goes_on,
                                     .ctx = c->ctx};
    struct buf columns = {0};
    buf_printf(&columns, "%s" COLUMNS "%s, c.id", ways[c->by].key,
               c->requests ? OF_REQUEST : OF_OPERATION);
    f.tool = ways[c->by].tools && f.tool == NULL ? "*" : f.tool;
    c->left_out = c->several = false;
    c->repeats = c->repeats_forwarded = 0;
    c->tally = (struct tally){0};
    int st = columns.failed ? MI_ENOMEM : count_read_repeated_calls(&x, q, &f);
    if (st == 0)
        st = person_time_list_read(&x.person, q, &question, PERSON_TIME_BY_CALL);
    if (st == 0)
        st = call_rows_read(q, &question, buf_str(&columns), query_count_on_call, &x);
    if (st == 0)
        st = call_rows_check_operations(q, &c->several);
    if (st == 0 && c->tally.n == 0 && (!c->imported || !c->sent))
        st = query_matching_sessions(q, &f, FILTER_HOLDS, 0, check_if_session_is_left_out, &look);
    st = st == 0 ? look.status : st;
    person_time_list_close(&x.person);
    free(x.repeat);
    buf_close(&x.key);
    buf_close(&columns);
    return st;
}

void count_close(struct count *c)
{
    tally_close(&c->tally);
}
