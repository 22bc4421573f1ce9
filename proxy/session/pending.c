#include "proxy/session/pending.h"

#include "base/text.h"
#include "wire/json/text.h"
#include "wire/mcp/method.h"

#include <stdlib.h>

void pending_open(struct pending_table *t)
{
    *t = (struct pending_table){0};
}

void pending_close(struct pending_table *t)
{
    while (t->open.oldest != NULL)
        pending_remove(t, t->open.oldest);
    while (t->cancelled.oldest != NULL)
        pending_remove(t, t->cancelled.oldest);
    free(t->bucket);
    for (int i = 0; i < PENDING_KEYS; i++)
        buf_close(&t->scratch[i]);
    *t = (struct pending_table){0};
}

static size_t count_pending_entries(const struct pending_table *t)
{
    return t->open.count + t->cancelled.count;
}

static void pending_list_add(struct pending_list *l, struct pending *p)
{
    p->prev = l->newest;
    p->next = NULL;
    if (l->newest != NULL)
        l->newest->next = p;
    else
        l->oldest = p;
    l->newest = p;
    l->count++;
}

static void pending_list_remove(struct pending_list *l, struct pending *p)
{
    if (p->prev != NULL)
        p->prev->next = p->next;
    else
        l->oldest = p->next;
    if (p->next != NULL)
        p->next->prev = p->prev;
    else
        l->newest = p->prev;
    l->count--;
}

static struct pending **get_token_bucket(struct pending **bucket, size_t buckets, uint64_t hash)
{
    return &bucket[buckets + (hash & (buckets - 1))];
}

/* Adds p at the end of its chain, so that older entries are found first. */
static void pending_append_to_chain(struct pending **first, enum pending_key key, struct pending *p)
{
    p->chain[key].next = NULL;
    p->chain[key].prev = p;
    if (*first == NULL) {
        *first = p;
        return;
    }
    struct pending *last = (*first)->chain[key].prev;
    last->chain[key].next = p;
    p->chain[key].prev = last;
    (*first)->chain[key].prev = p;
}

static void pending_chain_remove(struct pending **first, enum pending_key key, struct pending *p)
{
    struct pending *next = p->chain[key].next, *prev = p->chain[key].prev;
    if (*first == p)
        *first = next;
    else
        prev->chain[key].next = next;
    if (next != NULL)
        next->chain[key].prev = prev;
    else if (*first != NULL)
        (*first)->chain[key].prev = prev;
}

static void pending_add_to_all_chains(struct pending **bucket, size_t buckets, struct pending *p)
{
    pending_append_to_chain(&bucket[p->key.hash & (buckets - 1)], PENDING_ID, p);
    if (p->token.type != 0)
        pending_append_to_chain(get_token_bucket(bucket, buckets, p->token.hash), PENDING_TOKEN, p);
}

static int pending_grow_buckets(struct pending_table *t)
{
    size_t n = t->buckets == 0 ? 64 : t->buckets * 2;
    struct pending **bucket = calloc(n * 2, sizeof *bucket);
    if (bucket == NULL)
        return MI_ENOMEM;
    for (struct pending *p = t->cancelled.oldest; p != NULL; p = p->next)
        pending_add_to_all_chains(bucket, n, p);
    for (struct pending *p = t->open.oldest; p != NULL; p = p->next)
        pending_add_to_all_chains(bucket, n, p);
    free(t->bucket);
    t->bucket = bucket;
    t->buckets = n;
    return 0;
}

static struct slice copy_text_into_pending(struct pending *p, size_t *at, struct slice s)
{
    if (s.p == NULL)
        return s;
    memcpy(p->data + *at, s.p, s.n);
    struct slice copy = {p->data + *at, s.n};
    *at += s.n;
    return copy;
}

/* The parts of a request that are kept: the whole text, or only the parts for the log. */
struct parts {
    struct rpc_id key, token;
    struct slice text, id, method, target, arguments;
    size_t n; /* bytes needed to copy all these parts of the request */
};

