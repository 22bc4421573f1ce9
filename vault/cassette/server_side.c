#include "vault/cassette/server_side.h"

#include "base/text.h"
#include "vault/cassette/message.h"
#include "wire/mcp/answer_flaw.h"
#include "wire/mcp/rule.h"

/* ---- requests without an answer ------------------------------------------------------------- */

/* Finds the client's request that an answer with this id belongs to; NULL if there is none. */
static const struct pairing_request *find_request_by_id(struct cassette_reader *r,
                                                        struct json_value id)
{
    int64_t seq = 0;
    struct rpc answer = {.kind = RPC_RESULT, .id = id};
    if (pairing_find_request(&r->pairing, PAIRING_OLDEST, false, &answer, &seq) < 0 || seq == 0)
        return NULL;
    return pairing_find(&r->pairing, seq);
}

static bool request_with_id_is_open(void *ctx, struct json_value id)
{
    return find_request_by_id(ctx, id) != NULL;
}

static bool request_of_id_has_method(void *ctx, struct json_value id, struct slice method)
{
    struct cassette_reader *r = ctx;
    const struct pairing_request *q = find_request_by_id(r, id);
    return q != NULL && slice_eq(pairing_get_text(&r->pairing, q->method_at, q->method_n), method);
}

/* ---- messages ------------------------------------------------------------------------------- */

/* Passes a message of the server to the callback. found: findings about the message; re: number of
 * the request that it answers, as in cassette_deliver_message(). */
static int deliver_server_message(struct cassette_reader *r, struct query_message *m,
                                  findings found, int64_t re)
{
    /* A repaired message has U+FFFD in place of invalid UTF-8. So a message without U+FFFD had no
     * invalid UTF-8, and does not get that finding. */
    found |= memmem(m->body.p, m->body.n, "\xEF\xBF\xBD", 3) != NULL
                 ? r->line_found
                 : r->line_found & ~FINDING(FIND_INVALID_UTF8);
    m->direction = ROW_S2C;
    m->t_us = r->line_t_us;
    m->size = (int64_t)m->body.n;
    buf_clear(&r->names);
    finding_append_names(&r->names, found, 0);
    if (r->names.n > 0)
        m->finding = buf_slice(&r->names);
    return r->names.failed ? cassette_set_no_memory_error(r) : cassette_deliver_message(r, m, re);
}

/* Marks the request as answered: the proxy would have answered it with an error, so no later answer
 * belongs to the request. */
static int mark_request_as_answered(struct cassette_reader *r, int64_t seq)
{
    struct rpc answer = {.kind = RPC_ERROR};
    int st = pairing_add_message(&r->pairing, false, &answer, 0, 0, (struct slice){0},
                                 (struct slice){0}, ROW_REFUSED, seq);
    return st < 0 ? cassette_set_no_memory_error(r) : 0;
}

/* Ends the next request that got an unreadable answer and whose deadline has passed. If no valid
 * answer has come, the proxy would have answered this request with an error. now_us: if it is
 * INT64_MAX, a request is also ended before its deadline. *ret_more: whether there was such a
 * request. */
static int end_overdue_request(struct cassette_reader *r, int64_t now_us, bool *ret_more)
{
    struct postponed_error error;
    const struct pairing_request *q = NULL;
    *ret_more = postponed_errors_take_overdue(&r->postponed, now_us, &error);
    if (*ret_more)
        q = pairing_find(&r->pairing, (int64_t)error.seq);
    return q != NULL && !q->answered ? mark_request_as_answered(r, q->seq) : 0;
}

static int report_unusable_server_line(struct cassette_reader *r, const struct server_line *line)
{
    const struct pairing_request *q = NULL;
    struct query_message m = {.kind = KIND_NOISE, .action = ROW_REFUSED, .body = line->text};
    bool answer = line->kind == SERVER_LINE_REFUSED || line->kind == SERVER_LINE_UNREADABLE;
    if (line->kind == SERVER_LINE_BLANK)
        m.action = ROW_SWALLOWED;
    if (answer)
        q = find_request_by_id(r, line->id);
    int64_t seq = q != NULL ? q->seq : 0;
    if (answer)
        m.rpc_id = line->id.text;
    int st = line->text.n > 0 || !answer ? deliver_server_message(r, &m, line->found, seq) : 0;
    if (st < 0 || seq == 0)
        return st;
    if (line->kind == SERVER_LINE_REFUSED)
        return mark_request_as_answered(r, seq);
    bool more;
    /* If the table is full, the oldest request is ended first, as in proxy/session/invalid_line. */
    if (postponed_errors_are_full(&r->postponed))
        st = end_overdue_request(r, INT64_MAX, &more);
    postponed_errors_add(&r->postponed, (uint64_t)seq, r->line_t_us + SERVER_LINES_WAIT_US);
    return st;
}

/* Writes the id of a request as JSON text into r->id. */
static struct slice write_request_id(struct cassette_reader *r, const struct pairing_request *q)
{
    /* The first byte of the key is the direction, the second is the JSON type of the id; the text
     * of the id follows. */
    struct slice key = pairing_get_text(&r->pairing, q->key_at, q->key_n);
    struct slice text = {key.p + 2, key.n - 2};
    buf_clear(&r->id);
    if (key.p[1] == 's')
        text_append_json(&r->id, text);
    else
        buf_slice_add(&r->id, text);
    return buf_slice(&r->id);
}

