#include "vault/query/user_question.h"

#include "base/grow.h"
#include "base/intern.h"
#include "model/asker.h"
#include "model/input_request.h"
#include "vault/query/call_rows.h"
#include "vault/query/person_time.h"
#include "vault/store/connect.h"
#include "vault/store/schema.h"

#include <stdlib.h>

#define OPEN_MAX 256 /* maximum number of open questions of a call */

/* A request that is read to find questions of the server: a request of the client's call during
 * which the server may have asked the user, or a question that the server sent as a request. */
struct candidate {
    int64_t call; /* id of the operation's first request */
    int64_t id;   /* id of this request, which may continue the operation */
    int64_t closing_seq, started_at_us;
    /* start and end of the time in which the call was open; the end is INT64_MAX if it is still
     * open */
    int64_t from_us, to_us;
    uint32_t server, uid, method, target; /* indexes of texts in question_search.texts */
    bool from_server;                     /* true: the request is the server's question */
};

/* A question of the current call. */
struct open_question {
    struct user_question a; /* the question; its texts are set later, from the indexes below */
    uint32_t key, what, mode, host, message; /* indexes of texts in question_search.texts */
    bool is_answered;
};

struct question_search {
    struct query *q;
    const struct user_question_filter *wanted;
    struct candidate *list; /* owned */
    size_t n, cap;
    struct intern texts;        /* owned */
    struct open_question *open; /* owned; array of OPEN_MAX questions */
    size_t open_n;
    struct buf text, body; /* owned; scratch */
    /* the request in question_search.list whose message is being read */
    const struct candidate *now;
    int64_t unread; /* number of questions whose text is not recorded */
    int status;
};

/* ---- texts ---- */

static uint32_t user_question_intern_text(struct question_search *x, struct slice s)
{
    uint32_t i = 0;
    if (intern_add(&x->texts, s, &i) < 0)
        x->status = MI_ENOMEM;
    return i;
}

static uint32_t intern_json_string(struct question_search *x, struct slice raw)
{
    buf_clear(&x->text);
    if (raw.n > 0)
        json_unescape(&x->text, raw);
    if (x->text.failed)
        x->status = MI_ENOMEM;
    return user_question_intern_text(x, buf_slice(&x->text));
}

static uint32_t intern_url_host(struct question_search *x, struct slice raw)
{
    buf_clear(&x->text);
    if (raw.n > 0)
        json_unescape(&x->text, raw);
    if (x->text.failed)
        x->status = MI_ENOMEM;
    return user_question_intern_text(x, input_request_url_host(buf_slice(&x->text)));
}

/* Returns the text with index i; {NULL, 0} if the text is empty. */
static struct slice user_question_get_text(const struct question_search *x, uint32_t i)
{
    struct slice s = intern_get_text(&x->texts, i);
    return s.n > 0 ? s : (struct slice){0};
}

/* ---- candidates ---- */

#define COLUMNS(closing_seq)                                                                       \
    "c.id, c." closing_seq ", c.direction AS direction, c.target, s.name, s.uid, s.started_at_us," \
    " c.operation_seq AS operation_seq, c.method AS method, c.t_us, c.duration_us"

static int user_question_add_candidate(void *ctx, sqlite3_stmt *st)
{
    struct question_search *x = ctx;
    if (!GROW(x->list, x->n, x->cap))
        return MI_ENOMEM;
    int64_t id = sqlite3_column_int64(st, 0), first = sqlite3_column_int64(st, 7);
    bool from_server = slice_is(connect_column(st, 2), "s2c");
    int64_t from_us = connect_time(st, 6) + connect_time(st, 9);
    bool is_open = sqlite3_column_type(st, 10) == SQLITE_NULL;
    x->list[x->n++] = (struct candidate){
        .call = first != 0 ? (id & ~SCHEMA_SEQ_MAX) + first : id,
        .id = id,
        .closing_seq = sqlite3_column_int64(st, 1),
        .started_at_us = connect_time(st, 6),
        .from_us = from_us,
        .to_us = is_open ? INT64_MAX : from_us + connect_time(st, 10),
        .server = user_question_intern_text(x, connect_column(st, 4)),
        .uid = user_question_intern_text(x, connect_column(st, 5)),
        .method =
            user_question_intern_text(x, from_server ? (struct slice){0} : connect_column(st, 8)),
        .target =
            user_question_intern_text(x, from_server ? (struct slice){0} : connect_column(st, 3)),
        .from_server = from_server,
    };
    return x->status;
}

/* Finds the call of each server request (before 2026-07-28): the only call that was open at the
 * time of the request. */
