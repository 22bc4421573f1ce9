#include "cli/send/peer.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/frame/proxy_argv.h"
#include "replay/source/marks.h"
#include "wire/json/text.h"
#include "wire/mcp/own.h"
#include "wire/rpc_out.h"

#include <inttypes.h>
#include <stdio.h>

/* maximum wait for the proxy; longer than the proxy waits for its server to exit */
#define GRACE_US (INT64_C(20) * 1000000)

/* ---- starting ---- */

int peer_load_recording(struct peer *p, struct source *source)
{
    p->session.source = source;
    p->session.error = &p->error;
    return live_session_load_recording(&p->session);
}

int peer_start_server(struct peer *p, const struct settings *s, char *const *argv, const char *dir,
                      const char *name, const char *from)
{
    const char *const options[] = {
        "--timeout",
        settings_get_text(s, "timeout"),
        "--name",
        name,
        "--sent",
        from != NULL ? from : "new",
        "--restarts",
        "0",
        "--check-arguments",
        "off", /* `send` checks the arguments itself, unless --unchecked */
        NULL,
    };
    struct proxy_argv proxy;
    /* The wait is two seconds longer than the proxy's deadline, which must pass first. */
    if (settings_get_text(s, "timeout") != NULL)
        p->session.timeout_us = settings_duration_us(s, "timeout") + 2 * INT64_C(1000000);
    int st = proxy_argv_open(&proxy, s, options, argv) == EXIT_FINE
                 ? live_open(&p->live, proxy.argv, dir, &p->error)
                 : MI_EINVAL;
    p->session.server = p->live;
    if (st == 0)
        live_wait_longer_for_proxy_exit(p->live);
    proxy_argv_close(&proxy);
    return st;
}

/* ---- greeting ---- */

/* Sends a request that is not in the recording. params: JSON. */
static int send_peer_request(struct peer *p, const char *method, struct slice params,
                             struct rpc *ret, bool *ret_answered)
{
    struct buf b = {0};
    struct rpc m;
    struct json_out j = json_out_to(&b);
    rpc_out_begin_request(&j, slice_of("0"), method);
    json_out_raw(&j, "params", params);
    rpc_out_end(&j);
    int st = b.failed || rpc_read(buf_slice(&b), &m) < 0
                 ? live_session_set_no_memory_error(&p->session)
                 : live_session_send_and_await(&p->session, &m, ret, ret_answered);
    buf_close(&b);
    return st;
}

/* Finds the newest recorded message of this method before item `before`, and reads the message into
 * t->request. Sets *ret_found to whether there is such a message. */
static int find_recorded_message(struct live_session *t, uint32_t before, const char *method,
                                 struct rpc *ret, bool *ret_found)
{
    *ret_found = false;
    for (uint32_t i = before < t->n ? before : t->n; i > 0; i--) {
        const struct recorded_message *it = &t->items[i - 1];
        if (!it->from_client || it->lost ||
            (it->kind != RPC_REQUEST && it->kind != RPC_NOTIFICATION))
            continue;
        int st = live_session_read_recorded_body(t, i - 1, &t->request);
        if (st < 0)
            return st;
        *ret_found = rpc_read(buf_slice(&t->request), ret) == 0 && rpc_method_is(ret, method);
        if (*ret_found)
            return 0;
    }
    return 0;
}

/* Writes the params of the initialize request to `b`. */
static int choose_initialize_params(struct peer *p, uint32_t before, enum revision revision,
                                    struct buf *b)
{
    struct rpc m;
    bool found = false;
    int st = find_recorded_message(&p->session, before, "initialize", &m, &found);
    if (st < 0)
        return st;
    if (found && marks_find_in_text(m.params.text) != MARKS_NONE) {
        log_warn("the recorded initialize is redacted or truncated: mcp-interposer sends its own "
                 "instead");
        found = false;
    }
    if (found && revision == REV_COUNT)
        buf_slice_add(b, m.params.text);
    else
        own_write_initialize_params(b, revision != REV_COUNT ? revision : REV_2025_11_25);
    return b->failed ? live_session_set_no_memory_error(&p->session) : 0;
}

static int send_initialized_notification(struct peer *p, uint32_t before)
{
    struct rpc m;
    bool found = false;
    int st = find_recorded_message(&p->session, before, "notifications/initialized", &m, &found);
    struct buf own = {0};
    if (st < 0)
        return st;
    own_write_initialized_message(&own);
    bool sent = !own.failed &&
                live_session_send_notification(&p->session, found ? m.text : buf_slice(&own)) == 0;
    buf_close(&own);
    return sent ? 0 : live_session_set_no_memory_error(&p->session);
}

/* Called after the server has rejected initialize: asks whether the server speaks 2026-07-28. Sets
 * p->meta if the server does. */
static int try_modern_revision(struct peer *p)
{
    struct buf params = {0};
    struct rpc m;
    bool answered = false;
    buf_clear(&p->meta);
    own_write_request_meta(&p->meta);
    buf_adds(&params, "{\"_meta\":");
    buf_slice_add(&params, buf_slice(&p->meta));
    buf_addc(&params, '}');
    int st = params.failed
                 ? live_session_set_no_memory_error(&p->session)
                 : send_peer_request(p, "server/discover", buf_slice(&params), &m, &answered);
    if (st < 0 || !answered || m.kind != RPC_RESULT)
        buf_clear(&p->meta);
    buf_close(&params);
    return st;
}

