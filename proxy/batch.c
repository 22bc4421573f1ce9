/* batch.c - array lines. Only 2025-03-26 has them (mcp-wire.md 1.4): forwarded whole, each member recorded
 * and correlated. A batch that cannot go on is refused whole, and each request in it answered. */
#include "proxy/message.h"

#include "base/log.h"
#include "wire/json_text.h"

struct member_walk {
    struct json_walk w;
    struct message x; /* the member, as a message of its own */
};

static struct member_walk members(const struct message *batch)
{
    struct json_value array = {JSON_ARRAY, batch->m.text};
    return (struct member_walk){.w = json_walk_begin(array),
                                .x = {.dir = batch->dir, .line = batch->line}};
}

/* The members were checked as part of the line: what is read again here is their shape. */
static bool next_member(struct member_walk *mw)
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

/* A batch is whole when it has members and all of them are messages, none of them initialize. */
static bool is_whole(const struct message *batch)
{
    struct member_walk mw = members(batch);
    size_t n = 0;
    for (; next_member(&mw); n++)
        if (mw.x.m.kind == RPC_INVALID || rpc_method_is(&mw.x.m, "initialize"))
            return false;
    return n > 0;
}

/* Does anything in a server's batch have somebody who waits for it? */
static bool somebody_waits(struct traffic *t, const struct message *batch)
{
    struct member_walk mw = members(batch);
    while (next_member(&mw)) {
        bool type_changed;
        if (mw.x.m.kind != RPC_RESULT && mw.x.m.kind != RPC_ERROR)
            return true;
        struct pending *p = pending_find(&t->open[ROW_C2S], mw.x.m.id, &type_changed);
        if (p != NULL && !p->cancelled)
            return true;
    }
    return false;
}

static void note_members(struct traffic *t, const struct message *batch, uint64_t batch_seq)
{
    struct member_walk mw = members(batch);
    mw.x.batch_seq = batch_seq;
    while (next_member(&mw))
        (void)message_note(t, &mw.x); /* the line goes on whole, whatever is thought of a member */
}

static void refuse_client_batch(struct traffic *t, struct message *batch, const char *why)
{
    size_t answered = 0;
    uint64_t seq = message_drop(t, batch, "batch", ROW_REFUSED);
    struct member_walk mw = members(batch);
    mw.x.batch_seq = seq;
    while (next_member(&mw)) {
        if (mw.x.m.kind != RPC_REQUEST)
            continue;
        message_refuse(t, &mw.x, REPLY_INVALID_REQUEST, why, "batch");
        answered++;
    }
    if (answered == 0)
        message_reply(t, ROW_S2C, (struct slice){0}, seq, REPLY_INVALID_REQUEST, why, "batch");
}

static void refuse_server_batch(struct traffic *t, struct message *batch)
{
    uint64_t seq = message_drop(t, batch, "batch", ROW_REFUSED);
    struct member_walk mw = members(batch);
    mw.x.batch_seq = seq;
    log_warn("kept from the client, a batch: server=%s bytes=%zu version=%s", t->server,
             batch->size, t->version[0] != '\0' ? t->version : "none");
    while (next_member(&mw))
        if (mw.x.m.method.p == NULL)
            (void)message_malformed_answer(t, &mw.x);
}

void batch_handle(struct traffic *t, struct message *batch)
{
    bool allowed = strcmp(t->version, "2025-03-26") == 0;
    bool whole = is_whole(batch);
    if (!allowed || !whole)
        batch->m.findings |= FINDING(FIND_BATCH);
    if ((!allowed || !whole) && t->validate != VALIDATE_NONE) {
        if (batch->dir == ROW_C2S)
            refuse_client_batch(
                t, batch,
                allowed ? "Invalid Request: a batch is empty, or a member of it is no message"
                        : "Invalid Request: batches exist only in revision 2025-03-26");
        else
            refuse_server_batch(t, batch);
        return;
    }
    if (batch->dir == ROW_S2C && whole && t->validate != VALIDATE_NONE &&
        !somebody_waits(t, batch)) {
        batch->m.findings |= FINDING(FIND_UNKNOWN_ANSWER);
        message_drop(t, batch, "batch", ROW_SWALLOWED);
        return;
    }
    uint64_t seq = message_pass(t, batch, "batch");
    if (whole)
        note_members(t, batch, seq);
}