static struct parts gather_request_texts(const struct rpc *m, const struct rpc_id *key,
                                         struct rpc_id token)
{
    struct parts s = {
        .key = *key,
        .token = token,
        .id = m->id.text,
        .method = text_prefix(m->method, PENDING_TEXT_MAX),
        .target = text_prefix(rpc_target(m), PENDING_TEXT_MAX),
    };
    if (m->arguments.type == JSON_OBJECT)
        s.arguments = text_prefix(m->arguments.text, PENDING_ARGUMENTS_MAX);
    s.n = key->text.n + token.text.n;
    if (m->text.n <= PENDING_WHOLE_MAX) {
        s.text = m->text;
        s.n += m->text.n;
    } else {
        s.n += s.id.n + s.method.n + s.target.n + s.arguments.n;
    }
    return s;
}

/* If the whole message is kept, returns the slice of its copy that corresponds to x; otherwise
 * copies x separately. */
static struct slice copy_or_borrow_text(struct pending *p, const struct parts *s, size_t *at,
                                        struct slice x)
{
    if (s->text.p == NULL || x.p == NULL)
        return copy_text_into_pending(p, at, x);
    return (struct slice){p->text.p + (x.p - s->text.p), x.n};
}

static void copy_texts_into_pending_request(struct pending *p, const struct parts *s)
{
    size_t at = 0;
    p->key = s->key;
    p->key.text = copy_text_into_pending(p, &at, s->key.text);
    p->token = s->token;
    p->token.text = copy_text_into_pending(p, &at, s->token.text);
    p->text = copy_text_into_pending(p, &at, s->text);
    p->id = copy_or_borrow_text(p, s, &at, s->id);
    p->method = copy_or_borrow_text(p, s, &at, s->method);
    p->target = copy_or_borrow_text(p, s, &at, s->target);
    p->arguments = copy_or_borrow_text(p, s, &at, s->arguments);
}

static bool is_valid_progress_token(struct json_value v)
{
    return (v.type == JSON_NUMBER || v.type == JSON_STRING) && v.text.n <= PENDING_TEXT_MAX;
}

static struct json_value get_progress_token_of_message(const struct rpc *m)
{
    struct json_value v = {0};
    if (m->meta.type == JSON_OBJECT)
        v = json_get(m->meta, "progressToken");
    return is_valid_progress_token(v) ? v : (struct json_value){0};
}

struct rpc_id pending_make_id(struct pending_table *t, const struct rpc *m)
{
    return rpc_id_from_json(m->id, &t->scratch[PENDING_ID]);
}

/* Reserves space for every spelling of the key: six bytes (an escape) for each byte. So finding the
 * request of an answer never fails for lack of memory. */
static bool reserve_lookup_key_space(struct buf *scratch, const struct rpc_id *key)
{
    return buf_reserve(scratch, key->text.n * 6 + 64);
}

int pending_add(struct pending_table *t, const struct rpc *m, const struct rpc_id *id,
                struct pending **ret)
{
    if (count_pending_entries(t) >= t->buckets && pending_grow_buckets(t) < 0)
        return MI_ENOMEM;
    if (m->id.text.n > RPC_ID_MAX)
        return MI_EINVAL;
    struct json_value value = get_progress_token_of_message(m);
    struct rpc_id token = rpc_id_from_json(value, &t->scratch[PENDING_TOKEN]);
    if (id->type == 0 || (token.type == 0 && value.type != JSON_NONE))
        return MI_ENOMEM;
    struct parts parts = gather_request_texts(m, id, token);
    size_t cost = sizeof(struct pending) + parts.n;
    while (cost > PENDING_BYTES_MAX - t->bytes && t->cancelled.oldest != NULL)
        pending_remove(t,
                       t->cancelled.oldest); /* a cancelled request must not displace an open one */
    if (t->open.count == PENDING_MAX || cost > PENDING_BYTES_MAX - t->bytes)
        return MI_EFULL;
    struct pending *p = malloc(cost);
    if (p == NULL)
        return MI_ENOMEM;
    *p = (struct pending){.cost = cost, .size = m->text.n};
    copy_texts_into_pending_request(p, &parts);
    if (!reserve_lookup_key_space(&t->scratch[PENDING_ID], &p->key) ||
        (token.type != 0 && !reserve_lookup_key_space(&t->scratch[PENDING_TOKEN], &p->token))) {
        free(p);
        return MI_ENOMEM;
    }
    p->flags = method_flags(p->method);
    p->arguments_n = m->arguments.type == JSON_OBJECT ? m->arguments.text.n : 0;
    p->modern = rpc_is_modern(m);
    p->asks_for_task = m->in_params[FIELD_TASK] != JSON_NONE;
    pending_add_to_all_chains(t->bucket, t->buckets, p);
    pending_list_add(&t->open, p);
    t->bytes += cost;
    *ret = p;
    return 0;
}

