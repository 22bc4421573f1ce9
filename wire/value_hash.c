#include "wire/value_hash.h"

#include "wire/canon.h"
#include "wire/json/text.h"

struct hasher {
    const struct hash_key *key;
    bool failed;
};

/* Type that is hashed for an integer; no value of enum json_type equals it. */
#define HASH_INTEGER 64

/* Hashes a number, or a string with escapes, by its canonical text. */
static uint64_t hash_canonical_text(struct hasher *h, struct json_value v)
{
    struct buf b = {0};
    canon_write_value(&b, v);
    h->failed |= b.failed;
    bool quoted = v.type == JSON_STRING && b.n >= 2;
    struct slice text = {b.p + quoted, b.n - 2 * (size_t)quoted};
    uint64_t hash = keyed_mix_bytes(h->key, v.type, b.n > 0 ? text : (struct slice){"", 0});
    buf_close(&b);
    return hash;
}

static uint64_t hash_string(struct hasher *h, struct slice raw)
{
    if (memchr(raw.p, '\\', raw.n) == NULL)
        return keyed_mix_bytes(h->key, JSON_STRING, raw);
    return hash_canonical_text(h, (struct json_value){JSON_STRING, {raw.p - 1, raw.n + 2}});
}

static uint64_t hash_scalar_value(struct hasher *h, struct json_value v)
{
    int64_t i;
    if (v.type == JSON_STRING)
        return hash_string(h, json_string_raw(v));
    if (v.type != JSON_NUMBER)
        return keyed_mix_bytes(h->key, v.type, v.text);
    return json_int(v, &i) ? keyed_hash_pair(h->key, HASH_INTEGER, (uint64_t)i)
                           : hash_canonical_text(h, v);
}

/* Hashes an object or array. *ret_end: one past its closing bracket. */
static uint64_t hash_container(struct hasher *h, const char *bracket, size_t depth, bool skip_meta,
                               const char **ret_end)
{
    struct json_walk w = json_walk_begin_at_bracket(bracket);
    struct slice key;
    const char *value;
    struct json_value v;
    uint64_t sum = 0;
    while (json_walk_peek(&w, &key, &value)) {
        uint64_t one = 0;
        bool inside = (*value == '{' || *value == '[') && depth < JSON_TREE_DEPTH;
        bool skipped = skip_meta && json_key_is(key, "_meta");
        if (inside && !skipped)
            one = hash_container(h, value, depth + 1, false, &w.p);
        else if (json_walk_next(&w, &key, &v) && !skipped)
            one = hash_scalar_value(h, v);
        if (skipped)
            continue;
        /* The hashes of members are added, so the order of members does not matter. Hashes of
         * elements are chained, so their order matters. */
        sum = w.object ? sum + keyed_hash_pair(h->key, hash_string(h, key), one)
                       : keyed_hash_pair(h->key, sum, one);
    }
    *ret_end = json_walk_get_container_end(&w);
    return keyed_hash_pair(h->key, sum, w.object ? JSON_OBJECT : JSON_ARRAY);
}

static uint64_t hash_value(const struct hash_key *key, struct json_value v, bool skip_meta)
{
    struct hasher h = {.key = key};
    const char *end;
    bool container = v.type == JSON_OBJECT || v.type == JSON_ARRAY;
    uint64_t hash = container
                        ? hash_container(&h, v.text.p, 1, skip_meta && v.type == JSON_OBJECT, &end)
                        : hash_scalar_value(&h, v);
    return h.failed ? 0 : hash + (hash == 0);
}

uint64_t value_hash(const struct hash_key *key, struct json_value v)
{
    return hash_value(key, v, false);
}

uint64_t value_hash_without_meta(const struct hash_key *key, struct json_value v)
{
    return hash_value(key, v, true);
}