static int user_question_find_calls(struct question_search *x, const struct filter *sessions)
{
    struct person_time_list l;
    struct call_question ask = {.filter = sessions, .not_sent = !x->wanted->sent};
    int st = person_time_list_read(&l, x->q, &ask, PERSON_TIME_BY_ASK);
    for (size_t i = 0; st == 0 && i < x->n; i++) {
        struct candidate *c = &x->list[i];
        const struct person_time *of =
            c->from_server ? person_time_find_call_of_request(&l, c->id) : NULL;
        if (of == NULL)
            continue;
        c->method = user_question_intern_text(x, person_time_get_text(&l, of->method));
        c->target = user_question_intern_text(x, person_time_get_text(&l, of->target));
        st = x->status;
    }
    person_time_list_close(&l);
    return st;
}

/* Collects the first requests of operations in which the server asked, the requests that continue
 * them, and requests of the server. */
static int user_question_collect_candidates(struct question_search *x)
{
    struct filter sessions = *x->wanted->filter;
    struct call_question ask = {
        .filter = &sessions, .side = CALLS_OF_PEERS, .not_sent = !x->wanted->sent};
    /* Do not filter by tool and method here: later requests of a call may have another tool or
     * method. */
    sessions.tool = sessions.method = NULL;
    sessions.since_us = INT64_MIN;
    sessions.until_us = INT64_MAX;
    ask.around =
        "SELECT * FROM @calls WHERE CASE direction WHEN 'c2s' THEN operation_seq IS NOT NULL"
        " ELSE method IN " ASKER_METHODS " END";
    int st = call_rows_read(x->q, &ask, COLUMNS("closing_seq"), user_question_add_candidate, x);
    ask.operations = true;
    ask.around = "SELECT * FROM @calls WHERE asked > 0 AND direction = 'c2s'";
    if (st == 0)
        st = call_rows_read(x->q, &ask, COLUMNS("answer_seq") ", c.asked AS asked",
                            user_question_add_candidate, x);
    return st == 0 ? user_question_find_calls(x, &sessions) : st;
}

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->call != y->call)
        return x->call < y->call ? 1 : -1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* ---- messages ---- */

static void user_question_add_from_json(struct question_search *x, const struct query_message *m,
                                        struct slice key, struct json_value request)
{
    struct input_request r;
    /* The sanitizer has replaced the question with text that is not an object. */
    if (request.type != JSON_OBJECT)
        x->unread++;
    if (x->open_n == OPEN_MAX || !input_request_read(request, &r))
        return;
    x->open[x->open_n++] = (struct open_question){
        .a = {.session_id = x->now->id >> SCHEMA_SEQ_BITS,
              .seq = m->seq,
              .at_us = x->now->started_at_us + m->t_us,
              .answer = slice_of("never"),
              .after_us = -1},
        .key = intern_json_string(x, key),
        .what = user_question_intern_text(x, r.what),
        .mode = intern_json_string(x, r.mode),
        .host = intern_url_host(x, r.url),
        .message = intern_json_string(x, r.message),
    };
}

/* Returns the last question of the call with this key; NULL if there is none. */
static struct open_question *user_question_find_by_key(struct question_search *x, struct slice key)
{
    uint32_t i = intern_json_string(x, key);
    for (size_t n = x->open_n; n-- > 0;)
        if (x->open[n].key == i)
            return &x->open[n];
    return NULL;
}

/* Sets the answer of a question, unless the question is NULL or is answered already. */
static void user_question_set_answer(struct question_search *x, const struct query_message *m,
                                     struct open_question *o, struct json_value result,
                                     bool is_error)
{
    if (o == NULL || o->is_answered)
        return;
    int64_t at_us = x->now->started_at_us + m->t_us;
    o->is_answered = true;
    o->a.answer = slice_of(input_outcome_word(result, is_error));
    o->a.after_us = at_us > o->a.at_us ? at_us - o->a.at_us : 0;
}

/* Reads a message of a client's call: a request may contain answers, and a result may contain
 * questions. Results about a task repeat a question until the task has read the answer. */
static void user_question_on_client_message(struct question_search *x,
                                            const struct query_message *m, const struct rpc *r)
{
    struct slice key;
    struct json_value one;
    struct json_walk w = json_walk_begin(json_get(r->params, "inputResponses"));
    while (m->kind == KIND_REQUEST && json_walk_next(&w, &key, &one))
        user_question_set_answer(x, m, user_question_find_by_key(x, key), one, false);
    bool is_task = r->in_result[FIELD_TASK_ID] != JSON_NONE;
    w = json_walk_begin(json_get(r->result, "inputRequests"));
    while (m->kind == KIND_RESULT && json_walk_next(&w, &key, &one))
        if (!is_task || user_question_find_by_key(x, key) == NULL)
            user_question_add_from_json(x, m, key, one);
}