/* Returns the oldest open request of a chain with this key, else the oldest cancelled one. */
static struct pending *find_request_in_chain(struct pending *p, enum pending_key which,
                                             const struct rpc_id *key)
{
    struct pending *cancelled = NULL;
    for (; p != NULL; p = p->chain[which].next) {
        if (!rpc_id_eq(which == PENDING_ID ? &p->key : &p->token, key))
            continue;
        if (!p->cancelled)
            return p;
        if (cancelled == NULL)
            cancelled = p;
    }
    return cancelled;
}

static struct pending *find_pending_by_key(const struct pending_table *t, const struct rpc_id *key)
{
    return find_request_in_chain(t->bucket[key->hash & (t->buckets - 1)], PENDING_ID, key);
}

struct pending *pending_find(struct pending_table *t, struct json_value id, bool *ret_type_changed)
{
    *ret_type_changed = false;
    if (count_pending_entries(t) == 0)
        return NULL;
    struct rpc_id other, key = rpc_id_from_json(id, &t->scratch[PENDING_ID]);
    if (key.type == 0)
        /* the id is missing, or longer than all ids in the table (reserve_lookup_key_space()) */
        return NULL;
    struct pending *p = find_pending_by_key(t, &key);
    if (p != NULL || !rpc_id_convert_type(&key, &other))
        return p;
    p = find_pending_by_key(t, &other);
    *ret_type_changed = p != NULL;
    return p;
}

bool pending_has_open_request(const struct pending_table *t, const struct rpc_id *id)
{
    bool findable = t->open.count > 0 && id->type != 0;
    const struct pending *p = findable ? find_pending_by_key(t, id) : NULL;
    return p != NULL && !p->cancelled;
}

struct pending *pending_find_token(struct pending_table *t, struct json_value token)
{
    if (count_pending_entries(t) == 0 || !is_valid_progress_token(token))
        return NULL;
    struct rpc_id key = rpc_id_from_json(token, &t->scratch[PENDING_TOKEN]);
    if (key.type == 0)
        return NULL;
    return find_request_in_chain(*get_token_bucket(t->bucket, t->buckets, key.hash), PENDING_TOKEN,
                                 &key);
}

bool pending_request_shares_token(const struct pending_table *t, const struct pending *p)
{
    if (p->token.type == 0)
        return false;
    struct pending *other = *get_token_bucket(t->bucket, t->buckets, p->token.hash);
    while (other != NULL &&
           (other == p || other->cancelled || !rpc_id_eq(&other->token, &p->token)))
        other = other->chain[PENDING_TOKEN].next;
    return other != NULL;
}

void pending_mark_cancelled(struct pending_table *t, struct pending *p)
{
    if (p->cancelled)
        return;
    pending_list_remove(&t->open, p);
    p->cancelled = true;
    pending_list_add(&t->cancelled, p);
    if (t->cancelled.count > PENDING_CANCELLED_MAX)
        pending_remove(t, t->cancelled.oldest);
}

void pending_remove(struct pending_table *t, struct pending *p)
{
    pending_chain_remove(&t->bucket[p->key.hash & (t->buckets - 1)], PENDING_ID, p);
    if (p->token.type != 0)
        pending_chain_remove(get_token_bucket(t->bucket, t->buckets, p->token.hash), PENDING_TOKEN,
                             p);
    pending_list_remove(p->cancelled ? &t->cancelled : &t->open, p);
    t->bytes -= p->cost;
    free(p);
}
