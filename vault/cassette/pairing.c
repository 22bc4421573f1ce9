#include "vault/cassette/pairing.h"

#include "base/grow.h"
#include "base/search.h"
#include "wire/rpc_id.h"

#include <stdlib.h>

#define NONE SIZE_MAX

void pairing_close(struct pairing *p)
{
    free(p->requests);
    free(p->chains);
    buf_close(&p->text);
    buf_close(&p->key);
    *p = (struct pairing){0};
}

struct slice pairing_get_text(const struct pairing *p, size_t at, size_t n)
{
    return at == NONE ? (struct slice){0} : (struct slice){p->text.p + at, n};
}

const struct pairing_request *pairing_find(const struct pairing *p, int64_t seq)
{
    size_t at = SEARCH_INT64(p->requests, p->n, seq, seq);
    return at < p->n && p->requests[at].seq == seq ? &p->requests[at] : NULL;
}

/* ---- ids ---- */

/* Returns the chain for a key. A chain contains only unanswered requests, because a client may use
 * the same id again and again. Cancelled requests and other requests are in separate chains. */
static struct pairing_chain *pairing_get_chain_of_key(const struct pairing *p, struct slice key,
                                                      bool cancelled)
{
    return &p->chains[((size_t)rpc_id_hash(key) ^ cancelled) & (p->chains_n - 1)];
}

static struct slice pairing_key_of_request(const struct pairing *p, const struct pairing_request *r)
{
    return pairing_get_text(p, r->key_at, r->key_n);
}

static void pairing_link_request(struct pairing *p, size_t i)
{
    struct pairing_request *r = &p->requests[i];
    struct pairing_chain *c =
        pairing_get_chain_of_key(p, pairing_key_of_request(p, r), r->cancelled);
    r->newer = NONE;
    r->older = c->newest;
    /* The chain may have newer requests, if this request was cancelled after the newer requests
     * were added. */
    while (r->older != NONE && r->older > i) {
        r->newer = r->older;
        r->older = p->requests[r->older].older;
    }
    *(r->older != NONE ? &p->requests[r->older].newer : &c->oldest) = i;
    *(r->newer != NONE ? &p->requests[r->newer].older : &c->newest) = i;
}

static void pairing_unlink_request(struct pairing *p, size_t i)
{
    struct pairing_request *r = &p->requests[i];
    struct pairing_chain *c =
        pairing_get_chain_of_key(p, pairing_key_of_request(p, r), r->cancelled);
    *(r->newer != NONE ? &p->requests[r->newer].older : &c->newest) = r->older;
    *(r->older != NONE ? &p->requests[r->older].newer : &c->oldest) = r->newer;
}

/* Searches the unanswered requests with the key p->key, either those that are cancelled or those
 * that are not. Returns the index of the oldest or the newest one; NONE if there is none. */
static size_t pairing_find_request_in_chain(const struct pairing *p, enum pairing_rule rule,
                                            bool cancelled)
{
    struct slice key = buf_slice(&p->key);
    const struct pairing_chain *c = pairing_get_chain_of_key(p, key, cancelled);
    size_t i = rule == PAIRING_OLDEST ? c->oldest : c->newest;
    while (i != NONE && (p->requests[i].cancelled != cancelled ||
                         !slice_eq(pairing_key_of_request(p, &p->requests[i]), key)))
        i = rule == PAIRING_OLDEST ? p->requests[i].newer : p->requests[i].older;
    return i;
}

/* Returns the unanswered request with the key p->key that the rule selects; NULL if there is
 * none. */
static struct pairing_request *pairing_find_by_key(struct pairing *p, enum pairing_rule rule)
{
    if (p->chains_n == 0)
        return NULL;
    size_t i = pairing_find_request_in_chain(p, rule, false);
    if (rule == PAIRING_NEWEST || i == NONE) {
        size_t cancelled = pairing_find_request_in_chain(p, rule, true);
        if (i == NONE || (cancelled != NONE && cancelled > i))
            i = cancelled;
    }
    return i != NONE ? &p->requests[i] : NULL;
}

/* Sets p->key: the direction of the request, then the key of the id. */
static int pairing_make_key(struct pairing *p, bool of_client, struct json_value id)
{
    buf_clear(&p->key);
    buf_addc(&p->key, of_client ? 'c' : 's');
    rpc_id_append_key(&p->key, id);
    return p->key.failed ? MI_ENOMEM : 0;
}

/* Whether a message has a valid id. In an edited file or vault, a request or answer may have none;
 * then it is not paired. */
static bool is_valid_id(struct json_value id)
{
    return id.type == JSON_NUMBER || id.type == JSON_STRING;
}

/* Finds the unanswered request with this id. strict: do not look for an id of the other JSON
 * type. */
static int pairing_find_by_id(struct pairing *p, enum pairing_rule rule, bool of_client,
                              struct json_value id, bool strict, struct pairing_request **ret)
{
    *ret = NULL;
    if (!is_valid_id(id))
        return 0;
    int st = pairing_make_key(p, of_client, id);
    if (st < 0)
        return st;
    *ret = pairing_find_by_key(p, rule);
    if (*ret != NULL || strict)
        return 0;
    struct rpc_id of = {.type = p->key.p[1], .text = {p->key.p + 2, p->key.n - 2}}, other;
    /* Look for the other JSON type: the ids 7 and "7" have the same text. */
    if (rpc_id_convert_type(&of, &other)) {
        p->key.p[1] = other.type;
        *ret = pairing_find_by_key(p, rule);
    }
    return 0;
}

