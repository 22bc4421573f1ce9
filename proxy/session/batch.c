#include "proxy/session/batch.h"

#include "base/log.h"
#include "proxy/session/answer.h"
#include "proxy/session/answer_repair.h"
#include "proxy/session/correlate.h"
#include "proxy/session/tool_gate.h"
#include "wire/json/text.h"

/* A walk over the members of a batch. */
struct member_walk {
    struct json_walk w;
    struct message x; /* the current member as a message */
};

static struct member_walk begin_member_walk(const struct message *batch)
{
    struct json_value array = {JSON_ARRAY, batch->m.text};
    return (struct member_walk){.w = json_walk_begin(array),
                                .x = {.dir = batch->dir, .line = batch->line}};
}

/* Reads the envelope of the next member; returns false at the end. The JSON of the members was
 * already checked with the line. */
static bool read_next_member(struct member_walk *mw)
{
    struct slice key;
    struct json_value v;
    if (!json_walk_next(&mw->w, &key, &v))
        return false;
    mw->x.text = v.text;
    mw->x.size = v.text.n;
    if (rpc_read(v.text, &mw->x.m) < 0 || mw->x.m.kind == RPC_BATCH)
        mw->x.m.kind = RPC_INVALID;
    return true;
}

/* Returns true if the batch has members, and each of them is a message other than initialize, or an
 * invalid answer of the server that can be refused alone. */
static bool batch_is_valid(struct traffic *t, const struct message *batch)
{
    bool one_by_one = batch->dir == ROW_S2C && t->validate != VALIDATE_NONE;
    struct member_walk mw = begin_member_walk(batch);
    size_t n = 0;
    for (; read_next_member(&mw); n++)
        if ((mw.x.m.kind == RPC_INVALID && !(one_by_one && answer_is_malformed(t, &mw.x))) ||
            rpc_method_is(&mw.x.m, "initialize"))
            return false;
    return n > 0;
}

/* Returns false if all members of the server's batch are answers, and none of them answers a
 * pending request. Such a batch is dropped. */
static bool batch_has_expected_message(struct traffic *t, const struct message *batch)
{
    struct member_walk mw = begin_member_walk(batch);
    while (read_next_member(&mw)) {
        bool type_changed;
        if (mw.x.m.kind != RPC_RESULT && mw.x.m.kind != RPC_ERROR)
            return true;
        struct pending *p = pending_find(&t->open[ROW_C2S], mw.x.m.id, &type_changed);
        if (p != NULL && !p->cancelled)
            return true;
    }
    return false;
}

static void correlate_members(struct traffic *t, const struct message *batch, uint64_t batch_seq)
{
    struct member_walk mw = begin_member_walk(batch);
    mw.x.batch_seq = batch_seq;
    while (read_next_member(&mw)) {
        if (mw.x.m.kind != RPC_INVALID) {
            (void)correlate_message(t, &mw.x); /* the whole line is already staged */
        } else if (!answer_malformed_line(t, &mw.x)) {
            /* The request is not pending any more: an earlier answer with its id was handled. */
            message_record(t, &mw.x, KIND_NOISE, ROW_REFUSED);
        }
        message_close(&mw.x);
    }
}

/* Forwards a batch. Records the repaired line without the refused members or, if all members are
 * refused, the received line. Stages the repaired line without the refused members, and without the
 * tools and calls that the tool rule hides; stages nothing if no member is left. If `valid` is
 * true, then handles each member as it was received: finds its request, repairs or refuses the
 * member, and adds its finding. */
static void forward_batch(struct traffic *t, struct message *batch, bool valid)
{
    struct message repaired = *batch;
    repaired.copy = (struct line){0}; /* `batch` owns the copy of the line */
    size_t kept = 1;
    if (!valid || answer_repair_batch(t, &repaired, &kept)) {
        struct message cut = repaired;
        cut.copy = (struct line){0}; /* `repaired` owns the copy of the line */
        bool gated = valid && t->gate.rule != NULL;
        bool sent = kept > 0 && (!gated || tool_gate_remove_refused_members(t, &cut, &kept));
        enum row_action action = kept > 0 ? ROW_FORWARDED : ROW_REFUSED;
        uint64_t seq = message_record(t, &repaired, KIND_BATCH, action);
        if (sent && kept > 0)
            message_add_text_to_outbox(t, &cut);
        message_close(&cut);
        if (valid)
            correlate_members(t, batch, seq);
    }
    message_close(&repaired);
}

static void reject_client_batch(struct traffic *t, struct message *batch, const char *why)
{
    size_t answered = 0;
    uint64_t seq = message_record(t, batch, KIND_BATCH, ROW_REFUSED);
    struct member_walk mw = begin_member_walk(batch);
    mw.x.batch_seq = seq;
    while (read_next_member(&mw)) {
        if (mw.x.m.kind != RPC_REQUEST) {
            answer_server_with_error(t, &mw.x);
            continue;
        }
        answer_reject_message(t, &mw.x, RPC_INVALID_REQUEST, why, "batch");
        answered++;
    }
    if (answered == 0)
        answer_send_error(t, ROW_S2C, (struct slice){0}, seq, RPC_INVALID_REQUEST, why, "batch");
}

static void reject_server_batch(struct traffic *t, struct message *batch)
{
    uint64_t seq = message_record(t, batch, KIND_BATCH, ROW_REFUSED);
    struct member_walk mw = begin_member_walk(batch);
    mw.x.batch_seq = seq;
    log_warn("rejected an invalid batch: from=server server=%s bytes=%zu version=%s", t->server,
             batch->size, t->version[0] != '\0' ? t->version : "none");
    while (read_next_member(&mw))
        if (mw.x.m.method.p == NULL)
            (void)answer_malformed_line(t, &mw.x);
}

static void reject_batch(struct traffic *t, struct message *batch, bool allowed)
{
    if (batch->dir == ROW_S2C)
        reject_server_batch(t, batch);
    else if (allowed)
        reject_client_batch(
            t, batch,
            "Invalid Request: a batch must have members, each a JSON-RPC 2.0 message other than "
            "initialize");
    else
        reject_client_batch(t, batch, "Invalid Request: batches exist only in revision 2025-03-26");
}

void batch_handle_message(struct traffic *t, struct message *batch)
{
    bool allowed = strcmp(t->version, "2025-03-26") == 0;
    bool valid = batch_is_valid(t, batch);
    bool check = t->validate != VALIDATE_NONE;
    if (!allowed || !valid)
        batch->m.findings |= FINDING(FIND_BATCH);
    if (check && (!allowed || !valid)) {
        reject_batch(t, batch, allowed);
        return;
    }
    if (check && batch->dir == ROW_S2C && !batch_has_expected_message(t, batch)) {
        batch->m.findings |= FINDING(FIND_UNKNOWN_ANSWER);
        message_record(t, batch, KIND_BATCH, ROW_SWALLOWED);
        return;
    }
    forward_batch(t, batch, valid);
}
