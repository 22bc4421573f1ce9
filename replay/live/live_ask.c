#include "replay/live/live_ask.h"

#include "base/clock.h"
#include "replay/source/marks.h"
#include "wire/json/text.h"
#include "wire/mcp/answer_flaw.h"
#include "wire/mcp/own.h"
#include "wire/rpc_id.h"
#include "wire/rpc_out.h"

#include <stdio.h>

#define PAGES_MAX 100 /* maximum number of pages of the live server's tools/list that are read */

/* ---- requests of the live server ---- */

/* Finds the next recorded request of this method that the client answered. */
static int find_recorded_request(struct live_session *t, const struct rpc *live, uint32_t *ret)
{
    struct buf method = {0};
    int st = 0;
    json_unescape(&method, live->method);
    buf_addc(&method, '\0');
    *ret = LIVE_SESSION_NONE;
    for (uint32_t k = 0; st == 0 && !method.failed && k < t->n && *ret == LIVE_SESSION_NONE; k++) {
        uint32_t i = (uint32_t)(((uint64_t)t->from + k) % t->n);
        const struct recorded_message *it = &t->items[i];
        struct rpc m;
        if (it->kind != RPC_REQUEST || it->from_client || it->used || it->lost ||
            it->answer == LIVE_SESSION_NONE || t->items[it->answer].lost)
            continue;
        st = live_session_read_recorded_body(t, i, &t->other);
        if (st == 0 && rpc_read(buf_slice(&t->other), &m) == 0 && rpc_method_is(&m, method.p))
            *ret = i;
    }
    if (method.failed)
        st = live_session_set_no_memory_error(t);
    buf_close(&method);
    return st;
}

/* Writes the client's recorded answer to this request of the server into `out`. *ret_refused: the
 * reason if there is no usable answer, else NULL. */
static int find_recorded_answer(struct live_session *t, const struct rpc *live, struct buf *out,
                                const char **ret_refused)
{
    uint32_t i;
    struct rpc m;
    *ret_refused = "No answer to this request was recorded";
    int st = find_recorded_request(t, live, &i);
    if (st < 0 || i == LIVE_SESSION_NONE)
        return st;
    t->items[i].used = true;
    st = live_session_read_recorded_body(t, t->items[i].answer, &t->other);
    if (st < 0 || rpc_read(buf_slice(&t->other), &m) < 0)
        return st;
    *ret_refused = "The recorded answer to this request is redacted or truncated";
    if (marks_find_in_text(m.text) != MARKS_NONE)
        return 0;
    *ret_refused = NULL;
    return live_session_rewrite_message(t, &m, live->id.text, true, out);
}

static int answer_server_request(struct live_session *t, const struct rpc *live)
{
    const char *refused = NULL;
    struct buf out = {0};
    int st = rpc_method_is(live, "ping") ? 0 : find_recorded_answer(t, live, &out, &refused);
    if (out.n == 0) { /* a ping gets an empty result; another request gets an error */
        struct json_out j = json_out_to(&out);
        rpc_out_begin_answer(&j, live->id.text);
        json_out_object(&j, refused == NULL ? "result" : "error");
        if (refused != NULL) {
            json_out_int(&j, "code", -32601);
            json_out_str(&j, "message", refused);
        }
        rpc_out_end(&j);
    }
    if (st == 0 && t->heard != NULL)
        t->heard(t->ctx, live, refused);
    if (st == 0)
        st = out.failed ? live_session_set_no_memory_error(t)
                        : live_send_line(t->server, buf_slice(&out));
    buf_close(&out);
    return st;
}

/* ---- requests of the client ---- */

static int64_t compute_answer_deadline(const struct live_session *t)
{
    return t->timeout_us > 0 ? clock_mono_us() + t->timeout_us : INT64_MAX;
}

/* Changes the answer *m as the proxy would for its client: repairs the answer, or replaces it by an
 * error. */
static int repair_or_replace_answer(struct live_session *t, int64_t id, struct slice method,
                                    struct rpc *m)
{
    char digits[24];
    struct repairs r = {0};
    int n = snprintf(digits, sizeof digits, "%lld", (long long)id);
    struct answered q = {{digits, (size_t)n}, method};
    enum finding flaw = answer_flaw_find(m, method);
    int st = answer_flaw_write_repaired_answer(m, &q, false, &t->mended, &r);
    if (st == 0 && answer_flaw_is_unrepairable(flaw, method)) {
        struct buf why = {0};
        buf_printf(&why, "the server's answer is invalid: %s", finding_meaning(flaw));
        struct json_out j = json_out_to(&t->mended);
        rpc_out_begin_error_answer(&j, q.id, RPC_INTERNAL_ERROR, buf_str(&why), "malformed-answer");
        rpc_out_end(&j);
        st = why.failed ? MI_ENOMEM : 0;
        buf_close(&why);
    }
    if (st < 0 || t->mended.failed || (t->mended.n > 0 && rpc_read(buf_slice(&t->mended), m) < 0))
        return live_session_set_no_memory_error(t);
    return 0;
}

