#include "proxy/session/traffic.h"

#include "base/log.h"
#include "proxy/session/answer.h"
#include "proxy/session/arguments.h"
#include "proxy/session/batch.h"
#include "proxy/session/correlate.h"
#include "proxy/session/invalid_line.h"
#include "proxy/session/stray.h"
#include "proxy/session/tool_gate.h"
#include "wire/lenient.h"

#include <stdio.h>

#define LARGE_MESSAGE ((size_t)10 << 20) /* size of the TypeScript SDK's buffer (mcp-wire.md 7.2) */
/* the client is not read while this many bytes of the interposer's answers are unread */
#define OWN_BYTES_MAX ((size_t)1 << 20)
#define HEAD_RECORDED 4096 /* bytes of a line over --max-message that are recorded */

void traffic_open(struct traffic *t, const struct journal *j, const char *server, enum validate v,
                  size_t max_message)
{
    *t = (struct traffic){.journal = j,
                          .server = server,
                          .validate = v,
                          .max_message = max_message,
                          .check_arguments = ARGUMENTS_WARN};
    for (int i = 0; i < 2; i++) {
        outbox_open(&t->out[i]);
        pending_open(&t->open[i]);
    }
    timers_open(&t->timers, NULL, 0);
    handshake_open(&t->handshake);
    protocol_open(&t->protocol);
    repeats_open(&t->repeats, ON_REPEAT_WARN, 0, &(struct hash_key){0});
    invalid_line_open(t);
    answer_reserve_error_memory(t);
    t->tools.limits.cpu_us = ARGUMENTS_CPU_US;
}

void traffic_close(struct traffic *t)
{
    for (int i = 0; i < 2; i++) {
        outbox_close(&t->out[i]);
        pending_close(&t->open[i]);
    }
    timers_close(&t->timers);
    handshake_close(&t->handshake);
    protocol_close(&t->protocol);
    repeats_close(&t->repeats);
    invalid_line_close(t);
    tool_ask_close(&t->gate);
    tools_close(&t->tools);
    tools_close(&t->previous_tools.tools);
    buf_close(&t->scratch);
    buf_close(&t->hidden);
    chunk_release(t->spare);
}

void traffic_set_deadlines(struct traffic *t, const struct deadlines *rules, int64_t max_us)
{
    timers_open(&t->timers, rules, max_us);
}

static const char *sender_name(enum row_direction dir)
{
    return dir == ROW_C2S ? "client" : "server";
}

/* ---- valid messages ------------------------------------------------------------------------- */

/* Logs a large message with the name of its request: some clients close the connection on it
 * (mcp-wire.md 7.2). */
static void warn_of_large_message(struct traffic *t, const struct message *x)
{
    struct buf name = {0}, id = {0};
    struct slice method = x->m.method, target = rpc_target(&x->m), none = {"", 0};
    if (method.p == NULL) {
        bool type_changed;
        enum row_direction asker = x->dir == ROW_C2S ? ROW_S2C : ROW_C2S;
        const struct pending *p = pending_find(&t->open[asker], x->m.id, &type_changed);
        method = p != NULL ? p->method : none;
        target = p != NULL ? p->target : (struct slice){0};
    }
    message_append_name(&name, method, target);
    message_append_name(&id, x->m.id.text.p != NULL ? x->m.id.text : none, (struct slice){0});
    log_warn("large message, some clients close the connection at 10 MiB: from=%s server=%s "
             "bytes=%zu id=%s message=\"%s\"",
             sender_name(x->dir), t->server, x->size, buf_str(&id), buf_str(&name));
    buf_close(&name);
    buf_close(&id);
}

/* Returns true if the message waits for the list of tools; then a copy of its line is handled
 * later. */
static bool line_must_wait_for_tools(struct traffic *t, const struct message *x)
{
    if (!tool_gate_must_delay_message(t, x))
        return false;
    if (tool_ask_queue_message(t, x, x->repairs & FINDING(FIND_NO_NEWLINE)))
        return true;
    traffic_release_waiting_lines(t);
    return false;
}

static void handle_valid_line(struct traffic *t, struct message *x)
{
    if (t->gate.rule != NULL && x->dir == ROW_C2S && line_must_wait_for_tools(t, x))
        return;
    if (x->repairs & FINDING(FIND_LARGE_MESSAGE))
        warn_of_large_message(t, x);
    if (x->dir == ROW_S2C)
        t->timers.server_messages++;
    if (x->m.kind == RPC_BATCH)
        batch_handle_message(t, x);
    else if (correlate_message(t, x))
        message_add_text_to_outbox(t, x);
    message_close(x);
    if (t->gate.rule != NULL && x->dir == ROW_S2C)
        traffic_release_waiting_lines(t);
}

