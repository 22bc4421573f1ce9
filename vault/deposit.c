#include "vault/deposit.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "vault/redact.h"
#include "vault/store.h"
#include "wire/json_text.h"
#include "wire/rpc.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    L_CLIENT_NAME,
    L_CLIENT_VERSION,
    L_SERVER_NAME,
    L_SERVER_VERSION,
    L_PROTOCOL,
    L_REASON,
    L_N
};

struct deposit {
    struct vault_dir dir;
    struct store *store; /* owned */
    char uid[UID_LEN + 1];
    int64_t id, started_us, ended_us, last_t_us, messages;
    bool has_exit_status;
    int exit_status;
    bool began, committed;
    struct buf learnt[L_N];    /* owned; what is known of the session; empty: nothing */
    struct buf method, target; /* owned; as a row wants them, escapes and all */
    struct buf error;          /* owned */
};

static int fail(struct deposit *d, int st)
{
    buf_clear(&d->error);
    if (st == MI_ENOMEM)
        buf_adds(&d->error, "no memory");
    else
        buf_printf(&d->error, "cannot write to %s/" VAULT_DB ": %s", d->dir.path,
                   store_error(d->store));
    return st;
}

const char *deposit_error(const struct deposit *d)
{
    return d->error.n > 0 && !d->error.failed ? d->error.p : "no memory";
}

int deposit_open(struct deposit **ret, const char *vault, struct buf *error)
{
    struct deposit *d = calloc(1, sizeof *d);
    if (d == NULL)
        return MI_ENOMEM;
    int st = vault_dir_open(&d->dir, vault, true, error);
    if (st == 0)
        st = store_open(&d->store, &d->dir, false, error);
    if (st < 0) {
        deposit_close(d);
        return st;
    }
    store_want_bodies(d->store);
    *ret = d;
    return 0;
}

/* A body is written before the row that names it: without the rows they are nobody's. */
static void remove_bodies(struct deposit *d)
{
    int dir = vault_dir_sub(d->dir.fd, VAULT_BODIES, false);
    if (dir < 0)
        return;
    (void)unlinkat(dir, d->uid, 0);
    close(dir);
}

void deposit_close(struct deposit *d)
{
    if (d == NULL)
        return;
    if (d->began && !d->committed) {
        store_rollback(d->store);
        remove_bodies(d);
    }
    store_close(d->store);
    vault_dir_close(&d->dir);
    for (int i = 0; i < L_N; i++)
        buf_close(&d->learnt[i]);
    buf_close(&d->method);
    buf_close(&d->target);
    buf_close(&d->error);
    free(d);
}

/* ---- the session ---- */

static void learn(struct deposit *d, int i, struct slice text)
{
    if (text.p != NULL && d->learnt[i].n == 0)
        buf_slice_add(&d->learnt[i], text);
}

static void learn_session(struct deposit *d, const struct query_session *s)
{
    learn(d, L_CLIENT_NAME, s->client_name);
    learn(d, L_CLIENT_VERSION, s->client_version);
    learn(d, L_SERVER_NAME, s->server_name);
    learn(d, L_SERVER_VERSION, s->server_version);
    learn(d, L_PROTOCOL, s->protocol_version);
    learn(d, L_REASON, s->end_reason);
    d->has_exit_status = s->has_exit_status && s->exit_status <= INT_MAX;
    d->exit_status = d->has_exit_status ? (int)s->exit_status : 0;
    d->started_us = s->started_at_us != 0 ? s->started_at_us : clock_wall_us();
    d->ended_us = s->ended_at_us;
}

int deposit_session(struct deposit *d, const struct query_session *s, const char *name)
{
    struct buf text = {0}, command = {0}, level = {0}, rules = {0};
    learn_session(d, s);
    if (name != NULL)
        buf_adds(&text, name);
    else
        buf_slice_add(&text, s->name);
    buf_slice_add(&command, s->command);
    buf_slice_add(&level, s->record_level);
    if (s->redact_rules.p != NULL)
        buf_slice_add(&rules, s->redact_rules);
    else if (redact_present() != NULL) /* what it passes now is all that it ever passed */
        redact_rules(redact_present(), &rules);
    int st = uid_make(d->started_us, d->uid);
    struct store_session n = {
        .uid = d->uid,
        .name = buf_str(&text),
        .command = buf_str(&command),
        .host = "",
        .record_level = buf_str(&level),
        .redact_rules = rules.n > 0 ? buf_str(&rules) : NULL,
        .started_at_us = d->started_us,
    };
    if (text.failed || command.failed || level.failed || rules.failed)
        st = MI_ENOMEM;
    if (st == 0)
        st = store_begin(d->store, DEPOSIT_WAIT_US);
    d->began = st == 0;
    if (st == 0)
        st = store_session_add(d->store, &n, &d->id);
    buf_close(&text);
    buf_close(&command);
    buf_close(&level);
    buf_close(&rules);
    return st < 0 ? fail(d, st) : 0;
}

int deposit_commit(struct deposit *d)
{
    struct slice known[L_N] = {{0}};
    for (int i = 0; i < L_N; i++) {
        if (d->learnt[i].failed)
            return fail(d, MI_ENOMEM);
        if (d->learnt[i].n > 0)
            known[i] = buf_slice(&d->learnt[i]);
    }
    struct store_update u = {
        .client_name = known[L_CLIENT_NAME],
        .client_version = known[L_CLIENT_VERSION],
        .server_name = known[L_SERVER_NAME],
        .server_version = known[L_SERVER_VERSION],
        .protocol_version = known[L_PROTOCOL],
        .end_reason = known[L_REASON],
        .has_exit_status = d->has_exit_status,
        .exit_status = d->exit_status,
        .ended_at_us = d->ended_us != 0 ? d->ended_us : d->started_us + d->last_t_us,
    };
    int st = store_session_update(d->store, d->id, &u);
    if (st == 0)
        st = store_commit(d->store);
    if (st < 0)
        return fail(d, st);
    d->committed = true;
    if (store_checkpoint(d->store) < 0) /* a long session would leave a long log behind */
        log_debug("checkpoint put off: %s", store_error(d->store));
    return 0;
}