static bool user_question_on_message(void *ctx, const struct query_message *m)
{
    struct question_search *x = ctx;
    struct rpc r;
    struct slice body = m->body;
    if (body.p == NULL && m->body_length > 0 && (uint64_t)m->body_length <= QUESTION_MESSAGE_MAX) {
        buf_clear(&x->body);
        if (query_body(x->q, user_question_get_text(x, x->now->uid), m, QUESTION_MESSAGE_MAX,
                       &x->body) == 0)
            body = buf_slice(&x->body);
    }
    if (body.p == NULL || rpc_read(body, &r) < 0)
        x->unread += m->kind == KIND_REQUEST &&
                     (x->now->from_server || m->seq == (x->now->call & SCHEMA_SEQ_MAX));
    else if (!x->now->from_server)
        user_question_on_client_message(x, m, &r);
    else if (m->kind == KIND_REQUEST)
        user_question_add_from_json(x, m, (struct slice){0},
                                    (struct json_value){JSON_OBJECT, r.text});
    else if (query_message_is_answer(m) && x->open_n > 0 &&
             x->open[x->open_n - 1].a.seq == (x->now->id & SCHEMA_SEQ_MAX))
        user_question_set_answer(x, m, &x->open[x->open_n - 1], r.result, m->kind == KIND_ERROR);
    return false;
}

/* Reads the message `seq` in the session of the request `c`. If `seq` is 0, there is no message to
 * read. */
static int user_question_read_message(struct question_search *x, const struct candidate *c,
                                      int64_t seq)
{
    x->now = c;
    int st = seq == 0 ? 0
                      : query_message_rows(x->q, c->id >> SCHEMA_SEQ_BITS, seq, seq, QUERY_FORWARD,
                                           true, user_question_on_message, x);
    return st < 0 ? st : x->status;
}

/* ---- calls ---- */

/* Whether a call may have questions that match the filter. first: array with the n requests of the
 * call. */
static bool user_question_call_may_match(const struct question_search *x,
                                         const struct candidate *first, size_t n)
{
    const struct filter *f = x->wanted->filter;
    int64_t from_us = first->from_us, to_us = first->to_us;
    for (size_t i = 1; i < n; i++) {
        from_us = first[i].from_us < from_us ? first[i].from_us : from_us;
        to_us = first[i].to_us > to_us ? first[i].to_us : to_us;
    }
    return from_us < f->until_us && to_us >= f->since_us &&
           filter_matches_call(f, user_question_get_text(x, first->method),
                               user_question_get_text(x, first->target));
}

/* Passes the questions of a call to the callback. Returns false to stop. */
static bool user_question_pass_to_callback(struct question_search *x, const struct candidate *first,
                                           user_question_fn fn, void *ctx)
{
    bool more = true;
    for (size_t i = 0; more && i < x->open_n; i++) {
        struct user_question a = x->open[i].a;
        a.server = user_question_get_text(x, first->server);
        a.method = user_question_get_text(x, first->method);
        a.target = user_question_get_text(x, first->target);
        a.what = user_question_get_text(x, x->open[i].what);
        a.mode = user_question_get_text(x, x->open[i].mode);
        a.host = user_question_get_text(x, x->open[i].host);
        a.message = user_question_get_text(x, x->open[i].message);
        more = !filter_includes_time(x->wanted->filter, a.at_us) || fn(ctx, &a);
    }
    x->open_n = 0;
    return more;
}

static int user_question_read_calls(struct question_search *x, user_question_fn fn, void *ctx)
{
    int st = 0;
    bool more = true;
    for (size_t i = 0; st == 0 && more && i < x->n;) {
        const struct candidate *first = &x->list[i];
        size_t from = i;
        while (i < x->n && x->list[i].call == first->call)
            i++;
        for (size_t at = from;
             st == 0 && at < i && user_question_call_may_match(x, first, i - from); at++) {
            const struct candidate *c = &x->list[at];
            st = user_question_read_message(x, c, c->id & SCHEMA_SEQ_MAX);
            if (st == 0)
                st = user_question_read_message(x, c, c->closing_seq);
        }
        more = st == 0 && user_question_pass_to_callback(x, first, fn, ctx);
    }
    return st;
}

int user_question_read_all(struct query *q, const struct user_question_filter *wanted,
                           user_question_fn fn, void *ctx, int64_t *ret_unread)
{
    struct question_search x = {.q = q, .wanted = wanted, .open = calloc(OPEN_MAX, sizeof *x.open)};
    int st = x.open != NULL ? user_question_collect_candidates(&x) : MI_ENOMEM;
    if (x.n > 0)
        qsort(x.list, x.n, sizeof *x.list, compare_candidates);
    if (st == 0)
        st = user_question_read_calls(&x, fn, ctx);
    *ret_unread = x.unread;
    intern_close(&x.texts);
    buf_close(&x.text);
    buf_close(&x.body);
    free(x.list);
    free(x.open);
    return st;
}