static int send_peer_initialize(struct peer *p, uint32_t before, enum revision revision,
                                enum peer_greeting *ret, struct rpc *ret_answer)
{
    struct buf params = {0};
    bool answered = false;
    int st = choose_initialize_params(p, before, revision, &params);
    if (st == 0)
        st = send_peer_request(p, "initialize", buf_slice(&params), ret_answer, &answered);
    buf_close(&params);
    if (st < 0)
        return st;
    *ret = !answered ? PEER_SILENT : ret_answer->kind == RPC_ERROR ? PEER_REFUSED : PEER_READY;
    return *ret == PEER_READY ? send_initialized_notification(p, before) : 0;
}

int peer_perform_handshake(struct peer *p, uint32_t before, enum revision revision,
                           enum peer_greeting *ret, struct rpc *ret_answer)
{
    struct buf refusal = {0};
    *ret = PEER_READY;
    if (revision == REV_2026_07_28) {
        if (p->meta.n == 0)
            own_write_request_meta(&p->meta);
        return p->meta.failed ? live_session_set_no_memory_error(&p->session) : 0;
    }
    int st = send_peer_initialize(p, before, revision, ret, ret_answer);
    if (st < 0 || *ret != PEER_REFUSED || revision != REV_COUNT ||
        rpc_is_interposer_error(ret_answer))
        return st;
    /* copies the text of the refusal, because the next answer overwrites it */
    buf_slice_add(&refusal, ret_answer->text);
    st = try_modern_revision(p);
    if (st == 0 && p->meta.n > 0) {
        *ret = PEER_READY;
    } else if (st == 0) {
        buf_clear(&p->session.recorded);
        buf_slice_add(&p->session.recorded, buf_slice(&refusal));
        if (p->session.recorded.failed || rpc_read(buf_slice(&p->session.recorded), ret_answer) < 0)
            st = live_session_set_no_memory_error(&p->session);
    }
    buf_close(&refusal);
    return st;
}

bool peer_says_server_ended(const struct rpc *answer)
{
    int64_t code;
    /* in revision 2026-07-28, RPC_SERVER_GONE has the code -31000 */
    return rpc_is_interposer_error(answer) && json_int(answer->error_code, &code) &&
           (code == RPC_SERVER_GONE || code == -31000);
}

int peer_request_tools(struct peer *p, struct rpc *ret_last, bool *ret_answered)
{
    struct slice meta = p->meta.n > 0 ? buf_slice(&p->meta) : (struct slice){0};
    return live_session_request_tools(&p->session, meta, &p->tools, ret_last, ret_answered);
}

/* ---- messages of the server ---- */

#define REPORTED_MAX 500 /* maximum bytes reported of a text */

static void append_reported_value(struct buf *b, struct json_value v)
{
    struct buf text = {0};
    if (v.type == JSON_STRING)
        json_unescape(&text, json_string_raw(v));
    else
        buf_slice_add(&text, v.text);
    buf_slice_add(b, text_prefix(buf_slice(&text), REPORTED_MAX));
    b->failed |= text.failed;
    buf_close(&text);
}

static void peer_on_message(void *ctx, const struct rpc *m, const char *refused)
{
    struct buf b = {0};
    (void)ctx;
    if (m->kind == RPC_REQUEST) {
        json_unescape(&b, m->method);
        log_note("the server requested %s: %s", buf_str(&b),
                 refused == NULL ? "the recorded answer was sent" : refused);
    } else if (rpc_method_is(m, "notifications/message")) {
        append_reported_value(&b, json_get(m->params, "level"));
        buf_adds(&b, ": ");
        append_reported_value(&b, json_get(m->params, "data"));
        log_note("the server logs %s", buf_str(&b));
    } else if (rpc_method_is(m, "notifications/progress")) {
        struct json_value total = json_get(m->params, "total");
        struct json_value message = json_get(m->params, "message");
        append_reported_value(&b, m->progress);
        buf_adds(&b, total.type == JSON_NUMBER ? " of " : "");
        if (total.type == JSON_NUMBER)
            append_reported_value(&b, total);
        buf_adds(&b, message.type == JSON_STRING ? ": " : "");
        if (message.type == JSON_STRING)
            append_reported_value(&b, message);
        log_note("progress %s", buf_str(&b));
    }
    buf_close(&b);
}

void peer_report_messages(struct peer *p)
{
    p->session.heard = peer_on_message;
}

/* ---- ending ---- */

void peer_cancel_request(struct peer *p)
{
    struct buf b = {0};
    struct slice line;
    char id[24];
    int n = snprintf(id, sizeof id, "%" PRId64, p->session.next_id);
    own_write_cancelled_message(&b, (struct slice){id, (size_t)n}, NULL);
    if (!b.failed && live_send_line(p->live, buf_slice(&b)) == 0)
        /* live_receive_line() also writes the line that live_send_line() has queued */
        p->session.ended = live_receive_line(p->live, clock_mono_us(), &line) == LIVE_ENDED;
    buf_close(&b);
}

int peer_end_server(struct peer *p)
{
    int status = live_close(p->live, GRACE_US);
    p->live = p->session.server = NULL;
    return status;
}

void peer_close(struct peer *p)
{
    (void)peer_end_server(p);
    live_session_close(&p->session);
    tools_close(&p->tools);
    buf_close(&p->meta);
    buf_close(&p->error);
    *p = (struct peer){0};
}