/* ---- invalid lines -------------------------------------------------------------------------- */

static void handle_unusual_server_line(struct traffic *t, struct message *x)
{
    if (invalid_line_handle_server_line(t, x))
        handle_valid_line(t, x);
}

static void handle_invalid_client_line(struct traffic *t, struct message *x)
{
    bool json = x->m.fault.kind == JSON_OK;
    struct buf why = {0};
    struct lenient object; /* x->m.id borrows the id from this variable */
    struct slice rest = {0};
    if (json) {
        buf_printf(&why, "Invalid Request: %s", answer_explain_non_message(x->m.findings));
    } else {
        invalid_line_find_first_id(x, &object, &rest);
        buf_adds(&why, "Parse error: ");
        lenient_json_append_fault(x->m.fault.kind, x->text, x->m.fault.at, &why);
        buf_printf(&why, " at byte %zu of the line", x->m.fault.at);
    }
    findings other = line_find_other_framing(x->text, &t->invalid_lines.client_http);
    x->m.findings |= other;
    if (other & FINDING(FIND_CONTENT_LENGTH))
        buf_adds(&why, "; Content-Length is the framing of LSP, MCP expects one message per line");
    if (other & FINDING(FIND_HTTP_OVER_STDIO))
        buf_adds(&why,
                 "; this is HTTP, MCP over stdio expects one JSON message per line: configure "
                 "the client for the transport stdio");
    struct invalid_line_rejection r = {.code = json ? RPC_INVALID_REQUEST : RPC_PARSE_ERROR,
                                       .why = buf_str(&why),
                                       .cause = json ? "not-jsonrpc" : "not-json"};
    r.seq = answer_reject_message(t, x, r.code, r.why, r.cause);
    invalid_line_reject_later_objects(t, x, rest, &r);
    buf_close(&why);
}

static void handle_blank_line(struct traffic *t, struct message *x)
{
    x->repairs |= FINDING(FIND_BLANK_LINE);
    if (x->dir == ROW_S2C)
        invalid_line_on_blank_line(t);
    if (t->validate == VALIDATE_NONE)
        message_forward(t, x, KIND_NOISE);
    else
        message_record(t, x, KIND_NOISE, ROW_SWALLOWED);
}

/* ---- any line ------------------------------------------------------------------------------- */

/* Call this function when a line is complete. Returns a finding if traffic_report_incomplete_line()
 * has reported the line. */
static findings finish_unfinished_line(struct traffic *t, enum row_direction dir)
{
    bool late = t->unfinished[dir] > 0;
    t->unfinished[dir] = 0;
    return late ? FINDING(FIND_UNFINISHED_LINE) : 0;
}

/* Returns true if there is no memory to stage the client's message, and the message can be answered
 * with an error. A batch would need an answer for each member. */
static bool line_must_be_refused(struct traffic *t, const struct message *x)
{
    return x->dir == ROW_C2S && x->m.kind != RPC_BATCH && !outbox_reserve(&t->out[ROW_C2S]);
}

/* Returns true if a message is a request with the id null, which cannot be answered. A notification
 * with this id is accepted, because some clients always write all members. */
static bool request_lacks_id(const struct traffic *t, const struct message *x)
{
    return x->dir == ROW_C2S && (x->m.findings & FINDING(FIND_NULL_ID)) != 0 &&
           t->validate != VALIDATE_NONE && x->m.kind == RPC_NOTIFICATION &&
           !slice_begins(x->m.method, "notifications/");
}

static void handle_received_line(struct traffic *t, enum row_direction dir, struct line *line,
                                 findings found)
{
    found |= finish_unfinished_line(t, dir);
    struct message x = {
        .dir = dir, .line = line, .text = {line->p, line->n}, .size = line->n, .repairs = found};
    struct slice text = line_strip_cr_bom(x.text, &x.repairs);
    if (t->validate != VALIDATE_NONE)
        /* With --validate none the repairs are only noted, and the line is forwarded unchanged. */
        x.text = text;
    if (line->n > LARGE_MESSAGE)
        x.repairs |= FINDING(FIND_LARGE_MESSAGE);
    if (t->invalid_lines.lines.waits && dir == ROW_S2C)
        handle_unusual_server_line(t, &x);
    else if (line_is_blank(text))
        handle_blank_line(t, &x);
    else if (rpc_read(text, &x.m) == 0 && line_must_be_refused(t, &x))
        answer_reject_message(t, &x, RPC_INTERNAL_ERROR, "out of memory", "out-of-memory");
    else if (request_lacks_id(t, &x))
        answer_reject_message(t, &x, RPC_INVALID_REQUEST,
                              "Invalid Request: the id of a request is null", "not-jsonrpc");
    else if (x.m.kind != RPC_INVALID)
        handle_valid_line(t, &x);
    else if (t->validate == VALIDATE_NONE)
        invalid_line_forward_invalid_line(t, &x);
    else if (dir == ROW_C2S)
        handle_invalid_client_line(t, &x);
    else
        handle_unusual_server_line(t, &x);
}