static int deliver_server_answer(struct cassette_reader *r, const struct server_line *line,
                                 const struct rpc *answer)
{
    const struct pairing_request *q = NULL;
    /* An error with id null answers the only open request, as in proxy/session/answer_repair. */
    if (answer->kind != RPC_ERROR || answer->id.type != JSON_NULL)
        q = find_request_by_id(r, answer->id);
    else if (r->notified_seq == 0)
        q = pairing_find_only_open_request(&r->pairing);
    struct query_message m = {.kind = KIND_UNKNOWN, .body = line->text};
    findings found = line->found;
    if (q == NULL) {
        m.action = answer->id.type == JSON_NONE ? ROW_FORWARDED : ROW_SWALLOWED;
        return deliver_server_message(r, &m, found | FINDING(FIND_UNKNOWN_ANSWER), 0);
    }
    int64_t seq = q->seq;
    struct answered asked = {write_request_id(r, q),
                             pairing_get_text(&r->pairing, q->method_at, q->method_n)};
    if (r->id.failed)
        return cassette_set_no_memory_error(r);
    enum json_type type = asked.id.p[0] == '"' ? JSON_STRING : JSON_NUMBER;
    bool other = answer->id.type != JSON_NULL && answer->id.type != type;
    enum finding flaw = answer_flaw_find(answer, asked.method);
    if (flaw == FIND_NULL_RESULT)
        found = (found | FINDING(flaw)) & ~FINDING(FIND_RESULT_NOT_OBJECT);
    if (other)
        found |= FINDING(FIND_ID_TYPE_CHANGED);
    if (answer_flaw_is_unrepairable(flaw, asked.method)) {
        m.action = ROW_REFUSED;
    } else if (answer_flaw_write_repaired_answer(answer, &asked, other, &r->mended,
                                                 &(struct repairs){0}) < 0) {
        return cassette_set_no_memory_error(r);
    } else if (r->mended.n > 0) {
        m.body = buf_slice(&r->mended);
    }
    if (answer->id.type != JSON_NULL && seq > r->notified_seq)
        /* the server reads its input in order: it has answered a later request, so it has read the
         * notification */
        r->notified_seq = 0;
    return deliver_server_message(r, &m, found, seq);
}

static int server_side_on_line(void *ctx, const struct server_line *line)
{
    struct cassette_reader *r = ctx;
    struct query_message m = {.kind = KIND_UNKNOWN, .body = line->text};
    struct rpc answer;
    if (r->stopped) /* a callback has stopped the reading at an earlier message of this line */
        return 0;
    if (line->kind != SERVER_LINE_MESSAGE)
        return report_unusable_server_line(r, line);
    if (rpc_read(line->text, &answer) == 0 &&
        (answer.kind == RPC_RESULT || answer.kind == RPC_ERROR))
        return deliver_server_answer(r, line, &answer);
    return deliver_server_message(r, &m, line->found, -1);
}

/* ---- lines ---------------------------------------------------------------------------------- */

void server_side_open(struct cassette_reader *r)
{
    struct server_lines_rules rules = {
        .max = CASSETTE_LINE_MAX,
        .open = {request_with_id_is_open, request_of_id_has_method, r},
        .line = server_side_on_line,
        .ctx = r};
    server_lines_open(&r->server, &rules);
}

void server_side_close(struct cassette_reader *r)
{
    server_lines_close(&r->server);
    postponed_errors_close(&r->postponed);
    buf_close(&r->names);
    buf_close(&r->id);
    buf_close(&r->mended);
}

/* Stops waiting for the rest of a line, and for answers to requests, if their deadlines have passed
 * at t_us. */
static int stop_waiting_past_deadline(struct cassette_reader *r, int64_t t_us)
{
    int st = r->server.waits && t_us >= r->server.until_us ? server_side_flush_waiting_line(r) : 0;
    for (bool more = true; st == 0 && more;)
        st = end_overdue_request(r, t_us, &more);
    return st;
}

int server_side_read_line(struct cassette_reader *r, struct slice line, int64_t t_us,
                          findings found)
{
    int st = stop_waiting_past_deadline(r, t_us);
    r->line_t_us = t_us;
    r->line_found = found;
    if (st == 0)
        st = server_lines_handle_line(&r->server, line, 0, t_us);
    return st < 0 && r->error->n == 0 ? cassette_set_no_memory_error(r) : st;
}

int server_side_read_client_message(struct cassette_reader *r, struct query_message *m)
{
    int st = stop_waiting_past_deadline(r, m->t_us);
    if (st == 0)
        st = cassette_deliver_message(r, m, -1);
    if (m->kind == KIND_NOTIFICATION)
        r->notified_seq = m->seq;
    return st;
}

int server_side_flush_waiting_line(struct cassette_reader *r)
{
    r->line_t_us = r->last_t_us;
    r->line_found = 0;
    return server_lines_flush_waiting(&r->server, false);
}
