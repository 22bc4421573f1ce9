/* Any line: rpc_read() agrees with a simple evaluation of the same members, its parts point into the line,
 * and ids have keys. */
#include "wire/rpc.h"

#include "tests/fuzz/fuzz.h"
#include "tests/support/json_reference.h"
#include "wire/json/text.h"
#include "wire/rpc_id.h"

static const char *const envelope[] = {"jsonrpc", "id", "method", "params", "result", "error"};
enum { JSONRPC, ID, METHOD, PARAMS, RESULT, ERROR, KEYS };

static bool says(struct slice raw, const char *text)
{
    struct ref_text t = ref_unescape(raw);
    bool same = t.n == strlen(text) && memcmp(t.p, text, t.n) == 0;
    free(t.p);
    return same;
}

static bool is_id(enum json_type t)
{
    return t == JSON_NUMBER || t == JSON_STRING;
}

/* The kind of an object, from its members alone. */
static enum rpc_kind kind_of(const struct ref_json *r)
{
    struct json_value at[KEYS] = {{0}};
    enum json_type code = JSON_NONE, message = JSON_NONE;
    for (size_t i = 0; i < r->members_n; i++) {
        const struct json_member *m = &r->members[i];
        for (int k = 0; m->depth == 1 && k < KEYS; k++)
            if (says(m->key, envelope[k])) {
                if (at[k].type != JSON_NONE)
                    return RPC_INVALID;
                at[k] = m->value;
            }
        if (m->depth == 2 && says(m->outer, "error")) {
            if (says(m->key, "code"))
                code = m->value.type;
            if (says(m->key, "message"))
                message = m->value.type;
        }
    }
    struct json_value v = at[JSONRPC];
    if (v.type != JSON_STRING || !says((struct slice){v.text.p + 1, v.text.n - 2}, "2.0"))
        return RPC_INVALID;
    enum json_type id = at[ID].type, params = at[PARAMS].type;
    if (at[METHOD].type != JSON_NONE) {
        bool good =
            at[METHOD].type == JSON_STRING && (params == JSON_NONE || params == JSON_NULL ||
                                               params == JSON_ARRAY || params == JSON_OBJECT);
        if (good && is_id(id))
            return RPC_REQUEST;
        return good && (id == JSON_NONE || id == JSON_NULL) ? RPC_NOTIFICATION : RPC_INVALID;
    }
    bool result = at[RESULT].type != JSON_NONE;
    bool error = at[ERROR].type != JSON_NONE;
    if (result && error) { /* a null beside the other counts as absent */
        error = at[ERROR].type != JSON_NULL;
        result = at[RESULT].type != JSON_NULL || !error;
    }
    if (result == error || (id != JSON_NONE && id != JSON_NULL && !is_id(id)))
        return RPC_INVALID;
    if (error)
        return at[ERROR].type == JSON_OBJECT && code == JSON_NUMBER && message == JSON_STRING
                   ? RPC_ERROR
                   : RPC_INVALID;
    return id != JSON_NONE ? RPC_RESULT : RPC_INVALID;
}

static void read_id(struct json_value id)
{
    struct buf key = {0}, text = {0}, back = {0};
    rpc_id_append_key(&key, id);
    MUST(!key.failed && key.n > 0 && key.p[0] == (id.type == JSON_STRING ? 's' : 'n'));
    struct rpc_id one = rpc_id_from_json(id, &text), other, again;
    MUST(one.type == key.p[0] && slice_eq(one.text, (struct slice){key.p + 1, key.n - 1}));
    MUST(one.hash == rpc_id_hash(buf_slice(&key)) && one.hash == rpc_id_hash_json(id));
    if (rpc_id_convert_type(&one, &other)) {
        MUST(!rpc_id_eq(&one, &other));
        MUST(rpc_id_convert_type(&other, &again) && rpc_id_eq(&one, &again));
    }
    /* The key of a number, read as a number, has the same key. */
    if (id.type == JSON_NUMBER) {
        buf_clear(&back);
        rpc_id_append_key(&back, (struct json_value){JSON_NUMBER, {key.p + 1, key.n - 1}});
        MUST(slice_eq(buf_slice(&back), buf_slice(&key)));
    }
    buf_close(&key);
    buf_close(&text);
    buf_close(&back);
}

static void parts_lie_inside(struct slice line, const struct rpc *m)
{
    const struct json_value *const parts[] = {
        &m->id,      &m->params,   &m->result,     &m->error,         &m->name,
        &m->uri,     &m->ref,      &m->arguments,  &m->meta,          &m->request_id,
        &m->content, &m->is_error, &m->error_code, &m->error_message,
    };
    for (size_t i = 0; i < MI_COUNT(parts); i++) {
        MUST(inside(line, parts[i]->text));
        MUST((parts[i]->type == JSON_NONE) == (parts[i]->text.p == NULL));
    }
    MUST(inside(line, m->text) && inside(line, m->method));
    MUST(inside(line, rpc_target(m)));
    (void)rpc_is_modern(m);
    (void)rpc_method_is(m, "notifications/cancelled");
    MUST(m->kind <= RPC_BATCH);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice line = {(const char *)data, size};
    struct ref_json r;
    struct rpc m;
    ref_open(&r, line.p, line.n);
    int st = rpc_read(line, &m);
    MUST(st == (r.fault == JSON_OK ? 0 : MI_EPROTO));
    MUST(m.kind != RPC_INVALID || m.findings != 0);
    MUST(m.findings < FINDING(FIND_COUNT));
    parts_lie_inside(line, &m);
    if (st == 0) {
        enum json_type root = ref_type(r.root.p[0]);
        enum rpc_kind want = root == JSON_OBJECT  ? kind_of(&r)
                             : root == JSON_ARRAY ? RPC_BATCH
                                                  : RPC_INVALID;
        if (m.kind != want)
            fprintf(stderr, "kind %d, not %d\n", (int)m.kind, (int)want);
        MUST(m.kind == want);
        if (is_id(m.id.type))
            read_id(m.id);
        if (m.kind == RPC_BATCH) { /* its members are values of their own */
            struct json_walk w = json_walk_begin((struct json_value){JSON_ARRAY, m.text});
            struct slice key;
            struct json_value v;
            struct rpc member;
            while (json_walk_next(&w, &key, &v)) {
                MUST(rpc_read(v.text, &member) == 0);
                parts_lie_inside(v.text, &member);
            }
        }
    } else {
        MUST(m.fault.kind == r.fault && m.fault.at == r.at);
    }
    ref_close(&r);
    rpc_read_truncated_line(line, &m);
    parts_lie_inside(line, &m);
    return 0;
}