void traffic_handle_line(struct traffic *t, enum row_direction dir, struct line *line)
{
    handle_received_line(t, dir, line, 0);
}

void traffic_release_waiting_lines(struct traffic *t)
{
    for (struct tool_ask_line *l; (l = tool_ask_get_next_ready_line(t)) != NULL;) {
        struct line line = {l->chunk->data, l->n, l->chunk};
        handle_received_line(t, ROW_C2S, &line, l->found);
        tool_ask_free_line(l);
    }
}

void traffic_handle_tools_list_failure(struct traffic *t, const char *why)
{
    tool_ask_end_with_failure(t, why);
    traffic_release_waiting_lines(t);
}

void traffic_handle_last_line(struct traffic *t, enum row_direction dir, struct line *line)
{
    handle_received_line(t, dir, line, FINDING(FIND_NO_NEWLINE));
}

void traffic_handle_long_line(struct traffic *t, enum row_direction dir, const struct line *line)
{
    struct line head = *line;
    struct message x = {.dir = dir,
                        .line = &head,
                        .size = line->n,
                        .text = {line->p, size_min(line->n, HEAD_RECORDED)}};
    rpc_read_truncated_line((struct slice){line->p, line->n}, &x.m);
    x.m.findings = FINDING(FIND_TOO_LONG) | finish_unfinished_line(t, dir);
    x.m.fault.kind = JSON_CUT; /* only the start of the line is recorded, which is not valid JSON */
    struct buf why = {0};
    /* true: the bytes so far are within the limit; line_end_too_long_line() ended the line because
     * memory ran out */
    bool no_memory = line->n <= t->max_message;
    buf_printf(&why, "Invalid Request: the message is longer than %zu bytes; raise --max-message",
               t->max_message);
    if (no_memory)
        log_error("out of memory for a line: from=%s server=%s bytes>=%zu", sender_name(dir),
                  t->server, line->n);
    else
        log_warn("rejected, too long: from=%s server=%s bytes>%zu; raise --max-message",
                 sender_name(dir), t->server, t->max_message);
    if (dir == ROW_C2S && no_memory)
        answer_reject_message(t, &x, RPC_INTERNAL_ERROR, "out of memory", "out-of-memory");
    else if (dir == ROW_C2S)
        answer_reject_message(t, &x, RPC_INVALID_REQUEST, buf_str(&why), "too-long");
    else if (answer_malformed_line(t, &x)) {
        t->timers.server_messages++; /* the server has sent something: it is not silent */
    } else {
        message_record(t, &x, KIND_NOISE, ROW_REFUSED);
        invalid_line_save_line_start(t, x.text);
    }
    buf_close(&why);
}

void traffic_on_client_closed(struct traffic *t)
{
    t->client_closed = true;
    timers_pause(&t->timers, TIMERS_CLIENT_ASKED, false, journal_now_us(t->journal));
}

void traffic_report_incomplete_line(struct traffic *t, enum row_direction dir, size_t n)
{
    char detail[80];
    snprintf(detail, sizeof detail, "{\"from\":\"%s\",\"bytes\":%zu}", sender_name(dir), n);
    journal_append_event(t->journal, "unfinished-line", detail);
    t->unfinished[dir] = n;
    if (t->unfinished_logged[dir])
        return;
    t->unfinished_logged[dir] = true;
    log_warn("incomplete line: from=%s server=%s bytes=%zu; end each message with a newline, "
             "and flush",
             sender_name(dir), t->server, n);
}

bool traffic_must_not_read_client(struct traffic *t)
{
    if (outbox_count_bytes(&t->out[ROW_S2C]) == 0)
        t->own_bytes = 0;
    return t->own_bytes >= OWN_BYTES_MAX;
}