/* Waits for the answer with this id to a request of this method. *ret borrows from the live
 * server's line, or from t->mended. */
static int await_answer_of_request(struct live_session *t, int64_t id, struct slice method,
                                   struct rpc *ret, bool *ret_answered)
{
    int64_t until = compute_answer_deadline(t);
    *ret_answered = false;
    for (;;) {
        struct slice line;
        enum live_result r = live_receive_line(t->server, until, &line);
        if (r == LIVE_NO_MEMORY)
            return live_session_set_no_memory_error(t);
        if (r == LIVE_TOO_LONG) {
            buf_clear(t->error);
            buf_printf(t->error, "the server sent a line of more than %zu bytes", LIVE_LINE_MAX);
            return MI_EPROTO;
        }
        if (r != LIVE_LINE) {
            t->ended = r == LIVE_ENDED;
            t->interrupted = r == LIVE_INTERRUPTED;
            return 0;
        }
        if (rpc_read(line, ret) < 0)
            continue; /* a banner or a log line, which the proxy would also drop */
        if (ret->kind == RPC_REQUEST) {
            int st = answer_server_request(t, ret);
            if (st < 0)
                return st;
        } else if ((ret->kind == RPC_RESULT || ret->kind == RPC_ERROR) &&
                   rpc_id_equals_number(ret->id, (uint64_t)id)) {
            t->notified = false;
            *ret_answered = true;
            return repair_or_replace_answer(t, id, method, ret);
        } else if (ret->kind == RPC_ERROR && ret->id.type == JSON_NULL && !t->notified) {
            /* Servers send an error without an id if they cannot read a request. */
            *ret_answered = true;
            return repair_or_replace_answer(t, id, method, ret);
        } else if (ret->kind == RPC_NOTIFICATION) {
            if (rpc_method_is(ret, "notifications/progress"))
                until = compute_answer_deadline(t); /* progress shows that the server is working */
            if (t->heard != NULL)
                t->heard(t->ctx, ret, NULL);
        }
    }
}

int live_session_send_notification(struct live_session *t, struct slice line)
{
    t->notified = true;
    return live_send_line(t->server, line);
}

static int send_line(struct live_session *t, struct slice method)
{
    live_set_awaited_request(t->server, (uint64_t)t->next_id, method);
    int st = live_send_line(t->server, buf_slice(&t->line));
    t->sent = live_count_sent_bytes(t->server);
    return st;
}

static int request_page_of_tools(struct live_session *t, struct slice meta, struct slice cursor,
                                 struct rpc *ret, bool *ret_answered)
{
    buf_clear(&t->line);
    char id[24];
    int n = snprintf(id, sizeof id, "%lld", (long long)++t->next_id);
    own_write_tools_list(&t->line, (struct slice){id, (size_t)n}, meta,
                         cursor.n > 0 ? cursor : (struct slice){0});
    int st =
        t->line.failed ? live_session_set_no_memory_error(t) : send_line(t, slice_of("tools/list"));
    return st < 0
               ? st
               : await_answer_of_request(t, t->next_id, slice_of("tools/list"), ret, ret_answered);
}

int live_session_request_tools(struct live_session *t, struct slice meta, struct tools *ret,
                               struct rpc *ret_last, bool *ret_answered)
{
    struct buf cursor = {0};
    uint64_t hash = 0;
    int st = 0;
    *ret_answered = false;
    for (int page = 0; st == 0 && !t->knows_live_tools && page < PAGES_MAX; page++) {
        st = request_page_of_tools(t, meta, buf_slice(&cursor), ret_last, ret_answered);
        if (st < 0 || !*ret_answered || ret_last->kind != RPC_RESULT)
            break;
        st = live_session_add_tools(t, ret_last->result, true);
        if (ret != NULL)
            tools_add_page(ret, ret_last, hash);
        hash = rpc_id_hash_json(ret_last->next_cursor);
        buf_clear(&cursor);
        buf_slice_add(&cursor, ret_last->next_cursor.text);
    }
    buf_close(&cursor);
    return st;
}

int live_session_send_and_await(struct live_session *t, const struct rpc *request, struct rpc *ret,
                                bool *ret_answered)
{
    char id[24];
    *ret_answered = false;
    if (t->ended)
        return 0;
    int n = snprintf(id, sizeof id, "%lld", (long long)++t->next_id);
    int st =
        live_session_rewrite_message(t, request, (struct slice){id, (size_t)n}, true, &t->line);
    if (st == 0)
        st = send_line(t, request->method);
    if (st == 0)
        st = await_answer_of_request(t, t->next_id, request->method, ret, ret_answered);
    return st;
}