/* ---- messages ---- */

static void learn_string(struct deposit *d, int i, struct json_value v)
{
    if (v.type == JSON_STRING && d->learnt[i].n == 0)
        json_unescape(&d->learnt[i], json_string_raw(v));
}

static void learn_peer(struct deposit *d, int name, struct json_value info)
{
    learn_string(d, name, json_get(info, "name"));
    learn_string(d, name + 1, json_get(info, "version"));
}

/* mcp-wire.md 3.1 and 3.3: who the two are is said in the first messages. */
static void learn_message(struct deposit *d, const struct query_message *m)
{
    struct rpc r;
    bool asks = slice_is(m->kind, "request") && slice_is(m->direction, "c2s");
    bool answers = slice_is(m->kind, "result") && m->has_request;
    if ((!asks && !answers) || (d->learnt[L_CLIENT_NAME].n > 0 && d->learnt[L_SERVER_NAME].n > 0))
        return;
    if (m->body.p == NULL || rpc_read(m->body, &r) < 0)
        return;
    if (asks && slice_is(m->method, "initialize")) {
        learn_peer(d, L_CLIENT_NAME, json_get(r.params, "clientInfo"));
    } else if (asks && rpc_is_modern(&r)) {
        learn_peer(d, L_CLIENT_NAME, json_get(r.meta, "io.modelcontextprotocol/clientInfo"));
        learn_string(d, L_PROTOCOL, json_get(r.meta, "io.modelcontextprotocol/protocolVersion"));
    } else if (answers && slice_is(m->request_method, "initialize")) {
        learn_peer(d, L_SERVER_NAME, json_get(r.result, "serverInfo"));
        learn_string(d, L_PROTOCOL, json_get(r.result, "protocolVersion"));
    } else if (answers && slice_is(m->request_method, "server/discover")) {
        learn_peer(d, L_SERVER_NAME,
                   json_get(json_get(r.result, "_meta"), "io.modelcontextprotocol/serverInfo"));
    }
}

/* A row has names as they stand in JSON. */
static struct slice in_json(struct buf *b, struct slice text)
{
    if (text.p == NULL || memchr(text.p, '\\', text.n) == NULL)
        return text;
    buf_clear(b);
    text_json(b, text);
    return b->n >= 2 ? (struct slice){b->p + 1, b->n - 2} : (struct slice){0};
}

static const char *static_kind(struct slice kind)
{
    static const char *const kinds[] = {"request", "notification", "result",
                                        "error",   "batch",        "stderr"};
    for (size_t i = 0; i < MI_COUNT(kinds); i++)
        if (slice_is(kind, kinds[i]))
            return kinds[i];
    return "noise";
}

/* Names that this version does not know are left out. */
static void read_findings(struct slice names, struct row *r)
{
    struct finding_info info;
    while (names.n > 0) {
        const char *comma = memchr(names.p, ',', names.n);
        size_t n = comma != NULL ? (size_t)(comma - names.p) : names.n;
        if (finding_look((struct slice){names.p, n}, &info)) {
            r->findings |= info.finding;
            r->rules |= info.rule;
        }
        n += comma != NULL;
        names = (struct slice){names.p + n, names.n - n};
    }
}

static bool is_json(struct slice body)
{
    struct json_scan scan;
    return json_scan(body, NULL, NULL, &scan) == 0;
}

int deposit_message(struct deposit *d, const struct query_message *m)
{
    struct row r = {
        .kind = static_kind(m->kind),
        .seq = (uint64_t)m->seq,
        .t_us = m->t_us,
        .direction = slice_is(m->direction, "c2s") ? ROW_C2S : ROW_S2C,
        .origin = slice_is(m->origin, "interposer") ? ROW_INTERPOSER : ROW_PEER,
        .action = slice_is(m->action, "forwarded") ? ROW_FORWARDED
                  : slice_is(m->action, "refused") ? ROW_REFUSED
                                                   : ROW_SWALLOWED,
        .rpc_id = m->rpc_id,
        .method = in_json(&d->method, m->method),
        .target = in_json(&d->target, m->target),
        .body = m->body,
        .size = (size_t)m->size,
        .request_seq = (uint64_t)m->request_seq,
        .has_error_code = m->has_error_code,
        .error_code = m->error_code,
        .batch_seq = (uint64_t)m->batch_seq,
        .redactions = (uint64_t)m->redactions,
    };
    read_findings(m->finding, &r);
    if (m->body.p != NULL && (slice_is(m->kind, "noise") || slice_is(m->kind, "stderr")))
        r.not_json = !is_json(m->body);
    if (d->method.failed || d->target.failed)
        return fail(d, MI_ENOMEM);
    learn_message(d, m);
    d->last_t_us = m->t_us;
    d->messages++;
    int st = store_add(d->store, d->id, d->uid, &r);
    return st < 0 ? fail(d, st) : 0;
}

int64_t deposit_id(const struct deposit *d)
{
    return d->id;
}

const char *deposit_uid(const struct deposit *d)
{
    return d->uid;
}

int64_t deposit_messages(const struct deposit *d)
{
    return d->messages;
}
