#include "proxy/session/request.h"

#include "wire/json/text.h"

int request_open(struct traffic *t, const struct message *x, struct pending **ret)
{
    int st = pending_add(&t->open[x->dir], &x->m, &x->id, ret);
    if (st < 0 || x->dir != ROW_C2S)
        return st;
    /* This request uses the id again, so the id does not identify a refused request any more. */
    if (t->refused_next > 0) {
        uint64_t hash = rpc_id_hash_json(x->m.id);
        for (size_t i = 0; i < REFUSED_MAX; i++)
            if (t->refused[i].id == hash)
                t->refused[i].seq = 0;
    }
    /* A request with inputResponses or requestState carries input that was requested from a user,
     * perhaps in a browser. */
    (*ret)->waits_for_user =
        (*ret)->modern && (x->m.in_params[FIELD_INPUT_RESPONSES] != JSON_NONE ||
                           x->m.in_params[FIELD_REQUEST_STATE] != JSON_NONE);
    st = timers_add(&t->timers, *ret, journal_now_us(t->journal));
    if (st < 0)
        pending_remove(&t->open[x->dir], *ret);
    return st;
}

void request_pause_deadlines(struct traffic *t, int64_t now_us)
{
    if (!t->client_closed)
        timers_pause(&t->timers, TIMERS_CLIENT_ASKED, true, now_us);
}

/* If p is a request of the client, stops its timer. If p is the only pending request of the server,
 * continues the timers that request_pause_deadlines() has paused. */
static void stop_request_timer(struct traffic *t, enum row_direction dir, struct pending *p)
{
    if (dir == ROW_C2S && !p->cancelled)
        timers_remove(&t->timers, p);
    else if (dir == ROW_S2C && !p->cancelled && t->open[ROW_S2C].open.count == 1)
        timers_pause(&t->timers, TIMERS_CLIENT_ASKED, false, journal_now_us(t->journal));
}

void request_close(struct traffic *t, enum row_direction dir, struct pending *p)
{
    stop_request_timer(t, dir, p);
    pending_remove(&t->open[dir], p);
}

void request_abandon(struct traffic *t, enum row_direction dir, struct pending *p)
{
    stop_request_timer(t, dir, p);
    pending_mark_cancelled(&t->open[dir], p);
}

void request_remember_refused_id(struct traffic *t, struct json_value id, uint64_t seq)
{
    t->refused[t->refused_next++ % REFUSED_MAX] =
        (struct refused_request){rpc_id_hash_json(id), seq};
}

uint64_t request_find_seq_of_refused(struct traffic *t, struct json_value id)
{
    bool type_changed;
    uint64_t hash = rpc_id_hash_json(id);
    const struct pending *p = pending_find(&t->open[ROW_C2S], id, &type_changed);
    if (p != NULL && !p->cancelled && !type_changed)
        return 0;
    /* search the newest request first */
    for (size_t n = 1; n <= REFUSED_MAX && n <= t->refused_next; n++) {
        const struct refused_request *r = &t->refused[(t->refused_next - n) % REFUSED_MAX];
        if (r->seq != 0 && r->id == hash)
            return r->seq;
    }
    return 0;
}

struct json_value request_get_id_to_cancel(const struct rpc *m)
{
    if (rpc_method_is(m, "notifications/cancelled"))
        return m->request_id;
    return rpc_method_is(m, "$/cancelRequest") ? json_get(m->params, "id") : (struct json_value){0};
}

bool request_was_read_by_server(struct pending *p, uint64_t read)
{
    p->was_read |= p->written_at <= read;
    return p->was_read;
}
