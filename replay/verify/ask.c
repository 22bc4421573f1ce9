#include "replay/verify/ask.h"

#include "base/clock.h"
#include "wire/json/text.h"
#include "wire/rpc_id.h"
#include "wire/rpc_out.h"

#include <stdio.h>

#define PAGES_MAX 100 /* of a live tools/list */

/* ---- requests of the live server ---- */

/* The next recorded request of this method that the client answered. */
static int find_request(struct verify *v, const struct rpc *live, uint32_t *ret)
{
    struct buf method = {0};
    int st = 0;
    json_unescape(&method, live->method);
    buf_addc(&method, '\0');
    *ret = VERIFY_NONE;
    for (uint32_t i = 0; st == 0 && !method.failed && i < v->n && *ret == VERIFY_NONE; i++) {
        struct verify_item *it = &v->items[i];
        struct rpc m;
        if (it->kind != RPC_REQUEST || it->from_client || it->used || it->lost ||
            it->answer == VERIFY_NONE || v->items[it->answer].lost)
            continue;
        st = verify_body(v, i, &v->other);
        if (st == 0 && rpc_read(buf_slice(&v->other), &m) == 0 && rpc_method_is(&m, method.p))
            *ret = i;
    }
    if (method.failed)
        st = verify_no_memory(v);
    buf_close(&method);
    return st;
}

/* Sends the client's recorded answer, or an error. */
static int answer_server(struct verify *v, const struct rpc *live)
{
    uint32_t i = VERIFY_NONE;
    struct rpc m;
    struct buf out = {0};
    int st = rpc_method_is(live, "ping") ? 0 : find_request(v, live, &i);
    if (st == 0 && i != VERIFY_NONE) {
        v->items[i].used = true;
        st = verify_body(v, v->items[i].answer, &v->other);
        if (st == 0 && rpc_read(buf_slice(&v->other), &m) == 0)
            st = verify_rewrite(v, &m, live->id.text, true, &out);
    }
    if (out.n == 0) {
        struct json_out j = json_out_to(&out);
        rpc_out_answer(&j, live->id.text);
        json_out_object(&j, rpc_method_is(live, "ping") ? "result" : "error");
        if (!rpc_method_is(live, "ping")) {
            json_out_int(&j, "code", -32601);
            json_out_str(&j, "message", "No answer to this was recorded");
        }
        rpc_out_end(&j);
    }
    if (st == 0)
        st = out.failed ? verify_no_memory(v) : live_send(v->server, buf_slice(&out));
    buf_close(&out);
    return st;
}

/* ---- requests of the client ---- */

/* Waits for the answer with this id; *ret is in the live server's line. */
static int await(struct verify *v, int64_t id, struct rpc *ret, bool *ret_answered)
{
    int64_t until = clock_mono_us() + v->cfg->timeout_us;
    *ret_answered = false;
    for (;;) {
        struct slice line;
        enum live_result r = live_recv(v->server, until, &line);
        if (r == LIVE_FAILED)
            return verify_no_memory(v);
        if (r != LIVE_LINE) {
            v->ended = r == LIVE_ENDED;
            return 0;
        }
        if (rpc_read(line, ret) < 0)
            continue; /* a banner or a log line: the proxy drops it, too */
        if (ret->kind == RPC_REQUEST) {
            int st = answer_server(v, ret);
            if (st < 0)
                return st;
        } else if ((ret->kind == RPC_RESULT || ret->kind == RPC_ERROR) &&
                   rpc_id_is(ret->id, (uint64_t)id)) {
            *ret_answered = true;
            return 0;
        } else if (ret->kind == RPC_NOTIFICATION && rpc_method_is(ret, "notifications/progress")) {
            until = clock_mono_us() + v->cfg->timeout_us; /* the server is working */
        }
    }
}

static int send_request(struct verify *v, const struct rpc *m, int64_t *ret_id)
{
    char id[24];
    int n = snprintf(id, sizeof id, "%lld", (long long)++v->next_id);
    *ret_id = v->next_id;
    int st = verify_rewrite(v, m, (struct slice){id, (size_t)n}, true, &v->line);
    return st < 0 ? st : live_send(v->server, buf_slice(&v->line));
}

int verify_ask_tools(struct verify *v, const struct rpc *call)
{
    struct buf cursor = {0};
    bool answered = true;
    int st = 0;
    for (int page = 0; st == 0 && answered && !v->knows_live_tools && page < PAGES_MAX; page++) {
        struct rpc answer = {0};
        buf_clear(&v->line);
        struct json_out j = json_out_to(&v->line);
        json_out_object(&j, NULL);
        json_out_str(&j, "jsonrpc", "2.0");
        json_out_int(&j, "id", ++v->next_id);
        json_out_str(&j, "method", "tools/list");
        json_out_object(&j, "params");
        if (rpc_is_modern(call))
            json_out_raw(&j, "_meta", call->meta.text);
        if (cursor.n > 0)
            json_out_raw(&j, "cursor", buf_slice(&cursor));
        json_out_end(&j);
        json_out_end(&j);
        st = v->line.failed ? verify_no_memory(v) : live_send(v->server, buf_slice(&v->line));
        if (st == 0)
            st = await(v, v->next_id, &answer, &answered);
        answered = answered && answer.kind == RPC_RESULT;
        if (st < 0 || !answered)
            break;
        st = verify_learn_tools(v, answer.result, true);
        buf_clear(&cursor);
        buf_slice_add(&cursor, json_get(answer.result, "nextCursor").text);
    }
    buf_close(&cursor);
    return st;
}

int verify_ask(struct verify *v, const struct rpc *request, struct rpc *ret, bool *ret_answered)
{
    int64_t id;
    int st = 0;
    *ret_answered = false;
    if (!v->ended)
        st = send_request(v, request, &id);
    if (st == 0 && !v->ended)
        st = await(v, id, ret, ret_answered);
    return st;
}
