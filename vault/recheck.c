#include "vault/recheck.h"

#include "base/room.h"
#include "wire/json_text.h"
#include "wire/rpc_id.h"

#include <stdlib.h>

void recheck_open(struct recheck *r)
{
    *r = (struct recheck){0};
    protocol_open(&r->protocol);
}

void recheck_close(struct recheck *r)
{
    protocol_close(&r->protocol);
    free(r->request);
    *r = (struct recheck){0};
}

static uint64_t hash_of(struct json_value v)
{
    struct buf key = {0};
    if (v.type != JSON_NUMBER && v.type != JSON_STRING)
        return 0;
    rpc_id_key(&key, v);
    uint64_t hash = key.failed ? 0 : rpc_id_hash(buf_slice(&key));
    buf_close(&key);
    return hash + (hash == 0);
}

static struct recheck_request *find(struct recheck *r, int64_t seq)
{
    size_t low = 0, high = r->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (r->request[mid].seq < seq)
            low = mid + 1;
        else
            high = mid;
    }
    return low < r->n && r->request[low].seq == seq ? &r->request[low] : NULL;
}

/* The newest request of the other side that has this progress token and no answer. */
static struct recheck_request *find_token(struct recheck *r, bool from_client, uint64_t token)
{
    for (size_t i = r->n; token != 0 && i > 0; i--)
        if (r->request[i - 1].token == token && r->request[i - 1].from_client == from_client &&
            !r->request[i - 1].over)
            return &r->request[i - 1];
    return NULL;
}

static int request(struct recheck *r, const struct rpc *m, int64_t seq, bool from_client,
                   breaches *ret)
{
    if (!ROOM(r->request, r->n, r->cap))
        return MI_ENOMEM;
    struct recheck_request q = {.seq = seq, .from_client = from_client};
    q.token = hash_of(json_get(m->meta, "progressToken"));
    *ret = protocol_request(&r->protocol, from_client ? PARTY_CLIENT : PARTY_SERVER, m, &q.asked);
    if (find_token(r, from_client, q.token) != NULL)
        *ret |= RULE(RULE_REUSED_TOKEN);
    r->request[r->n++] = q;
    return 0;
}

static breaches notification(struct recheck *r, const struct rpc *m, bool from_client)
{
    breaches b = protocol_notification(&r->protocol, from_client ? PARTY_CLIENT : PARTY_SERVER, m);
    if (m->progress_token.type == JSON_NONE || !rpc_method_is(m, "notifications/progress"))
        return b;
    struct recheck_request *q = find_token(r, !from_client, hash_of(m->progress_token));
    return b | protocol_progress(&r->protocol, m, q != NULL ? &q->asked : NULL);
}

static breaches answer(struct recheck *r, const struct rpc *m, int64_t request_seq,
                       bool from_client)
{
    struct recheck_request *q = find(r, request_seq);
    if (q == NULL || q->over)
        return 0;
    q->over = true;
    return protocol_answer(&r->protocol, from_client ? PARTY_CLIENT : PARTY_SERVER, m, &q->asked);
}

int recheck_message(struct recheck *r, const struct query_message *m, struct slice body,
                    breaches *ret)
{
    struct rpc rpc;
    *ret = 0;
    bool from_client = slice_is(m->direction, "c2s");
    if (body.p == NULL || !slice_is(m->origin, "peer") || !slice_is(m->action, "forwarded") ||
        rpc_read(body, &rpc) < 0)
        return 0;
    switch (rpc.kind) {
    case RPC_REQUEST:
        return request(r, &rpc, m->seq, from_client, ret);
    case RPC_NOTIFICATION:
        *ret = notification(r, &rpc, from_client);
        return 0;
    case RPC_RESULT:
    case RPC_ERROR:
        *ret = answer(r, &rpc, m->request_seq, from_client);
        return 0;
    default:
        return 0;
    }
}
