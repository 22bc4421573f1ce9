#include "peer/lines.h"

#include "wire/rpc_id.h"
#include "wire/rpc_out.h"

/* ---- requests that wait --------------------------------------------------------------------- */

static bool lines_id_has_pending_request(void *ctx, struct json_value id)
{
    const struct lines *l = ctx;
    return (id.type == JSON_NUMBER || id.type == JSON_STRING) &&
           (l->asked == 0 || rpc_id_equals_number(id, l->asked));
}

static bool lines_request_has_method(void *ctx, struct json_value id, struct slice method)
{
    const struct lines *l = ctx;
    return l->asked != 0 && rpc_id_equals_number(id, l->asked) &&
           slice_eq(buf_slice(&l->method), method);
}

void lines_set_awaited_request(struct lines *l, uint64_t id, struct slice method)
{
    l->asked = id;
    buf_clear(&l->method);
    buf_slice_add(&l->method, method);
}

/* ---- results -------------------------------------------------------------------------------- */

static void lines_add_result(struct lines *l, struct slice text)
{
    buf_slice_add(&l->out, text);
    buf_addc(&l->out, '\n');
}

static void write_malformed_answer_error(struct buf *b, struct slice id, const char *why)
{
    struct json_out j = json_out_to(b);
    rpc_out_begin_error_answer(&j, id, RPC_INTERNAL_ERROR, why, "malformed-answer");
    rpc_out_end(&j);
}

/* Ends the wait for a valid answer after an unreadable answer. If no valid answer came, the error
 * becomes a result. */
static void end_wait_for_valid_answer(struct lines *l, bool answered)
{
    if (l->refused.n > 0 && !answered)
        lines_add_result(l, buf_slice(&l->refused));
    buf_clear(&l->refused);
}

static int lines_on_server_line(void *ctx, const struct server_line *line)
{
    struct lines *l = ctx;
    bool same = l->refused.n > 0 && line->id.type != JSON_NONE &&
                slice_eq(line->id.text, buf_slice(&l->refused_id));
    if (line->kind == SERVER_LINE_REFUSED) {
        end_wait_for_valid_answer(l, same);
        l->asked = l->asked != 0 ? UINT64_MAX : 0; /* no later answer belongs to this request */
        write_malformed_answer_error(&l->out, line->id.text, "the server's answer is invalid");
        buf_addc(&l->out, '\n');
    } else if (line->kind == SERVER_LINE_UNREADABLE) {
        /* the new error replaces an earlier error for the same id */
        end_wait_for_valid_answer(l, same);
        write_malformed_answer_error(&l->refused, line->id.text,
                                     "the server's answer is not valid JSON");
        buf_clear(&l->refused_id);
        buf_slice_add(&l->refused_id, line->id.text);
        l->refused_us = l->now_us + SERVER_LINES_WAIT_US;
    } else {
        struct rpc m;
        if (same && rpc_read(line->text, &m) == 0 && (m.kind == RPC_RESULT || m.kind == RPC_ERROR))
            end_wait_for_valid_answer(l, true);
        lines_add_result(l, line->text);
    }
    return 0;
}

bool lines_add_received_line(struct lines *l, struct slice line, bool last, int64_t now_us,
                             struct slice *ret)
{
    struct rpc m;
    findings found = last ? FINDING(FIND_NO_NEWLINE) : 0;
    l->now_us = now_us;
    if (!l->read.waits && l->refused.n == 0 && rpc_read(line, &m) == 0 && m.kind != RPC_INVALID) {
        *ret = line;
        return true;
    }
    l->failed |= server_lines_handle_line(&l->read, line, found, now_us) < 0;
    return lines_take_next_result(l, ret);
}

bool lines_take_next_result(struct lines *l, struct slice *ret)
{
    if (l->out.failed)
        return false;
    if (l->done == l->out.n) {
        buf_clear(&l->out);
        l->done = 0;
        return false;
    }
    const char *p = l->out.p + l->done;
    const char *end = memchr(p, '\n', l->out.n - l->done);
    *ret = (struct slice){p, (size_t)(end - p)};
    l->done += ret->n + 1;
    return true;
}

/* ---- waits ---------------------------------------------------------------------------------- */

int64_t lines_next_timeout_us(const struct lines *l)
{
    int64_t until_us = l->read.waits ? l->read.until_us : INT64_MAX;
    return l->refused.n > 0 && l->refused_us < until_us ? l->refused_us : until_us;
}

void lines_handle_expired_timeouts(struct lines *l, int64_t now_us)
{
    if (now_us < lines_next_timeout_us(l))
        return;
    l->now_us = now_us;
    if (l->read.waits && now_us >= l->read.until_us)
        l->failed |= server_lines_flush_waiting(&l->read, false) < 0;
    end_wait_for_valid_answer(l, false);
}

void lines_on_output_end(struct lines *l)
{
    end_wait_for_valid_answer(l, false);
    l->failed |= server_lines_flush_waiting(&l->read, true) < 0;
}

bool lines_are_out_of_memory(const struct lines *l)
{
    return l->failed || l->out.failed || l->refused.failed || l->refused_id.failed ||
           l->method.failed;
}

void lines_open(struct lines *l, size_t max)
{
    struct server_lines_rules rules = {
        .max = max,
        .open = {lines_id_has_pending_request, lines_request_has_method, l},
        .line = lines_on_server_line,
        .ctx = l};
    *l = (struct lines){0};
    server_lines_open(&l->read, &rules);
}

void lines_close(struct lines *l)
{
    server_lines_close(&l->read);
    buf_close(&l->method);
    buf_close(&l->out);
    buf_close(&l->refused);
    buf_close(&l->refused_id);
}