int pairing_find_request(struct pairing *p, enum pairing_rule rule, bool from_client,
                         const struct rpc *m, int64_t *ret_request_seq)
{
    struct pairing_request *r = NULL;
    int st = 0;
    if (m->kind == RPC_RESULT || m->kind == RPC_ERROR)
        st = pairing_find_by_id(p, rule, !from_client, m->id, false, &r);
    else if (m->kind == RPC_NOTIFICATION && rpc_method_is(m, "notifications/cancelled"))
        st = pairing_find_by_id(p, rule, from_client, m->request_id, true, &r);
    if (st < 0)
        return st;
    if (r != NULL && m->kind == RPC_NOTIFICATION &&
        (r->cancelled || slice_is(pairing_get_text(p, r->method_at, r->method_n), "initialize")))
        /* the client must not cancel initialize: the proxy forwards its answer nevertheless */
        r = NULL;
    *ret_request_seq = r != NULL ? r->seq : 0;
    return 0;
}

static bool pairing_request_is_open(const struct pairing *p, const struct pairing_request *r)
{
    return r->key_n > 0 && p->text.p[r->key_at] == 'c' && !r->answered && !r->cancelled;
}

const struct pairing_request *pairing_find_only_open_request(struct pairing *p)
{
    if (p->open_n != 1)
        return NULL;
    while (!pairing_request_is_open(p, &p->requests[p->oldest]))
        p->oldest++;
    return &p->requests[p->oldest];
}

/* ---- updates ---- */

static int pairing_grow_chains(struct pairing *p)
{
    size_t n = p->chains_n == 0 ? 64 : p->chains_n * 2;
    struct pairing_chain *chains = malloc(n * sizeof *chains);
    if (chains == NULL)
        return MI_ENOMEM;
    free(p->chains);
    p->chains = chains;
    p->chains_n = n;
    for (size_t i = 0; i < n; i++)
        chains[i] = (struct pairing_chain){NONE, NONE};
    for (size_t i = 0; i < p->n; i++)
        if (p->requests[i].key_n > 0 && !p->requests[i].answered)
            pairing_link_request(p, i);
    return 0;
}

static size_t pairing_copy_text(struct pairing *p, struct slice s)
{
    if (s.p == NULL)
        return NONE;
    if (p->text.n == 0) /* makes p->text.p not NULL, even if s is empty */
        buf_addc(&p->text, '\0');
    size_t at = p->text.n;
    buf_slice_add(&p->text, s);
    return at;
}

static int pairing_add_request(struct pairing *p, bool from_client, const struct rpc *m,
                               struct pairing_request *r)
{
    if (!GROW(p->requests, p->n, p->cap))
        return MI_ENOMEM;
    if (p->n >= p->chains_n && pairing_grow_chains(p) < 0)
        return MI_ENOMEM;
    r->key_at = NONE;
    if (m->kind == RPC_REQUEST && is_valid_id(m->id)) {
        if (pairing_make_key(p, from_client, m->id) < 0)
            return MI_ENOMEM;
        r->key_at = pairing_copy_text(p, buf_slice(&p->key));
        r->key_n = p->key.n;
    }
    if (p->text.failed)
        return MI_ENOMEM;
    p->requests[p->n++] = *r;
    if (r->key_n > 0)
        pairing_link_request(p, p->n - 1);
    p->open_n += pairing_request_is_open(p, r);
    return 0;
}

int pairing_add_message(struct pairing *p, bool from_client, const struct rpc *m, int64_t seq,
                        int64_t t_us, struct slice method, struct slice target,
                        enum row_action action, int64_t request_seq)
{
    if (m->kind == RPC_REQUEST || m->kind == RPC_BATCH) {
        struct pairing_request r = {.seq = seq, .t_us = t_us, .action = action};
        r.method_at = pairing_copy_text(p, method);
        r.method_n = method.n;
        r.target_at = pairing_copy_text(p, target);
        r.target_n = target.n;
        return pairing_add_request(p, from_client, m, &r);
    }
    const struct pairing_request *found = request_seq > 0 ? pairing_find(p, request_seq) : NULL;
    if (found == NULL)
        return 0;
    size_t i = (size_t)(found - p->requests);
    struct pairing_request *r = &p->requests[i];
    bool was_open = pairing_request_is_open(p, r);
    bool linked = r->key_n > 0 && !r->answered;
    bool answers = m->kind == RPC_RESULT || m->kind == RPC_ERROR;
    if (linked && (answers || m->kind == RPC_NOTIFICATION))
        pairing_unlink_request(p, i);
    r->answered |= answers;
    r->cancelled |= m->kind == RPC_NOTIFICATION;
    if (linked && m->kind == RPC_NOTIFICATION)
        pairing_link_request(p, i);
    p->open_n -= was_open && !pairing_request_is_open(p, r);
    return 0;
}
