#include "replay/live/lines.h"

#include "wire/lenient.h"
#include "wire/rpc.h"
#include "wire/rpc_out.h"

/* The error that a client of the proxy gets instead. */
static struct slice error_for(struct lines *l, struct slice id, const char *why)
{
    buf_clear(&l->text);
    struct json_out j = json_out_to(&l->text);
    rpc_out_error(&j, id, RPC_INTERNAL_ERROR, why, "malformed-answer");
    rpc_out_end(&j);
    return buf_slice(&l->text);
}

/* The line, or an error if it answers a request and nobody can read it. */
static struct slice unreadable(struct lines *l, struct slice line)
{
    struct lenient found;
    lenient_read(line, &found);
    if (!lenient_answers(&found))
        return line;
    return error_for(l, found.id.text, "the server's answer is not valid JSON");
}

/* JSON that is not a message: it may have been meant as an answer. */
static struct slice no_message(struct lines *l, const struct rpc *m, struct slice line)
{
    bool has_id = m->id.type == JSON_NUMBER || m->id.type == JSON_STRING;
    if (!has_id || (m->findings & (RPC_AMBIGUOUS | FINDING(FIND_MALFORMED_ANSWER))) == 0)
        return line;
    return error_for(l, m->id.text, "the server's answer is invalid");
}

static struct slice repaired(struct lines *l, const struct mend *m, struct slice line)
{
    struct rpc rpc;
    struct slice text = buf_slice(&m->text);
    bool several = m->trailing.n > 0 && (m->trailing.p[0] == '{' || m->trailing.p[0] == '[');
    if (several || rpc_read(text, &rpc) < 0)
        return unreadable(l, line);
    if (rpc.kind == RPC_INVALID)
        return no_message(l, &rpc, line);
    buf_clear(&l->text);
    buf_slice_add(&l->text, text);
    return l->text.failed ? line : buf_slice(&l->text);
}

static void stop_waiting(struct lines *l)
{
    l->waits = false;
    mend_close(&l->mend);
}

bool lines_end(struct lines *l, bool cut, struct slice *ret)
{
    if (!l->waits)
        return false;
    stop_waiting(l);
    *ret = cut ? buf_slice(&l->raw) : unreadable(l, buf_slice(&l->raw));
    return true;
}

static enum lines_result wait_for_next(struct lines *l, struct slice line, int64_t now_us)
{
    buf_slice_add(&l->raw, line);
    buf_addc(&l->raw, '\n');
    l->until_us = now_us + LINES_WAIT_US;
    return LINES_WAIT;
}

static enum lines_result next_line(struct lines *l, struct slice line, bool message, int64_t now_us,
                                   struct slice *ret)
{
    enum mend_result result = MEND_FLAWED;
    if (!message && l->raw.n + line.n < l->max)
        result = mend_add(&l->mend, line);
    if (result == MEND_FLAWED) {
        (void)lines_end(l, false, ret);
        return LINES_AGAIN;
    }
    (void)wait_for_next(l, line, now_us);
    if (result == MEND_MORE)
        return LINES_WAIT;
    *ret = repaired(l, &l->mend, buf_slice(&l->raw));
    stop_waiting(l);
    return LINES_READY;
}

enum lines_result lines_take(struct lines *l, struct slice line, int64_t now_us, struct slice *ret)
{
    struct rpc rpc;
    bool json = rpc_read(line, &rpc) == 0;
    bool message = json && rpc.kind != RPC_INVALID;
    if (l->waits)
        return next_line(l, line, message && rpc.kind != RPC_BATCH, now_us, ret);
    *ret = line;
    if (message)
        return LINES_READY;
    if (json) {
        *ret = no_message(l, &rpc, line);
        return LINES_READY;
    }
    mend_open(&l->mend, l->max);
    enum mend_result result = mend_add(&l->mend, line);
    if (result == MEND_MORE) {
        l->waits = true;
        buf_clear(&l->raw);
        return wait_for_next(l, line, now_us);
    }
    *ret = result == MEND_WHOLE ? repaired(l, &l->mend, line) : unreadable(l, line);
    mend_close(&l->mend);
    return LINES_READY;
}

void lines_close(struct lines *l)
{
    mend_close(&l->mend);
    buf_close(&l->raw);
    buf_close(&l->text);
}
